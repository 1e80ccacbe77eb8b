// What runs, read from /proc: processes are known by their pid and the time of their birth, never by a name.

import { readFileSync, readdirSync, readlinkSync } from 'node:fs';

/** All of a file below /proc, or '' when the process is gone or not ours. */
function read(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}

/** Birth (clock ticks since boot), parent and state of a process; undefined when it is gone. */
function stat(pid) {
  const line = read(pid, 'stat');
  // The name stands in brackets and may hold brackets itself, so what follows is counted from the last one.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  return line === '' ? undefined : { state: fields[0], parent: Number(fields[1]), born: fields[19] };
}

function program(pid) {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return '';
  }
}

/** Every process that runs now; one that has ended and that only its parent has not heard of yet does not run. */
export function running() {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ pid: Number(name), ...stat(name) }))
    .filter((found) => found.born !== undefined && found.state !== 'Z' && found.state !== 'X');
}

/** Watches what descends from one process, also what has lost its parents since. */
export class Watch {
  #seen = new Map();
  #root;
  #marker;
  #timer;

  /**
   * @param {number} root the pid whose descendants are watched
   * @param {string} marker `NAME=VALUE`, an entry of the environment that all of them inherit
   */
  constructor(root, marker) {
    this.#root = root;
    this.#marker = marker;
    this.#timer = setInterval(() => this.look(), 50);
  }

  stop() {
    clearInterval(this.#timer);
  }

  /** Looks around once, and gives all that have been seen and still run. */
  look() {
    const now = running();
    const alive = new Map(now.map((found) => [`${found.pid} ${found.born}`, found]));
    const ours = new Set([this.#root]);
    for (const key of this.#seen.keys()) if (alive.has(key)) ours.add(alive.get(key).pid);
    for (let grown = true; grown; ) {
      grown = false;
      for (const { pid, parent } of now) {
        if (ours.has(parent) && !ours.has(pid)) {
          ours.add(pid);
          grown = true;
        }
      }
    }
    for (const found of now) {
      const key = `${found.pid} ${found.born}`;
      if (this.#seen.has(key) || found.pid === process.pid) continue;
      if (ours.has(found.pid) || read(found.pid, 'environ').split('\0').includes(this.#marker)) {
        this.#seen.set(key, { pid: found.pid, key });
      }
    }
    for (const [key, found] of this.#seen) {
      if (!alive.has(key)) this.#seen.delete(key);
      else Object.assign(found, { parent: alive.get(key).parent, program: program(found.pid) });
    }
    return [...this.#seen.values()];
  }

  /** Those that run a program, and everything below them. */
  below(path) {
    const all = this.look();
    const chosen = new Set(all.filter((found) => found.program === path).map((found) => found.pid));
    for (let grown = true; grown; ) {
      grown = false;
      for (const { pid, parent } of all) {
        if (chosen.has(parent) && !chosen.has(pid)) {
          chosen.add(pid);
          grown = true;
        }
      }
    }
    return all.filter((found) => chosen.has(found.pid)).map(describe);
  }
}

function describe({ pid, key, parent, program }) {
  return { pid, key, parent, program, commandLine: read(pid, 'cmdline').split('\0').join(' ').trim() };
}

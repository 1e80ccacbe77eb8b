// MessagePack, as far as Neovim's API uses it.

/** Packs null, booleans, integers, strings, arrays and plain objects. */
export function pack(value) {
  const parts = [];
  const head = (size, fixed, fixedMost, codes) => {
    if (fixed !== undefined && size <= fixedMost) parts.push(Buffer.from([fixed | size]));
    else if (codes[0] !== undefined && size < 0x100) parts.push(Buffer.from([codes[0], size]));
    else if (size < 0x10000) parts.push(Buffer.from([codes[1], size >> 8, size & 0xff]));
    else {
      const wide = Buffer.alloc(5, codes[2]);
      wide.writeUInt32BE(size, 1);
      parts.push(wide);
    }
  };
  const add = (value) => {
    if (value === null || value === undefined) parts.push(Buffer.from([0xc0]));
    else if (typeof value === 'boolean') parts.push(Buffer.from([value ? 0xc3 : 0xc2]));
    else if (Number.isInteger(value)) {
      const wide = Buffer.alloc(9, 0xd3);
      wide.writeBigInt64BE(BigInt(value), 1);
      parts.push(wide);
    } else if (typeof value === 'string') {
      const bytes = Buffer.from(value);
      head(bytes.length, 0xa0, 31, [0xd9, 0xda, 0xdb]);
      parts.push(bytes);
    } else if (Array.isArray(value)) {
      head(value.length, 0x90, 15, [undefined, 0xdc, 0xdd]);
      value.forEach(add);
    } else {
      const entries = Object.entries(value);
      head(entries.length, 0x80, 15, [undefined, 0xde, 0xdf]);
      entries.flat().forEach(add);
    }
  };
  add(value);
  return Buffer.concat(parts);
}

/** Thrown where a value goes on beyond what has arrived. */
class Short extends Error {}

/** Takes the values off the front of what has arrived: `{ values, rest }`. Handles of Neovim come as their numbers. */
export function unpack(bytes) {
  let at = 0;
  const take = (size) => {
    if (at + size > bytes.length) throw new Short();
    at += size;
    return at - size;
  };
  const uint = (size) => {
    const from = take(size);
    return size === 8 ? Number(bytes.readBigUInt64BE(from)) : bytes.readUIntBE(from, size);
  };
  const int = (size) => {
    const from = take(size);
    return size === 8 ? Number(bytes.readBigInt64BE(from)) : bytes.readIntBE(from, size);
  };
  const text = (size) => bytes.toString('utf8', take(size), at);
  const list = (size) => Array.from({ length: size }, value);
  const map = (size) => Object.fromEntries(Array.from({ length: size }, () => [value(), value()]));
  const ext = (size) => {
    take(1);
    const from = take(size);
    return unpack(bytes.subarray(from, from + size)).values[0];
  };
  function value() {
    const code = uint(1);
    if (code < 0x80) return code;
    if (code < 0x90) return map(code & 15);
    if (code < 0xa0) return list(code & 15);
    if (code < 0xc0) return text(code & 31);
    if (code >= 0xe0) return code - 0x100;
    switch (code) {
      case 0xc0: return null;
      case 0xc2: return false;
      case 0xc3: return true;
      case 0xc4: case 0xd9: return text(uint(1));
      case 0xc5: case 0xda: return text(uint(2));
      case 0xc6: case 0xdb: return text(uint(4));
      case 0xc7: return ext(uint(1));
      case 0xc8: return ext(uint(2));
      case 0xc9: return ext(uint(4));
      case 0xca: return bytes.readFloatBE(take(4));
      case 0xcb: return bytes.readDoubleBE(take(8));
      case 0xcc: case 0xcd: case 0xce: case 0xcf: return uint(1 << (code - 0xcc));
      case 0xd0: case 0xd1: case 0xd2: case 0xd3: return int(1 << (code - 0xd0));
      case 0xd4: case 0xd5: case 0xd6: case 0xd7: case 0xd8: return ext(1 << (code - 0xd4));
      case 0xdc: return list(uint(2));
      case 0xdd: return list(uint(4));
      case 0xde: return map(uint(2));
      case 0xdf: return map(uint(4));
      default: throw new Error(`no MessagePack: byte ${code}`);
    }
  }
  const values = [];
  for (;;) {
    const begin = at;
    if (begin === bytes.length) return { values, rest: Buffer.alloc(0) };
    try {
      values.push(value());
    } catch (error) {
      if (error instanceof Short) return { values, rest: bytes.subarray(begin) };
      throw error;
    }
  }
}

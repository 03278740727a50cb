#!/usr/bin/python3 -I
"""Visual Studio Code's command line for its open build, served on loopback, in a window of its own.

Started as ``code``, with the words of the published one. The server starts with the first window
and stays; Chromium shows its page without bars, under a name and a profile of its own, so that
neither a task that ends the browser nor one that drives it by DevTools touches it.
"""

from __future__ import annotations

import argparse
import fcntl
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import IO
from urllib.parse import quote, urlencode

HERE = Path("/usr/share/code")
NODE = HERE / "code-server"
SERVER = HERE / "node_modules/code-server"
WINDOW = HERE / "window.sh"
TITLE = "Visual Studio Code"
_HOST = "127.0.0.1"
_PORTS = range(41000, 42000)
"""Ports of servers, one for each folder of data, so that a page's memory outlives its server."""
_PATIENCE = 120.0
"""Seconds until a server answers; an emulated machine takes tens of them."""
_LINE = re.compile(r":\d+(?::\d+)?$")
_EXTENSION_WORDS = ("list-extensions", "install-extension", "uninstall-extension")
_QUIET = ("--disable-telemetry", "--disable-update-check", "--disable-getting-started-override")


class Refused(Exception):
    """Something that was asked for and cannot be done; the message is for the person."""


def parsed(words: list[str]) -> argparse.Namespace:
    """Reads a command line; a word that is not known is passed over, as the real one does.

    Words behind a bar are those of a pipe that no shell made: task files have such.
    """
    if "|" in words:
        words = words[: words.index("|")]
    parser = argparse.ArgumentParser(prog="code", add_help=False, allow_abbrev=False)
    for short, name in (
        *(("-h", "help"), ("-v", "version"), ("-n", "new-window"), ("-r", "reuse-window")),
        *(("-g", "goto"), ("-d", "diff"), ("-a", "add"), ("-w", "wait"), ("-s", "status")),
    ):
        parser.add_argument(short, f"--{name}", action="store_true")
    for name in ("disable-workspace-trust", "list-extensions", "show-versions", "force"):
        parser.add_argument(f"--{name}", action="store_true")
    for name in ("user-data-dir", "extensions-dir", "category"):
        parser.add_argument(f"--{name}")
    for name in ("install-extension", "uninstall-extension", "folder-uri", "file-uri"):
        parser.add_argument(f"--{name}", action="append", default=[])
    for name in ("locale", "profile", "log", "sync", "remote", "enable-proposed-api"):
        parser.add_argument(f"--{name}")  # taken with its value, so that this is no file
    parser.add_argument("paths", nargs="*")
    given, unknown = parser.parse_known_intermixed_args(words)
    for word in unknown:
        sys.stderr.write(f"Warning: {word!r} is not in the list of known options\n")
    given.data = Path(given.user_data_dir or "~/.config/Code").expanduser().absolute()
    given.extensions = Path(given.extensions_dir or "~/.vscode/extensions").expanduser().absolute()
    for uri in (*given.folder_uri, *given.file_uri):
        given.paths.append(uri.removeprefix("file://"))
    return given


def port_of(data: Path) -> int:
    """The port of the server of a folder of data."""
    return _PORTS[zlib.crc32(os.fsencode(data)) % len(_PORTS)]


def server_line(given: argparse.Namespace) -> list[str]:
    """The program that serves and that keeps extensions, with the places it works in."""
    places = ["--user-data-dir", str(given.data), "--extensions-dir", str(given.extensions)]
    return [str(NODE), str(SERVER), "--config", "/dev/null", *places]


def manage_extensions(given: argparse.Namespace) -> int:
    """List, install or remove extensions; returns the exit status."""
    line = server_line(given)
    line += ["--list-extensions"] if given.list_extensions else []
    line += ["--show-versions"] if given.show_versions else []
    line += ["--category", given.category] if given.category else []
    for name in ("install-extension", "uninstall-extension"):
        for each in getattr(given, name.replace("-", "_")):
            line += [f"--{name}", each]
    line += ["--force"] if given.force else []
    ran = subprocess.run(line, check=False, stdout=subprocess.PIPE, text=True)
    told = [text for text in ran.stdout.splitlines() if not re.match(r"\[\d{4}-\d\d-\d\dT", text)]
    sys.stdout.write("".join(f"{text}\n" for text in told))
    return ran.returncode


def answers(port: int) -> bool:
    """Whether a server of ours answers on a port."""
    connection = http.client.HTTPConnection(_HOST, port, timeout=10.0)
    try:
        connection.request("GET", "/healthz")
        return b"status" in connection.getresponse().read(1000)
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def serve(given: argparse.Namespace) -> int:
    """See that a server runs, one for all that ask at once; returns its port.

    Raises:
        Refused: it does not come up; the message ends with what it said.
    """
    (given.data / "User").mkdir(parents=True, exist_ok=True)
    (given.data / "logs").mkdir(exist_ok=True)
    with (given.data / "logs" / "server.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _serve(given)


def _serve(given: argparse.Namespace) -> int:
    port = port_of(given.data)
    if answers(port):
        return port
    line = [*server_line(given), "--bind-addr", f"{_HOST}:{port}", "--auth", "none", *_QUIET]
    line += ["--app-name", TITLE]
    line += ["--disable-workspace-trust"] if given.disable_workspace_trust else []
    log = given.data / "logs" / "server.log"
    with log.open("wb") as said:
        process = _start(line, said)
    begun = time.monotonic()
    while not answers(port):
        if process.poll() is not None or time.monotonic() - begun > _PATIENCE:
            raise Refused(f"the server did not start: {log.read_text(errors='replace')[-500:]}")
        time.sleep(0.1)
    return port


def _start(line: list[str], said: IO[bytes] | int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """Start a program that outlives this one, and the terminal it was started from."""
    outside = {name: text for name, text in os.environ.items() if not name.startswith("VSCODE_")}
    return subprocess.Popen(
        line,
        stdin=subprocess.DEVNULL,
        stdout=said,
        stderr=said,
        start_new_session=True,
        env=outside,
        cwd="/",
    )


def windows() -> list[str]:
    """Sockets by which windows take orders, that of the latest first.

    One that ended may have left its socket. What code-server itself knows of windows is not asked:
    it fails as soon as two are open and one shows no folder.
    """
    if hook := os.environ.get("VSCODE_IPC_HOOK_CLI"):
        return [hook]
    folder = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    found = sorted(folder.glob("vscode-ipc-*.sock"), key=_made, reverse=True)
    return [str(place) for place in found if _listens(place)]


def _made(place: Path) -> float:
    try:
        return place.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _listens(place: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10.0)
        try:
            connection.connect(str(place))
        except OSError:
            return False
    return True


def comes_up(given: argparse.Namespace) -> bool:
    """Whether the program of windows runs, or was just started; it takes orders seconds later."""
    told = [given.data / "Window" / "SingletonLock", given.data / "logs" / "window"]
    for link in told:  # the first is the program's own, the second is of `show`
        try:
            process = os.readlink(link).rpartition("-")[2]
        except OSError:
            continue
        if Path("/proc", process).exists():
            return True
    return False


def order(hook: str, given: argparse.Namespace, paths: list[str]) -> int:
    """Order a window to open files and folders; returns the exit status."""
    told = Path(SERVER, "lib/vscode/package.json").read_text(encoding="utf-8")
    name = [TITLE, json.loads(told)["version"], "", "code"]
    line = [str(NODE), str(SERVER / "lib/vscode/out/server-cli.js"), *name]
    for word in ("reuse-window", "goto", "diff", "add", "wait"):
        line += [f"--{word}"] if getattr(given, word.replace("-", "_")) else []
    hooked = {**os.environ, "VSCODE_IPC_HOOK_CLI": hook}
    return subprocess.run([*line, *paths], check=False, env=hooked).returncode


def address(port: int, place: Path | None, file: str, *, goto: bool, empty: bool) -> str:
    """The page of a new window.

    Args:
        port: the server's.
        place: the folder, or file of a workspace, that it shows.
        file: the file that it opens, with a line behind it where ``goto``.
        goto: whether a line is behind it.
        empty: whether the folder that was open last stays closed.
    """
    query: dict[str, str] = {}
    if place is not None:
        query["folder" if place.is_dir() else "workspace"] = str(place)
    elif empty or file:
        query["ew"] = "true"
    if file:
        payload = [["openFile", f"vscode-remote://{_HOST}:{port}{quote(file, safe='/:')}"]]
        query["payload"] = json.dumps([*payload, *([["gotoLineMode", "true"]] if goto else [])])
    return f"http://{_HOST}:{port}/{'?' if query else ''}{urlencode(query)}"


def show(given: argparse.Namespace, page: str) -> None:
    """Open a window."""
    flags = ["--class=Code", "--disable-sync", "--disable-component-update"]
    flags += ["--disable-background-networking"]
    line = [str(WINDOW), f"--app={page}", f"--user-data-dir={given.data / 'Window'}", *flags]
    process = _start(line)
    fresh = given.data / "logs" / f"window-{process.pid}"
    fresh.symlink_to(str(process.pid))
    fresh.replace(given.data / "logs" / "window")


def shown(given: argparse.Namespace) -> int:
    """Open paths in a window that is there, or in a new one; returns the exit status."""
    full = [str(Path.cwd() / path) for path in given.paths]
    places = [Path(path) for path in full if _is_place(Path(path))]
    files = [path for path in full if Path(path) not in places]
    before = windows()
    there = before if not given.new_window else []
    if there and (files or (places and (given.reuse_window or given.add))):
        return order(there[0], given, full)
    if files and not places and not given.new_window and comes_up(given):
        return shown_later(given, files, [])
    port = serve(given)
    empty = given.new_window or bool(before)
    later = given.diff or len(files) > 1
    shows: list[Path | None] = [*places] or [None]
    for place in shows:
        file = files[0] if files and not later and place == shows[-1] else ""
        show(given, address(port, place, file, goto=given.goto, empty=empty or later))
    return shown_later(given, files, before) if later else 0


def _is_place(path: Path) -> bool:
    return path.is_dir() or path.suffix == ".code-workspace"


def shown_later(given: argparse.Namespace, files: list[str], others: list[str]) -> int:
    """Open files in the window that comes up, once it takes orders, and let the caller go on."""
    if not given.wait:
        if os.fork():
            return 0
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
    begun = time.monotonic()
    while time.monotonic() - begun < _PATIENCE:
        if fresh := [hook for hook in windows() if hook not in others]:
            return order(fresh[0], given, files)
        time.sleep(0.3)
    return 1


def version() -> str:
    """The three lines that tell which one it is."""
    said = json.loads((SERVER / "lib/vscode/package.json").read_text(encoding="utf-8"))
    commit = json.loads((SERVER / "package.json").read_text(encoding="utf-8")).get("commit", "")
    return f"{said['version']}\n{commit}\nx64"


def main(words: list[str]) -> int:
    """The command line."""
    given = parsed(words)
    if given.version:
        sys.stdout.write(f"{version()}\n")
        return 0
    if given.help:
        sys.stdout.write(f"{TITLE} {version().split()[0]}\n\nUsage: code [options] [paths...]\n")
        return 0
    if any(getattr(given, word.replace("-", "_")) for word in _EXTENSION_WORDS):
        return manage_extensions(given)
    try:
        return shown(given)
    except (Refused, OSError) as error:
        sys.stderr.write(f"code: {error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Controls the VLC that runs on this machine, through its HTTP interface and its settings file.

Each function takes and returns plain JSON data; see `files_common.serve`.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import secrets
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .files_common import Refused, path_of, serve, wait_until

_SCHEMES = ("file", "http", "https", "rtsp", "rtp", "udp", "mms", "ftp", "dvd", "cdda")
_ANSWER = 10.0
"""Seconds for one request; VLC answers within milliseconds unless it waits for a file."""
_HAPPENS = 8.0
"""Seconds until a command shows in VLC's state; a medium on a slow disk takes most of them."""
_ENDS = _STARTS = 30.0
"""Seconds until VLC is gone, and until a new one answers, on an emulated machine."""
_STAYS = 0.5
"""Seconds until the position is checked again: a medium that just began may jump to its start."""
_OWN = ("random", "loop", "repeat", "volume")
"""Settings that VLC keeps itself: when it ends, it may rewrite its file from what it read at its
start, with these, and without what was written to the file in between."""
_MOST = 8 << 20
"""Most bytes of an answer; a playlist of some ten thousand entries."""


class Player(NamedTuple):
    """A VLC that runs."""

    number: int
    words: list[str]

    def option(self, name: str) -> str:
        """Returns an option's value from the command line or the file; empty if neither has it."""
        for at, word in enumerate(self.words):
            if word.startswith(f"--{name}="):
                return word.partition("=")[2]
            if word == f"--{name}" and at + 1 < len(self.words):
                return self.words[at + 1]
        return read_settings().get(name, "")


def rc_file() -> Path:
    """Returns the file of VLC's settings."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home, "vlc", "vlcrc")


def read_settings() -> dict[str, str]:
    """Returns the settings that the file sets; the defaults stand there as comments."""
    try:
        lines = rc_file().read_text("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return {}
    pairs = (line.partition("=") for line in lines if line[:1] not in ("", "#", "["))
    return {name.strip(): value for name, mark, value in pairs if mark}


def find_player() -> Player:
    """Returns the VLC that runs, the latest if there are several.

    Raises:
        Refused: VLC does not run.
    """
    players = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")[:-1]
        except OSError:
            continue
        if words and Path(words[0]).name in ("vlc", "cvlc"):
            players.append(Player(int(folder.name), words))
    if not players:
        raise Refused("VLC does not run")
    return max(players)


def ask(player: Player, page: str = "status", **query: str) -> Any:
    """Sends VLC a request, and returns its answer.

    Args:
        player: the VLC to ask.
        page: the part of the interface: "status" or "playlist".
        query: the command and its values.

    Raises:
        Refused: it has no HTTP interface, or another program has its port.
    """
    port = player.option("http-port") or "8080"
    words = urllib.parse.urlencode(query, quote_via=urllib.parse.quote)
    request = urllib.request.Request(f"http://127.0.0.1:{port}/requests/{page}.json?{words}")
    secret = base64.b64encode(f":{player.option('http-password')}".encode()).decode()
    request.add_header("Authorization", f"Basic {secret}")
    try:
        with urllib.request.urlopen(request, timeout=_ANSWER) as answer:
            return json.loads(answer.read(_MOST))
    except (OSError, ValueError) as error:
        raise Refused(
            f"VLC (process {player.number}) does not answer on its HTTP interface ({error});"
            " vlc_restart starts it again with one"
        ) from error


def order(command: str, **query: str) -> Any:
    """Sends VLC a command, and returns its state."""
    return ask(find_player(), command=command, **query)


def wait_for_state(
    holds: Callable[[dict[str, Any]], bool], seconds: float = _HAPPENS
) -> dict[str, Any]:
    """Returns VLC's state once it meets a condition, or as it is after some seconds."""
    deadline = time.monotonic() + seconds
    while True:
        state: dict[str, Any] = ask(find_player())
        if holds(state) or time.monotonic() > deadline:
            return state
        time.sleep(0.1)


def status() -> Any:
    """Returns VLC's state."""
    state = ask(find_player())
    return {**state, "entry": next((e for e in playlist() if e["current"]), None)}


def playlist() -> Any:
    """Returns the entries of the playlist, in order."""
    return list(_leaves(ask(find_player(), "playlist"), ""))


def _leaves(node: dict[str, Any], under: str) -> Iterator[dict[str, Any]]:
    if node.get("type") == "leaf":
        yield {
            "id": str(node["id"]),
            "name": str(node["name"]),
            "uri": str(node.get("uri", "")),
            "seconds": int(node.get("duration", -1)),
            "current": "current" in node,
        }
    for child in node.get("children", ()):
        if not (under == "" and child.get("name") == "Media Library"):
            yield from _leaves(child, str(node.get("name")))


def medium(text: str) -> str:
    """Returns the address of a file or stream.

    Raises:
        Refused: there is no such file, or VLC must not open this kind of address.
    """
    if "://" in text:
        scheme = text.partition("://")[0].lower()
        if scheme not in _SCHEMES:
            raise Refused(f"{text!r}: expected a file, or an address with {', '.join(_SCHEMES)}")
        return text
    path = path_of(text)
    if not path.exists():
        raise Refused(f"there is no file {str(path)!r}")
    return path.as_uri()


def play(what: str) -> Any:
    """Plays a file or stream, and returns the state once it plays."""
    uri = medium(what)
    before = {entry["id"] for entry in playlist()}
    order("in_play", input=uri)
    state = wait_for_state(
        lambda s: s["state"] == "playing" and str(s["currentplid"]) not in before
    )
    if state["state"] != "playing" or str(state["currentplid"]) in before:
        raise Refused(f"VLC does not play {what!r}: it is {state['state']}; look at the screen")
    wait_for_state(lambda s: s["length"] > 0, 1.0)  # a stream has none
    return status()


def pause(on: bool) -> Any:
    """Pauses or resumes."""
    if ask(find_player())["state"] == "stopped":
        raise Refused("nothing plays")
    order("pl_forcepause" if on else "pl_forceresume")
    expected = "paused" if on else "playing"
    if wait_for_state(lambda s: s["state"] == expected)["state"] != expected:
        raise Refused(f"VLC is not {expected}")
    return status()


def stop() -> Any:
    """Stops playing."""
    order("pl_stop")
    if (state := wait_for_state(lambda s: s["state"] == "stopped"))["state"] != "stopped":
        raise Refused(f"VLC is still {state['state']}")
    return status()


def select(entry: str) -> Any:
    """Plays an entry of the playlist."""
    target = _find_entry(entry)
    order("pl_play", id=target["id"])
    state = wait_for_state(
        lambda s: str(s["currentplid"]) == target["id"] and s["state"] == "playing"
    )
    if state["state"] != "playing" or str(state["currentplid"]) != target["id"]:
        raise Refused(f"VLC does not play {target['name']!r}: it is {state['state']}")
    return status()


def _find_entry(text: str) -> dict[str, Any]:
    """Returns the entry that a text means, by number or by a part of its name or address."""
    entries: list[dict[str, Any]] = playlist()
    sought = text.strip().lower()
    if sought.isdigit() and 0 < int(sought) <= len(entries):
        return entries[int(sought) - 1]
    matches = [e for e in entries if sought and sought in f"{e['name']}\n{e['uri']}".lower()]
    if len(matches) != 1:
        names = ", ".join(repr(e["name"]) for e in (matches or entries)[:10]) or "nothing"
        raise Refused(f"{len(matches)} entries fit {text!r}; there are: {names}")
    return matches[0]


def add(items: list[str]) -> Any:
    """Adds files or streams to the end of the playlist, and returns its entries."""
    uris = [medium(item) for item in items]
    count = len(playlist())
    for uri in uris:
        order("in_enqueue", input=uri)
    deadline = time.monotonic() + _HAPPENS
    while len(entries := playlist()) < count + len(uris):
        if time.monotonic() > deadline:
            raise Refused(f"the playlist has {len(entries)} entries, not {count + len(uris)}")
        time.sleep(0.1)
    return entries


def clear() -> Any:
    """Empties the playlist."""
    order("pl_empty")
    deadline = time.monotonic() + _HAPPENS
    while left := playlist():
        if time.monotonic() > deadline:
            raise Refused(f"{len(left)} entries are still on the playlist")
        time.sleep(0.1)
    return status()


def seek(to: str) -> Any:
    """Goes to a time, to a share of the length, or forward or back by seconds."""
    text = to.strip()
    before = ask(find_player())
    if before["state"] == "stopped":
        raise Refused("nothing plays")
    if re.fullmatch(r"\d+(\.\d+)?%", text):
        value, position = text, round(before["length"] * float(text[:-1]) / 100)
    elif re.fullmatch(r"[+-]\d+", text):
        position = before["time"] + int(text)
        value = str(max(0, position))
    elif re.fullmatch(r"(\d+:)?(\d+:)?\d+", text):
        position = 0
        for part in text.split(":"):
            position = position * 60 + int(part)
        value = str(position)
    else:
        raise Refused(f"{to!r}: expected seconds, such as 90, or 1:30, 50%, +10 or -10")
    position = max(0, position)
    if before["length"] > 0 and position > before["length"]:
        raise Refused(f"{to!r} is beyond the end, {before['length']} s")
    for _ in range(3):
        order("seek", val=value)
        wait_for_state(lambda s: abs(s["time"] - position) <= 3, 3.0)
        time.sleep(_STAYS)
        state = ask(find_player())
        if abs(state["time"] - position) <= 3 + _STAYS * state["rate"]:
            return status()
        value = f"{position:g}"
    raise Refused(f"VLC is at {state['time']} s: the medium may not be seekable")


def volume(percent: int) -> Any:
    """Sets the volume."""
    level = round(percent * 2.56)
    order("volume", val=str(level))
    if (
        abs((state := wait_for_state(lambda s: abs(s["volume"] - level) <= 2))["volume"] - level)
        > 2
    ):
        raise Refused(
            f"the volume is {round(state['volume'] / 2.56)} %: VLC sets it while sound plays"
        )
    return status()


def switch(name: str, on: bool) -> Any:
    """Switches full screen or random order."""
    command = {"fullscreen": "fullscreen", "random": "pl_random"}[name]
    if bool(ask(find_player())[name]) != on:
        order(command)
    if bool(wait_for_state(lambda s: bool(s[name]) == on)[name]) != on:
        raise Refused(f"{name} stays {'off' if on else 'on'}")
    return status()


def repeat(what: str) -> Any:
    """Repeats one entry, all, or nothing."""
    modes = {"repeat": what == "one", "loop": what == "all"}
    for _ in range(4):  # each mode switches the other off
        state = ask(find_player())
        wrong = [name for name, on in modes.items() if bool(state[name]) != on]
        if not wrong:
            return status()
        order(f"pl_{wrong[0]}")
        wait_for_state(lambda s, name=wrong[0]: bool(s[name]) == modes[name], 2.0)  # type: ignore[misc]
    raise Refused(f"VLC does not repeat {what}")


def number(command: str, name: str, value: float) -> Any:
    """Sets the speed or a delay.

    Args:
        command: "rate", or another command of the interface that takes a number.
        name: the entry of VLC's state that shows it.
        value: what it is set to.
    """
    order(command, val=f"{value:g}")
    state = wait_for_state(lambda s: abs(s[name] - value) < 0.01)
    if abs(state[name] - value) >= 0.01:
        raise Refused(f"{name} is {state[name]:g}, not {value:g}")
    return status()


def list_options() -> dict[str, tuple[str, str]]:
    """Returns the options that VLC knows: by name, the kind of value and a line of help."""
    result = subprocess.run(
        ["vlc", "-H", "--no-color"],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=60,
        check=False,
    )
    options: dict[str, tuple[str, str]] = {}
    lines = result.stdout.splitlines()
    for at, line in enumerate(lines):
        match = re.match(r" +(?:-\w, )?--([a-z0-9-]+)(, --no-\S+| <[^>]*>| \{.*\})? *(.*)", line)
        if match:
            kind = (match[2] or "").strip(" ,<>")
            text = match[3] or (lines[at + 1].strip() if at + 1 < len(lines) else "")
            options[match[1]] = ("boolean" if kind.startswith("--no-") else kind or "string", text)
    return options


def settings(words: str) -> Any:
    """Returns the options whose name or help has all the words, with the values in the file."""
    sought, stored = words.lower().split(), read_settings()
    return [
        {"name": name, "kind": kind, "help": text, "value": stored.get(name)}
        for name, (kind, text) in list_options().items()
        if all(word in f"{name} {text}".lower() for word in sought)
    ]


def setting(name: str, value: str) -> Any:
    """Writes an option to the settings file, and returns its value before and after."""
    options = list_options()
    if name not in options:
        raise Refused(f"VLC has no option {name!r}; vlc_settings finds them")
    line = f"{name}={_check_value(name, options[name][0], value)}"
    before = read_settings().get(name)
    _write(name, line.partition("=")[2])
    now = read_settings().get(name)
    if f"{name}={now}" != line:
        raise Refused(f"{rc_file()} says {name}={now}")
    return {"before": before, "now": now, "path": str(rc_file())}


def _write(name: str, value: str) -> None:
    """Writes an option to the settings file, in place of an earlier value."""
    file, line = rc_file(), f"{name}={value}"
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    places = [at for at, old in enumerate(lines) if old.startswith(f"{name}=")]
    places = places or [at for at, old in enumerate(lines) if old.startswith(f"#{name}=")]
    if places:
        lines[places[-1]] = line
    else:
        lines.append(line)  # VLC ignores section headers
    fresh = file.with_name(f".vlcrc-{secrets.token_hex(4)}")
    fresh.write_text("\n".join([*lines, ""]), "utf-8")
    fresh.replace(file)


def _check_value(name: str, kind: str, value: str) -> str:
    if "\n" in value or "\0" in value:
        raise Refused(f"{name}: the value must be one line")
    if kind == "boolean":
        sides = {"1": "1", "true": "1", "on": "1", "yes": "1"}
        sides.update({"0": "0", "false": "0", "off": "0", "no": "0"})
        if value.lower() not in sides:
            raise Refused(f"{name} must be true or false, not {value!r}")
        return sides[value.lower()]
    pattern = {"integer": r"-?\d+", "float": r"-?\d+(\.\d+)?"}.get(kind.split(" ")[0], "")
    if pattern and not re.fullmatch(pattern, value):
        raise Refused(f"{name} must be {kind}, not {value!r}")
    return value


def restart() -> Any:
    """Restarts VLC with its HTTP interface, and with what it played."""
    old = find_player()
    entries, at, place = _read_playlist(old)
    program = os.readlink(f"/proc/{old.number}/exe")
    settings = read_settings()
    os.kill(old.number, signal.SIGTERM)
    wait_until(lambda: not Path("/proc", str(old.number)).exists(), _ENDS, "VLC does not end")
    for name, value in settings.items():
        if name not in _OWN and read_settings().get(name) != value:
            _write(name, value)
    line = [program, *_list_flags(old.words[1:]), *_build_http_options(old)]
    line += ["--no-playlist-autostart", "--", *entries]
    subprocess.Popen(
        line,
        cwd=Path.home(),
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(_answers, _STARTS, "the new VLC does not answer")
    if entries:
        wait_until(
            lambda: len(playlist()) >= len(entries), _HAPPENS, "its playlist is not there again"
        )
    if at is not None:
        select(str(at + 1))
        with contextlib.suppress(Refused):
            seek(str(place))
    return status()


def _read_playlist(old: Player) -> tuple[list[str], int | None, int]:
    """Returns the playlist's addresses, the index of the one that plays, and its position in s.

    Without an HTTP interface these are none, None and 0.
    """
    try:
        state, entries = ask(old), list(_leaves(ask(old, "playlist"), ""))
    except Refused:
        return [], None, 0
    playing = [at for at, entry in enumerate(entries) if entry["current"]]
    at = playing[0] if playing and state["state"] != "stopped" else None
    return [entry["uri"] for entry in entries], at, int(state["time"])


def _list_flags(words: list[str]) -> list[str]:
    """Returns a command line's options without those of the HTTP interface and without media."""
    options, flags, at = list_options(), [], 0
    while at < len(words) and words[at] != "--":
        word, width = words[at], 1
        name = word[2:].partition("=")[0]
        takes = options.get(name, ("boolean", ""))[0] != "boolean" and "=" not in word
        if word in ("-I", "-V", "-A") or (word.startswith("--") and takes):
            width = 2
        if word.startswith("-") and not name.startswith("http-") and name != "extraintf":
            flags += words[at : at + width]
        at += width
    return [word for word in flags if word != "--no-playlist-autostart"]


def _build_http_options(old: Player) -> list[str]:
    """Returns the options that give the new VLC its HTTP interface, on loopback only."""
    secret = old.option("http-password") or secrets.token_hex(16)
    port = old.option("http-port") or "8080"
    return [
        *("--extraintf=http", "--http-host=127.0.0.1"),
        *(f"--http-port={port}", f"--http-password={secret}"),
    ]


def _answers() -> bool:
    try:
        return bool(ask(find_player()))
    except Refused:
        return False


FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(status, playlist, play, pause, stop, select, add, clear, seek, volume),
        *(switch, repeat, number, settings, setting, restart),
    )
}

if __name__ == "__main__":
    serve(FUNCTIONS)

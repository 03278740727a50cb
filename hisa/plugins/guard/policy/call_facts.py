"""Works out what a call would do, before it is executed, from the call, its tool and the look."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hisa.plugins.guard.policy.command_facts import parts_of_line
from hisa.plugins.guard.policy.effect_words import read_effects
from hisa.plugins.guard.policy.named_facts import CallFacts, Part
from hisa.plugins.guard.policy.named_paths import NamedPath, is_sensitive, resolve_path
from hisa.plugins.guard.policy.named_sites import NamedUrl, read_url, urls_in
from hisa.plugins.guard.policy.screen_part import apps_of, screen_parts
from hisa.plugins.guard.policy.screen_things import NOTHING, PressJudgement
from hisa.protocols import GroundedCall
from hisa.screen.observation import Observation
from hisa.text.prompt_text import one_line
from hisa.tools.base import SERVED, BaseTool

__all__ = ["facts_of", "is_exempt"]

_EXEMPT = frozenset(("wait", "termination", "infeasible", "tool_help"))
_PATH_KEY = re.compile(
    r"(.*_)?(path|file|filename|folder|dir|directory|source|src|target|dest|destination|output"
    r"|input|archive|document|image)s?(_.*)?",
    re.IGNORECASE,
)
_URL_KEY = re.compile(r"(.*_)?(url|uri|address|link|href|site|page|host)s?", re.IGNORECASE)
_COMMAND_KEY = re.compile(r"(.*_)?(command|cmd|commands|command_line|shell|bash)", re.IGNORECASE)
_PATH = re.compile(r"(/|~|\.\.?/|file:)", re.IGNORECASE)
_UNSTATED = "a server's tool, and tools.mcp states neither that it only reads nor its effects"
_PROGRAM_KEY = re.compile(r"app|application|program|executable|binary|interpreter", re.IGNORECASE)
_LONGEST = 500
"""Most characters of a value that may be a path; longer values are texts."""


def is_exempt(tool: BaseTool) -> bool:
    """Whether a tool of HiSA's own only waits, explains or ends the run."""
    return tool.name in _EXEMPT and tool.trusted


def facts_of(
    call: GroundedCall,
    tool: BaseTool,
    observation: Observation,
    *,
    home: str = "",
    judges_effects: bool = False,
    aimed: PressJudgement = NOTHING,
) -> CallFacts:
    """Returns the facts of a call.

    Args:
        call: with its places.
        tool: the tool that it calls.
        observation: the look that it was decided on, with elements if they were read.
        home: the home folder, absolute; empty if not known.
        judges_effects: whether effects matter to the rules, and so unknown effects too.
        aimed: what the tool would press, as far as the tool can tell.
    """
    apps = apps_of(call, observation)
    name, value = call.call.tool, call.input
    if tool.always and name == "gui_action":
        return CallFacts(
            name,
            screen_parts(call, observation, apps, home=home, judges_effects=judges_effects),
            apps,
        )
    if tool.always and name == "bash_execution":
        line = value if isinstance(value, str) else str(value.get("command", ""))
        return CallFacts(name, parts_of_line(line, home=home) or (Part(text=line),), apps)
    return CallFacts(
        name,
        tuple(_parts(call, tool, home, aimed)),
        apps,
        acts=not tool.traits.reads,
        outside=_is_served(tool),
    )


def _is_served(tool: BaseTool) -> bool:
    """Whether a tool is a server's: it acts where the server runs, not on the run's machine."""
    return tool.source.startswith(SERVED)


def _parts(call: GroundedCall, tool: BaseTool, home: str, aimed: PressJudgement) -> Iterator[Part]:
    """The call itself, then each command in its arguments."""
    writes = not tool.traits.reads
    named = list(_list_texts(call.input, key=_only_key(tool)))
    effects = aimed.effects.union(tool.traits.effects)
    if writes and not tool.trusted:
        effects |= read_effects(re.sub(r"[^A-Za-z]+", " ", tool.name))
    paths = [path for key, text in named for path in _paths(key, text, home, writes)]
    if any(path.writes and is_sensitive(path) for path in paths):
        effects |= {"security"}
    about = f"(“{aimed.about}”)" if aimed.about else ""
    unstated = _is_served(tool) and writes and not effects
    yield Part(
        text=" ".join(filter(None, (tool.name, _describe_input(call.input), about))),
        unread=_UNSTATED if unstated else aimed.unknown,
        effects=effects,
        urls=tuple(dict.fromkeys(url for key, text in named for url in _urls(key, text))),
        paths=tuple(dict.fromkeys(paths)),
    )
    if not writes:
        return
    for key, text in named:
        if _COMMAND_KEY.fullmatch(key):
            yield from parts_of_line(text, home=home)
    for line in _started_programs(named):
        yield from parts_of_line(line, home=home)


def _started_programs(named: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yields the command lines of programs that a tool starts on files: an "app" may be any."""
    files = [text for key, text in named if _PATH_KEY.fullmatch(key)]
    programs = [text for key, text in named if _PROGRAM_KEY.fullmatch(key) and text.strip()]
    for program in programs:
        yield f"{program} {shlex.join(files)}"


def _describe_input(value: str | Mapping[str, Any]) -> str:
    if isinstance(value, str):
        return one_line(value)
    return one_line(", ".join(f"{key}={argument!r}" for key, argument in value.items()))


def _only_key(tool: BaseTool) -> str:
    """The name of the argument that a plain text is taken for; empty if the tool takes none."""
    return next(iter(tool.parameters.get("properties", {})), "") if tool.takes_text else ""


def _list_texts(value: object, *, key: str) -> Iterator[tuple[str, str]]:
    """Yields every text of an input with the name of its argument."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _list_texts(inner, key=str(name))
    elif isinstance(value, Sequence):
        if _COMMAND_KEY.fullmatch(key) and all(isinstance(item, str) for item in value):
            yield key, shlex.join(value)
            return
        for inner in value:
            yield from _list_texts(inner, key=key)


def _paths(key: str, text: str, home: str, writes: bool) -> Iterator[NamedPath]:
    text = text.strip()
    if not text or len(text) > _LONGEST or "\n" in text or _COMMAND_KEY.fullmatch(key):
        return
    if _PATH.match(text) or (_PATH_KEY.fullmatch(key) and "://" not in text):
        path = resolve_path(text, home=home, writes=writes, deep=True)
        if path is not None:
            yield path


def _urls(key: str, text: str) -> Iterator[NamedUrl]:
    text = text.strip()
    if len(text) > _LONGEST and not _URL_KEY.fullmatch(key):
        return
    urls = urls_in(text)
    if urls and (text.split() == [text] or _COMMAND_KEY.fullmatch(key)):
        yield from urls
    elif _URL_KEY.fullmatch(key) and text and not text.startswith(("/", "~")):
        yield from filter(None, [read_url(text)])

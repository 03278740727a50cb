"""Settings of prompts, and of what may run: tools, servers of tools, policy, secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from hisa.actions.effects import Effect

__all__ = [
    "McpServerSettings",
    "PolicySettings",
    "PromptSettings",
    "RuleSettings",
    "SecretSettings",
    "Section",
    "ToolSettings",
    "Verdict",
]


class Section(BaseModel):
    """A section of the settings: frozen, unknown keys refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False
    )


class PromptSettings(Section):
    """The prompts that models get."""

    folder: Path | None = None
    """A folder of your own prompt files, each of which replaces the shipped file of that name;
    ``hisa doctor`` prints where the shipped ones are, and lists yours."""


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,30}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*( as [A-Za-z0-9_-]+)?")


class McpServerSettings(Section):
    """One server of tools that speaks the Model Context Protocol: a command, or an address."""

    command: tuple[str, ...] = ()
    """Started with each run, over its standard input and output; no shell is involved."""
    url: str = Field(default="", pattern=r"^(https?://\S+)?$")
    """Address of a server that is already running, over streamable HTTP."""
    env: tuple[str, ...] = ()
    """Environment variables passed to the command: "NAME", or "NAME as OTHER" if the command
    expects another name. It gets no others except PATH, HOME and the like."""
    header_env: tuple[str, ...] = ()
    """HTTP headers, each from an environment variable: "MY_VARIABLE as Authorization"."""
    tools: tuple[str, ...] = ("*",)
    """Patterns of the tools to use, by the server's names."""
    seconds: float = Field(60.0, gt=0)
    """Time limit of one call."""
    start_seconds: float = Field(30.0, gt=0)
    """Time limit of the start, until the server has listed its tools."""
    reads: tuple[str, ...] = ()
    """Patterns of its tools that only read. The server's own claims are not trusted."""
    effects: Mapping[Effect, tuple[str, ...]] = Field(default_factory=dict)
    """Patterns of its tools by what they may do: send = ["send_*", "reply"]. A tool that the server
    itself calls destructive also has "delete"."""

    @field_validator("command")
    @classmethod
    def _startable(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        if words and not words[0].strip():
            raise ValueError("the first word is the program to start")
        if any("\0" in word for word in words):
            raise ValueError("no word of a command can hold a NUL character")
        return words

    @field_validator("env", "header_env")
    @classmethod
    def _variables(cls, variables: tuple[str, ...]) -> tuple[str, ...]:
        for variable in variables:
            if not _VARIABLE.fullmatch(variable):
                raise ValueError(
                    f"{variable!r}: must be NAME or NAME as OTHER, with names of variables"
                )
        return variables

    @model_validator(mode="after")
    def _require_command_or_url(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError("a server of tools has either a command or a url")
        if self.env and self.url:
            raise ValueError("env is for a command; a server at a url has header_env")
        if self.header_env and self.command:
            raise ValueError("header_env is for a url; a command has env")
        return self


class ToolSettings(Section):
    """The tools besides the built-ins."""

    allow: tuple[str, ...] = ("*",)
    """Patterns of the tools that a run may use, such as "calc_*"; the built-ins are always there.
    Empty: only the built-ins."""
    mcp: Mapping[str, McpServerSettings] = Field(default_factory=dict)
    """Servers of tools by name; the names of a server's tools begin with its name."""

    @field_validator("mcp")
    @classmethod
    def _check_names(
        cls, servers: Mapping[str, McpServerSettings]
    ) -> Mapping[str, McpServerSettings]:
        wrong = [name for name in servers if not _NAME.fullmatch(name)]
        if wrong:
            raise ValueError(f"{wrong[0]!r}: a server's name is letters, digits and hyphens")
        return servers


Verdict = Literal["allow", "ask", "deny"]
_SITE = re.compile(r"[^\s/@:]+(:\d{1,5})?")


class RuleSettings(Section):
    """One rule: a verdict and the conditions for it. All given conditions must hold."""

    then: Verdict
    """allow, ask a person, or deny. The first rule in the file that applies decides."""
    tool: str = ""
    """Pattern of the tool's name: "bash_execution", "mail_*"."""
    command: str = ""
    """Pattern of a command, "*" for anything: "git push*". Each command of a line is decided
    separately, as the bare name of its program, without quotes; a command typed into a terminal
    counts too. A file that a line writes with > is a command of its own: "> ~/notes.txt"."""
    app: str = ""
    """Pattern of the application in front, or of the one clicked, by its window class."""
    url: str = ""
    """Pattern of an address that the call names, or that the browser in front shows, with or
    without its scheme: "example.org/admin*"."""
    path: str = ""
    """Pattern of a file or folder that the call names; ~ is the home folder. Without a wildcard it
    also matches everything below it."""
    effect: Effect | None = None
    """What the call would do, as far as can be determined: delete, pay, send, install, security, or
    leave (the allowed sites or folders)."""
    why: str = ""
    """Reason given to the agent when the call is refused."""

    @field_validator("path")
    @classmethod
    def _check_path(cls, value: str) -> str:
        if value and value[0] not in "/~*":
            raise ValueError("a path begins with /, ~ or *")
        return value


class PolicySettings(Section):
    """What may run: the policy checks everything that the planner wants done."""

    defaults: Literal["auto", "always", "never"] = "auto"
    """When the default rules apply: they ask before deleting, paying, sending, installing and
    changing security settings, and before a command that cannot be parsed. auto: on a machine that
    is not thrown away; always; never. ``rules`` come before them."""
    rules: tuple[RuleSettings, ...] = ()
    """The first one that applies decides."""
    sites: tuple[str, ...] = ()
    """Sites that an agent may open, such as "example.org" or "*.example.org"; empty: no limit.
    Leaving them is always asked about, whatever ``defaults`` is."""
    folders: tuple[str, ...] = ()
    """Folders in which files may be changed, such as "~/Documents"; empty: no limit. Leaving them
    is always asked about too."""
    unknown: Verdict = "allow"
    """The verdict if no rule applies."""
    dry_run: bool = False
    """Do nothing: print what would be done, and end."""

    @field_validator("sites")
    @classmethod
    def _hosts(cls, sites: tuple[str, ...]) -> tuple[str, ...]:
        wrong = [site for site in sites if not _SITE.fullmatch(site)]
        if wrong:
            raise ValueError(f'{wrong[0]!r}: a site is a host such as "*.example.org", not a URL')
        return sites

    @field_validator("folders")
    @classmethod
    def _places(cls, folders: tuple[str, ...]) -> tuple[str, ...]:
        wrong = [f for f in folders if f[:1] not in ("/", "~") or any(c in f for c in "*?[")]
        if wrong:
            raise ValueError(f"{wrong[0]!r}: a folder begins with / or ~, and has no wildcards")
        return folders


class SecretSettings(Section):
    """A secret that a task may name as ``{{secret:NAME}}``; its value is never a setting."""

    env: str = Field(min_length=1)
    """Environment variable that holds the value."""
    apps: tuple[str, ...] = ()
    """Patterns of the applications that it may be typed into, by window class; empty: any."""
    sites: tuple[str, ...] = ()
    """Patterns of the hosts of pages that it may be typed into, such as "*.example.org"; empty:
    any. If some are given, it is typed only into a browser that shows one of them."""
    commands: tuple[str, ...] = ()
    """Patterns of the command lines that may use it, such as "curl *"; empty: none. Each command
    of a line that names it must match one."""

"""One settings tree. Later wins: defaults < preset < hisa.toml < HISA_* variables < --set a.b=c.

`load` is the only place that reads files and environment variables; command line, API and wiring
call it, and every part is handed its section. Unknown keys are refused. The settings are in this
file, those of tools, policy and secrets in `tool_settings.py`.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from copy import deepcopy
from functools import partial, reduce
from operator import getitem
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from hisa.config.presets import preset_file, preset_sources
from hisa.config.sources import merge, nest_value, scalar, source_of
from hisa.config.tool_settings import (
    PolicySettings,
    PromptSettings,
    SecretSettings,
    Section,
    ToolSettings,
)
from hisa.errors import ConfigError
from hisa.machine.agent_folders import written_by_agents
from hisa.machine.plugins import default_name
from hisa.screen.geometry import Size
from hisa.text.validation import explain

__all__ = [
    "OFFERED_TOKENS",
    "RAW_TOKENS",
    "Effort",
    "EnvironmentSettings",
    "Family",
    "GrounderKind",
    "GrounderSettings",
    "LimitSettings",
    "ModelSettings",
    "ModelsSettings",
    "PatternSettings",
    "PlannerSettings",
    "PolicySettings",
    "PromptSettings",
    "RemoteSettings",
    "RunSettings",
    "SecretSettings",
    "Settings",
    "StateSettings",
    "TaskSettings",
    "ToolSettings",
    "load",
    "preset_sources",
    "read_stored",
]


class RunSettings(Section):
    """Limits of a run; each is checked before the cost arises."""

    max_steps: int = Field(50, ge=1)
    """HiSA, section 4.3."""
    budget_usd: float | None = Field(None, gt=0)
    """Ends the run before a call that would pass it."""
    budget_tokens: int | None = Field(None, gt=0)
    budget_seconds: float | None = Field(None, gt=0)
    """Wall clock of the whole run."""
    folder: Path = Path("runs")
    """Where run folders are made."""
    image_width: int = Field(1280, ge=64)
    """Largest width of the picture that models see (HiSA, section 4.3)."""
    image_height: int = Field(720, ge=64)

    @property
    def image_limit(self) -> Size:
        """The largest picture that models see."""
        return Size(self.image_width, self.image_height)

    fetch_small: int = Field(0, ge=0)
    """Bytes of a made file that comes home unasked, eight files at most; --attempts takes 65536."""
    seed: int = Field(0, ge=0)
    """Of what tasks draw; repeat R of a bench has this + R - 1."""
    confirm: Literal["auto", "always", "never"] = "auto"
    """Ask a person before each act and command; auto: on a display that is not thrown away; never:
    nobody is asked at the terminal, and what the policy would ask about is refused."""


Effort = Literal["", "none", "minimal", "low", "medium", "high", "xhigh"]
"""How hard a reasoning model thinks, in the order of the words; empty: its own default."""


class ModelSettings(Section):
    """One role's model."""

    model: str = Field(default_factory=partial(default_name, "models"))
    """A name in the entry-point group ``hisa.models``, by default that which is announced as the
    default; any other name goes to ``base_url``."""
    profile: str = ""
    """Name of a profile; empty: chosen by the model's name."""
    base_url: str = ""
    """Empty: OPENAI_BASE_URL, else the public OpenAI address."""
    api_key_env: str = "OPENAI_API_KEY"
    """Name of the variable that holds the key; the key itself is never a setting."""
    timeout: float = Field(120.0, gt=0)
    """Seconds of silence after which a try is given up."""
    total_seconds: float = Field(1800.0, gt=0)
    """Seconds for one try of one call, however steadily its answer comes."""
    max_retries: int = Field(5, ge=0)
    max_tokens: int = Field(4096, ge=1)
    """HiSA, section 4.3."""
    temperature: float | None = Field(None, ge=0, le=2)
    """None: what each job asks for, mostly 0. Sent where the profile says that the model takes
    it, as are ``top_p`` and ``seed``."""
    top_p: float | None = Field(None, gt=0, le=1)
    seed: int | None = None
    effort: Effort = ""
    """How hard a reasoning model thinks. What a model takes stands in its profile; what it does
    not take is refused."""
    constrain: bool | None = None
    """Whether the server holds the planner's answers to a schema of the tools of the step; None: as
    the profile says; False: no ``response_format`` is sent at all. Off where answers are to be
    sampled freely, as training wants them."""
    tokens: bool = False
    """Ask the server for token ids and log-probs and keep them with the run, as training wants."""
    context: int | None = Field(None, ge=512)
    """Tokens in and out together, for a model that a package runs here; None: the package's own
    choice, as for ``threads``."""
    threads: int | None = Field(None, ge=1)


class ModelsSettings(Section):
    """The four roles. ``state``, ``grounder`` and ``judge`` follow ``planner`` where unset."""

    planner: ModelSettings = Field(default_factory=ModelSettings)
    state: ModelSettings | None = None
    grounder: ModelSettings | None = None
    judge: ModelSettings | None = None

    @model_validator(mode="after")
    def _require_model(self) -> Self:
        """Refuse a section without a model: it would be the default one, unasked."""
        for role in ("state", "grounder", "judge"):
            own: ModelSettings | None = getattr(self, role)
            if own is not None and "model" not in own.model_fields_set:
                names = sorted(own.model_fields_set) or ["nothing"]
                raise ValueError(
                    f"models.{role} sets {', '.join(names)} and no model: set models.{role}.model "
                    "too, or the same of models.planner, which is followed where the section is "
                    "left out"
                )
        return self


GrounderKind = Literal["auto", "cascade", "choice", "elements", "vision", "planner"]


Teaching = Literal["rule", "words", "examples"]
"""How much the prompt says about sequences: what they are, when the next action is still decided
by this look (OS-Catalyst, section 3.4), and examples besides."""


class PlannerSettings(Section):
    """How the planner is asked, and what it is shown."""

    kind: str = Field("auto", min_length=1)
    """chat: it answers in JSON, over chat completions; short: so too, and a small model is shown
    what bears on this screen and task, and little else; computer: it has the computer tool of the
    Responses API; any other name: the planner of an installed package; auto: computer or short
    where the profile says so, else chat."""
    sees: Literal["picture", "elements", "both"] = "picture"
    """picture: the screenshot; elements: a numbered list of what is on the screen in its place, of
    at most 800 tokens; both. A place may then be given as a number of the list. A model that takes
    no pictures gets the list in any case, and the short prompt has one of at most 30 entries."""
    leads: str = ""
    """What acts before the planner is asked: a planner of an installed package and what that takes,
    such as program:programs; empty: nothing."""
    sequence: int = Field(1, ge=1, le=5)
    """Actions that one look may decide, at most (OS-Catalyst, section 3.2: 5); 1: one action a
    look. Later ones are done only while the screen is as it was when they were planned."""
    guards: bool = True
    """Check the screen before each later action of a sequence. False, for comparisons: they are
    done blindly."""
    teaching: Teaching = "examples"
    """What the prompt says about sequences: rule: that they are allowed; words: also when the next
    action is still decided by this look; examples: also examples."""

    samples: int = Field(1, ge=1, le=32)
    """Most replies that are sampled for a step, of which a judge picks (GTA1, section 3.1); 1: one
    is asked for and taken."""
    scaling: Literal["frugal", "constant"] = "frugal"
    """frugal: two samples; where they disagree, and after a step in trouble even where they agree,
    the judge is asked, and more are sampled where it finds neither good; constant: always all of
    them, and always the judge (GTA1)."""
    sample_temperature: float = Field(0.7, gt=0, le=2)
    """Of the samples, where the planner's model takes one and ``models.planner.temperature`` is not
    set; at 0 they would be alike. Chosen by hand, between a model's usual 1 and none."""


class GrounderSettings(Section):
    """How descriptions become places."""

    kind: GrounderKind = "auto"
    """elements: accessibility and OCR; vision: ``models.grounder``; cascade: the elements where
    they are sure, else the model, whose points the elements check; choice: the elements, and the
    planner's model picks from a list in words where they are not sure; planner: the planner's own
    coordinates, in the convention of its profile; auto: the cascade where ``models.grounder`` is
    set or the planner's model was trained to point, as its profile says, choice where it was not,
    and elements where the planner follows rules."""
    format: str = "auto"
    """Prompt and answer format of the vision-language grounder; auto: as its profile says how it
    writes points, else gta1."""
    min_score: float = Field(0.86, ge=0, le=1)
    """How sure the elements grounder must be of a place; below it says "not found". Chosen for two
    wrong clicks in a hundred on the training screens of benchmarks/grounding, each application left
    out once: more refuses more, less clicks wrong more often."""


OFFERED_TOKENS = 200
"""Most tokens of the list of tools for a step."""
RAW_TOKENS = 4000
"""Hard limit of a raw line: what a tool printed may be a whole file."""


class StateSettings(Section):
    """Levels 1 and 2."""

    refine_every: int = Field(5, ge=1)
    """N (HiSA, section 4.3 and table 6)."""
    step_tokens: int = Field(180, ge=60)
    """Hard limit of one abstracted step's line."""
    refined_tokens: int = Field(800, ge=100)
    """Hard limit of the refined context."""
    advice_tokens: int = Field(400, ge=50)
    """Hard limit of the rules in the advice."""
    lesson_tokens: int = Field(200, ge=50)
    """Hard limit of the lessons beside them."""
    steps: Literal["abstracted", "raw"] = "abstracted"
    """raw: a step's line is its log as it is, and no model is asked (HiSA, table 5)."""
    roi: bool | Literal["exact"] = True
    """Show the model that abstracts a step the changed part only; else both whole pictures. exact:
    one box around every pixel that differs at all, pointer and caret too (HiSA, 3.3.1)."""
    refine: Literal["summary", "window"] = "summary"
    """window: instead of a summary, only the last ``window`` steps are kept (HiSA, table 5)."""
    window: int = Field(5, ge=1)


class PatternSettings(Section):
    """Level 3."""

    enabled: bool = True
    engine: Literal["edge", "server"] = "edge"
    """edge: embedded in this process; server: a Qdrant server at ``url``."""
    path: Path = Path("~/.local/share/hisa/patterns")
    url: str = "http://127.0.0.1:6333"
    collection: str = "hisa_patterns"
    embedder: str = "minilm"
    """minilm, bge-m3, or openai:MODEL for an endpoint."""
    dedup: float | None = Field(None, ge=0, le=1)
    """A new pattern this close to an old one of its domain and kind supersedes it; none: the
    embedder's own (HiSA, section 4.3: 0.7)."""
    top: int = Field(5, ge=1)
    threshold: float | None = Field(None, ge=-1, le=1)
    """Least similarity of what is recalled; none: the embedder's own (section 4.3: 0.5)."""
    learning_seconds: float = Field(60.0, gt=0)
    """Longest wait for the lessons of a run; chosen by hand, so that learning is not most of it."""
    sops: Path | None = None
    """A folder of SOP files, besides those that ship."""


class RemoteSettings(Section):
    """What can be done to the machine behind a guest at an address.

    A command is split into words as a shell does and run without one; ``{url}``, ``{host}``,
    ``{port}``, ``{name}`` and ``{env:VARIABLE}`` in it are replaced.
    """

    revert: str = ""
    """Brings the machine to its initial state, running or not; empty: it is left as it is."""
    start: str = ""
    """Starts the machine; comes after ``revert``."""
    stop: str = ""
    """Stops the machine at the end."""
    command_seconds: float = Field(300.0, gt=0)
    """Time limit of each of these commands."""
    ready_seconds: float = Field(300.0, gt=0)
    """Longest wait for the guest to answer and its desktop to be drawn."""
    patience: float = Field(1.0, gt=0)
    """Multiplies the time limit of every request; more for a slow line or a slow machine."""


class LimitSettings(Section):
    """How much a private desktop may take, so that nothing inside can exhaust the host."""

    processes: int = Field(1024, ge=64)
    """Processes and threads together; Chromium with twenty pages has about 500."""
    memory_mb: int = Field(4096, ge=256)
    """What its processes hold together, without the files; over it the desktop is ended."""
    disk_mb: int = Field(2048, ge=64)
    """Files that are written inside; they are kept in the host's memory."""
    open_files: int = Field(4096, ge=256)
    """Of one process."""
    file_mb: int = Field(128, ge=1)
    """Largest file that is read from any environment."""


Family = Literal["desktop", "display", "guest", "vm", "package"]
_VALUED: dict[Family, str] = {
    "desktop": "desktop:",
    "display": "display=",
    "guest": "guest=",
    "vm": "vm:",
}
"""Families of environments that take a value, and what stands before it."""


class EnvironmentSettings(Section):
    """Where the agent acts."""

    kind: str = "desktop"
    """desktop, desktop:PROFILE, display=:N, guest=http://HOST:PORT (several with commas), vm:NAME,
    or what a package or plugin announces."""
    remote: RemoteSettings = RemoteSettings()
    width: int | None = Field(None, ge=320)
    """Pixels of the screen; none: as its profile says, else 1280."""
    height: int | None = Field(None, ge=240)
    """Likewise; else 720."""
    settle: float = Field(3.0, ge=0)
    """Longest wait, in seconds, for the screen to stop changing after an act; longer on a busy
    machine."""
    idle: float = Field(900.0, gt=0)
    """A desktop whose HiSA is gone ends itself after so many seconds."""
    limits: LimitSettings = LimitSettings()
    share: tuple[str, ...] = ()
    """Folders of this machine that a private desktop has in ~/shared: DIR (read-only), DIR:rw."""

    @property
    def family(self) -> Family:
        """The kind without its value; "package" for any other name that is announced."""
        return self._read[0]

    @property
    def value(self) -> str:
        """Text behind the family: a display, addresses, a profile; ``NAME=VALUE`` of a package."""
        return self._read[1]

    @property
    def _read(self) -> tuple[Family, str]:
        if self.kind == "desktop":
            return "desktop", ""
        for family, mark in _VALUED.items():
            if self.kind.startswith(mark) and self.kind != mark:
                return family, self.kind.removeprefix(mark)
        return "package", self.kind

    @property
    def throw_away(self) -> bool:
        """Whether each run begins with a fresh machine, so that nobody need be asked.

        A package's environment is taken to; once it is open, its capabilities decide.
        """
        return {"display": False, "guest": bool(self.remote.revert)}.get(self.family, True)


_PROXY = re.compile(r"(https?|socks[45])://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})/?")


class TaskSettings(Section):
    """What task files may do, which others write."""

    instructions: Literal["both", "abstract", "verbose"] = "both"
    """Which form of tasks that have two a suite has: the aim alone, or a tutorial with it."""
    allow_private_downloads: tuple[str, ...] = ()
    """Beginnings of addresses, such as http://10.0.0.5/, that lie on this machine or a private
    network and may be downloaded from; all others there are refused."""
    proxy: str = ""
    """For tasks that want a proxy for their pages. Empty: they are refused; none: they run without
    one; http://HOST:PORT, as the machine reaches it: Chrome gets it when the task starts it. No
    user and password: settings are part of each run's record."""

    @field_validator("proxy")
    @classmethod
    def _plain(cls, value: str) -> str:
        match = _PROXY.fullmatch(value)
        if value in ("", "none") or (match and 0 < int(match[3]) < 65536):
            return value
        raise ValueError("wanted is none, or http://HOST:PORT without user and password")


class Settings(Section):
    """The whole tree."""

    preset: str = ""
    """Settings of a paper that all others go before: hisa-paper, gta1."""
    run: RunSettings = RunSettings()
    models: ModelsSettings = Field(default_factory=ModelsSettings)
    planner: PlannerSettings = PlannerSettings()
    prompts: PromptSettings = PromptSettings()
    grounder: GrounderSettings = GrounderSettings()
    state: StateSettings = StateSettings()
    patterns: PatternSettings = PatternSettings()
    environment: EnvironmentSettings = EnvironmentSettings()
    tasks: TaskSettings = TaskSettings()
    tools: ToolSettings = ToolSettings()
    policy: PolicySettings = PolicySettings()
    secrets: Mapping[str, SecretSettings] = Field(default_factory=dict)
    """By the name that a task gives them."""


def _from_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}", fix=f"edit {path}") from error
    except OSError as error:
        raise ConfigError(
            f"{path}: {error.strerror}", fix="give --config an existing file"
        ) from error


def _without_idle_addresses(tree: dict[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
    """Leaves out the address of a role that has no model, where a variable alone gives it.

    Variables tell where a container's servers are, whichever of them a run then uses.
    """
    models, variable_models = tree.get("models"), variables.get("models")
    if not isinstance(models, Mapping) or not isinstance(variable_models, Mapping):
        return tree
    idle = {
        role
        for role, own in variable_models.items()
        if role != "planner" and models.get(role) == own and [*own] == ["base_url"]
    }
    return {**tree, "models": {role: own for role, own in models.items() if role not in idle}}


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """``HISA_RUN__MAX_STEPS=9`` is ``run.max_steps = 9``."""
    tree: dict[str, Any] = {}
    for name, text in sorted(environ.items()):
        if name.startswith("HISA_") and "__" in name:
            tree = merge(tree, nest_value(name[5:].lower().replace("__", "."), scalar(text)))
    return tree


def _from_assignments(assignments: Iterable[str]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        if not equals or not path.strip():
            raise ConfigError(f"--set {assignment!r}: want a.b=c", fix="--set run.max_steps=20")
        tree = merge(tree, nest_value(path.strip(), scalar(text.strip())))
    return tree


def load(
    file: Path | None = None,
    assignments: Iterable[str] = (),
    *,
    overrides: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """The effective settings.

    Args:
        file: a TOML file; None: ``hisa.toml`` in the working folder where there is one.
        assignments: ``a.b=c`` texts, from ``--set``.
        overrides: from named command-line options; they win over everything.
        environ: variables; None: the process's own.

    Raises:
        ConfigError: a bad file, an unknown key or a bad value, each named.
    """
    path = file or Path("hisa.toml")
    from_file: dict[str, Any] = {}
    if file is not None or path.is_file():
        if file is None and written_by_agents(path):
            raise ConfigError(
                f"{path.absolute()} lies where the commands of an agent may have written it: "
                "settings there are not taken",
                fix="cd ELSEWHERE; or look at it, and give it by --config hisa.toml",
            )
        from_file = _from_file(path)
    trees: dict[str, Mapping[str, Any]] = {
        "option": overrides or {},
        "--set": _from_assignments(assignments),
        "variable": _from_environment(os.environ if environ is None else environ),
        "file": from_file,
    }
    tree: dict[str, Any] = {}
    for layer in reversed(trees.values()):
        tree = merge(tree, layer)
    if name := tree.get("preset"):
        tree = merge(_from_file(preset_file(str(name))), tree)
    tree = _without_idle_addresses(tree, trees["variable"])
    try:
        return Settings.model_validate(tree)
    except ValidationError as error:
        reasons = explain(
            error, Settings, noun="setting", source=lambda place: source_of(place, trees, path)
        )
        raise ConfigError(
            reasons, fix="mend it there; hisa settings lists every setting"
        ) from error


def read_stored(tree: Mapping[str, object]) -> Settings:
    """Returns settings as a run or a bench has stored them, without those that are gone since.

    Raises:
        ConfigError: a value is not allowed.
    """
    stored: Any = deepcopy(dict(tree))
    try:
        return Settings.model_validate(stored)
    except ValidationError as error:
        unknown_settings = [
            problem["loc"] for problem in error.errors() if problem["type"] == "extra_forbidden"
        ]
    for *path, name in unknown_settings:
        del reduce(getitem, path, stored)[name]
    try:
        return Settings.model_validate(stored)
    except ValidationError as error:
        raise ConfigError(f"the stored settings cannot be read: {error}") from error

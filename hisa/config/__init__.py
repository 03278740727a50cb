"""One settings tree. Later wins: defaults < preset < hisa.toml < HISA_* variables < --set a.b=c.

Only `load` reads files and environment variables; the command line, the API and wiring call it, and
every part gets its own section. Unknown keys are refused. The settings are in this file; those of
tools, policy and secrets are in `tool_settings.py`.
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
    """Limits of a run; each is checked before the cost is incurred."""

    max_steps: int = Field(50, ge=1)
    """HiSA, section 4.3."""
    budget_usd: float | None = Field(None, gt=0)
    """End the run before a call that would exceed this."""
    budget_tokens: int | None = Field(None, gt=0)
    budget_seconds: float | None = Field(None, gt=0)
    """Wall-clock time of the whole run."""
    folder: Path = Path("runs")
    """Run folders are created here."""
    image_width: int = Field(1280, ge=64)
    """Largest width, in pixels, of the picture that models see (HiSA, section 4.3)."""
    image_height: int = Field(720, ge=64)

    @property
    def image_limit(self) -> Size:
        """The largest size of the picture that models see."""
        return Size(self.image_width, self.image_height)

    fetch_small: int = Field(0, ge=0)
    """Files up to this many bytes that the run creates are fetched without being named, at most
    eight; --attempts uses 65536."""
    seed: int = Field(0, ge=0)
    """Random seed for tasks that draw values; repeat R of a bench uses this + R - 1."""
    confirm: Literal["auto", "always", "never"] = "auto"
    """Ask a person before each action and command. auto: on a machine that is not thrown away;
    never: ask nobody at the terminal, and refuse what the policy would ask about."""


Effort = Literal["", "none", "minimal", "low", "medium", "high", "xhigh"]
"""How hard a reasoning model thinks, in increasing order; empty: the model's own default."""


class ModelSettings(Section):
    """The model of one role."""

    model: str = Field(default_factory=partial(default_name, "models"))
    """A name in the entry-point group ``hisa.models`` (by default the one announced as default);
    any other name is requested from ``base_url``."""
    profile: str = ""
    """Name of a profile; empty: chosen by the model's name."""
    base_url: str = ""
    """Empty: OPENAI_BASE_URL, else the public OpenAI address."""
    api_key_env: str = "OPENAI_API_KEY"
    """Name of the variable that holds the key; the key itself is never a setting."""
    timeout: float = Field(120.0, gt=0)
    """Seconds without data after which a try is given up."""
    total_seconds: float = Field(1800.0, gt=0)
    """Most seconds for one try of a call, even while its reply still arrives."""
    max_retries: int = Field(5, ge=0)
    max_tokens: int = Field(4096, ge=1)
    """HiSA, section 4.3."""
    temperature: float | None = Field(None, ge=0, le=2)
    """None: what each job asks for, mostly 0. Sent only if the profile says that the model accepts
    it, as are ``top_p`` and ``seed``."""
    top_p: float | None = Field(None, gt=0, le=1)
    seed: int | None = None
    effort: Effort = ""
    """How hard a reasoning model thinks. A value that the model's profile does not list is
    refused."""
    constrain: bool | None = None
    """Whether the server constrains the planner's replies to a schema of the step's tools. None: as
    the profile says; False: no ``response_format`` is sent. Turn it off if replies should be
    sampled freely, as for training."""
    tokens: bool = False
    """Ask the server for token ids and log-probs and store them with the run, as training needs."""
    context: int | None = Field(None, ge=512)
    """Input and output tokens together, for a model that a package runs on this machine; None: the
    package chooses, as for ``threads``."""
    threads: int | None = Field(None, ge=1)


class ModelsSettings(Section):
    """The four roles. ``state``, ``grounder`` and ``judge`` use ``planner`` if they are unset."""

    planner: ModelSettings = Field(default_factory=ModelSettings)
    state: ModelSettings | None = None
    grounder: ModelSettings | None = None
    judge: ModelSettings | None = None

    @model_validator(mode="after")
    def _require_model(self) -> Self:
        """Refuse a section without a model: it would silently get the default one."""
        for role in ("state", "grounder", "judge"):
            own: ModelSettings | None = getattr(self, role)
            if own is not None and "model" not in own.model_fields_set:
                names = sorted(own.model_fields_set) or ["nothing"]
                raise ValueError(
                    f"models.{role} sets {', '.join(names)} but no model: set models.{role}.model "
                    "too, or omit the section, to use models.planner"
                )
        return self


GrounderKind = Literal["auto", "cascade", "choice", "elements", "vision", "planner"]


Teaching = Literal["rule", "words", "examples"]
"""How much the prompt says about sequences: that they are allowed, also when one look still decides
the next action (OS-Catalyst, section 3.4), and also examples."""


class PlannerSettings(Section):
    """How the planner is asked, and what it sees."""

    kind: str = Field("auto", min_length=1)
    """chat: JSON replies over chat completions; short: the same, but a small model is shown little
    beyond what bears on this screen and task; computer: the computer tool of the Responses API; any
    other name: the planner of an installed package; auto: computer or short if the profile says so,
    else chat."""
    sees: Literal["picture", "elements", "both"] = "picture"
    """picture: the screenshot; elements: instead, a numbered list of what is on the screen, of at
    most 800 tokens; both. With a list, a target may be given as its number. A model that takes no
    pictures always gets the list; the list of the short prompt has at most 30 entries."""
    leads: str = ""
    """A planner that acts before the model is asked: the planner of an installed package and its
    argument, such as program:programs; empty: none."""
    sequence: int = Field(1, ge=1, le=5)
    """Most actions that one look may decide (OS-Catalyst, section 3.2: 5); 1: one action per look.
    Later actions are done only while the screen is as it was when they were planned."""
    guards: bool = True
    """Check the screen before each later action of a sequence. False is for comparisons: later
    actions are done unchecked."""
    teaching: Teaching = "examples"
    """What the prompt says about sequences. rule: that they are allowed; words: also when one look
    still decides the next action; examples: also examples."""

    samples: int = Field(1, ge=1, le=32)
    """Most replies to sample per step, from which a judge picks (GTA1, section 3.1); 1: one reply,
    no judge."""
    scaling: Literal["frugal", "constant"] = "frugal"
    """frugal: two samples. If they disagree, or the last step was in trouble, the judge is asked;
    if it finds neither good, more are sampled. constant: always all samples, and always the judge
    (GTA1)."""
    sample_temperature: float = Field(0.7, gt=0, le=2)
    """Temperature of the samples, if the planner's model takes one and
    ``models.planner.temperature`` is not set; at 0 the samples would be alike. Chosen by hand,
    between a model's usual 1 and 0."""


class GrounderSettings(Section):
    """How descriptions are turned into places."""

    kind: GrounderKind = "auto"
    """elements: accessibility and OCR; vision: ``models.grounder``; cascade: the elements if they
    are sure, else the model, whose points the elements check; choice: the elements if they are
    sure, else the planner's model picks from a list in words; planner: the planner's own
    coordinates, in the convention of its profile; auto: cascade if ``models.grounder`` is set or
    the planner's profile says that the model was trained to point, elements if the planner follows
    rules, else choice."""
    format: str = "auto"
    """Prompt and reply format of the vision-language grounder; auto: the point format in its
    profile, else gta1."""
    min_score: float = Field(0.86, ge=0, le=1)
    """How sure the elements grounder must be of a place, 0 to 1; below this it refuses ("not
    found"). Chosen for two wrong clicks in a hundred on the training screens of
    benchmarks/grounding, each application left out once: a higher value refuses more, a lower one
    clicks wrong more often."""
    min_score_seen: float = Field(0.55, ge=0, le=1)
    """The same on screens whose elements were seen on the picture, chosen in the same way for at
    most four wrong clicks in a hundred."""


OFFERED_TOKENS = 200
"""Most tokens of the list of tools for a step."""
RAW_TOKENS = 4000
"""Hard limit of a raw line: a tool's output may be a whole file."""


class StateSettings(Section):
    """Levels 1 and 2: step lines and the refined context."""

    refine_every: int = Field(5, ge=1)
    """Refine the context every N steps (HiSA, section 4.3 and table 6)."""
    step_tokens: int = Field(180, ge=60)
    """Hard limit of one abstracted step line."""
    refined_tokens: int = Field(800, ge=100)
    """Hard limit of the refined context."""
    advice_tokens: int = Field(400, ge=50)
    """Hard limit of the rules in the advice."""
    lesson_tokens: int = Field(200, ge=50)
    """Hard limit of the lessons in the advice."""
    steps: Literal["abstracted", "raw"] = "abstracted"
    """raw: a step line is the step's unchanged log, and no model is asked (HiSA, table 5)."""
    roi: bool | Literal["exact"] = True
    """Show the model that abstracts a step only the changed region, not both whole pictures. exact:
    one box around every pixel that differs, pointer and caret included (HiSA, 3.3.1)."""
    refine: Literal["summary", "window"] = "summary"
    """window: keep the last ``window`` steps instead of a summary (HiSA, table 5)."""
    window: int = Field(5, ge=1)


class PatternSettings(Section):
    """Level 3: the pattern database."""

    enabled: bool = True
    engine: Literal["edge", "server"] = "edge"
    """edge: embedded in this process; server: a Qdrant server at ``url``."""
    path: Path = Path("~/.local/share/hisa/patterns")
    url: str = "http://127.0.0.1:6333"
    collection: str = "hisa_patterns"
    embedder: str = "minilm"
    """minilm, bge-m3, or openai:MODEL for an endpoint."""
    dedup: float | None = Field(None, ge=0, le=1)
    """A new pattern at least this similar to an old one of its domain and kind supersedes it; none:
    the embedder's own limit (HiSA, section 4.3: 0.7)."""
    top: int = Field(5, ge=1)
    """Most patterns to recall."""
    threshold: float | None = Field(None, ge=-1, le=1)
    """Least similarity of a recalled pattern; none: the embedder's own (section 4.3: 0.5)."""
    learning_seconds: float = Field(60.0, gt=0)
    """Longest time to learn from a run; chosen by hand, so that a run is not mostly learning."""
    sops: Path | None = None
    """A folder of SOP files, used in addition to the shipped ones."""


class RemoteSettings(Section):
    """Commands that control the machine behind a guest at an address.

    A command is split into words as a shell would, and run without a shell; ``{url}``, ``{host}``,
    ``{port}``, ``{name}`` and ``{env:VARIABLE}`` in it are replaced.
    """

    revert: str = ""
    """Brings the machine to its initial state, running or not; empty: it is left as it is."""
    start: str = ""
    """Starts the machine, after ``revert``."""
    stop: str = ""
    """Stops the machine at the end of the run."""
    command_seconds: float = Field(300.0, gt=0)
    """Time limit of each of these commands."""
    ready_seconds: float = Field(300.0, gt=0)
    """Longest wait for the guest to answer and its desktop to be drawn."""
    patience: float = Field(1.0, gt=0)
    """Multiplies the time limit of every request; raise it for a slow network or machine."""


class LimitSettings(Section):
    """How much a private desktop may use, so that nothing inside can exhaust the host."""

    processes: int = Field(1024, ge=64)
    """Processes and threads together; Chromium with twenty pages has about 500."""
    memory_mb: int = Field(4096, ge=256)
    """Memory of all its processes, without the files; above it the desktop is ended."""
    disk_mb: int = Field(2048, ge=64)
    """Files written inside; they are kept in the host's memory."""
    open_files: int = Field(4096, ge=256)
    """Open files of one process."""
    file_mb: int = Field(128, ge=1)
    """Largest file that is read from any environment."""


Family = Literal["desktop", "display", "guest", "screen", "vm", "package"]
_VALUED: dict[Family, str] = {
    "desktop": "desktop:",
    "display": "display=",
    "guest": "guest=",
    "screen": "screen:",
    "vm": "vm:",
}
"""Families of environments that take a value, and the prefix before it."""
_BARE: tuple[Family, ...] = ("desktop", "screen")
"""Families that may have no value."""


class EnvironmentSettings(Section):
    """Where the agent acts."""

    kind: str = "desktop"
    """desktop, desktop:PROFILE, screen, screen:N, guest=http://HOST:PORT (separate several with
    commas), vm:NAME, or a kind that a package or plugin announces."""
    remote: RemoteSettings = RemoteSettings()
    width: int | None = Field(None, ge=320)
    """Width of the screen in pixels; none: as its profile says, else 1280."""
    height: int | None = Field(None, ge=240)
    """Height of the screen in pixels; none: as its profile says, else 720."""
    settle: float = Field(3.0, ge=0)
    """Longest wait, in seconds, for the screen to stop changing after an action; longer on a busy
    machine."""
    idle: float = Field(900.0, gt=0)
    """A desktop whose HiSA process is gone ends itself after this many seconds."""
    limits: LimitSettings = LimitSettings()
    elements: bool = True
    """Whether the machine's accessibility tree is read; off: as on a machine that has none."""
    allow_commands: bool = False
    """Whether commands on a screen run as you where nothing cages them: macOS and Windows."""
    share: tuple[str, ...] = ()
    """Folders of this machine to show in ~/shared of a private desktop: DIR (read-only), DIR:rw."""

    @property
    def family(self) -> Family:
        """The kind without its value; "package" for any other name that is announced."""
        return self._read[0]

    @property
    def value(self) -> str:
        """The text after the family: a display, addresses or a profile; of a package, the kind."""
        return self._read[1]

    @property
    def _read(self) -> tuple[Family, str]:
        for family in _BARE:
            if self.kind == family:
                return family, ""
        for family, mark in _VALUED.items():
            if self.kind.startswith(mark) and self.kind != mark:
                return family, self.kind.removeprefix(mark)
        return "package", self.kind

    @property
    def throw_away(self) -> bool:
        """Whether each run starts with a fresh machine, so that nobody has to be asked.

        A package's environment is assumed to, until it is open and its capabilities decide.
        """
        by_family = {"display": False, "screen": False, "guest": bool(self.remote.revert)}
        return by_family.get(self.family, True)


_PROXY = re.compile(r"(https?|socks[45])://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})/?")


class TaskSettings(Section):
    """What task files may do; other people write them."""

    instructions: Literal["both", "abstract", "verbose"] = "both"
    """Which form a suite uses of tasks that have two: abstract: the goal alone; verbose: with a
    tutorial; both."""
    allow_private_downloads: tuple[str, ...] = ()
    """Prefixes of addresses on this machine or a private network, such as http://10.0.0.5/, from
    which downloads are allowed; all other such addresses are refused."""
    proxy: str = ""
    """For tasks that want a proxy for their pages. Empty: they are refused; none: they run without
    one; http://HOST:PORT, as the machine reaches it: Chrome uses it when the task starts it. It
    cannot hold a user and password, because settings are part of each run's record."""

    @field_validator("proxy")
    @classmethod
    def _plain(cls, value: str) -> str:
        match = _PROXY.fullmatch(value)
        if value in ("", "none") or (match and 0 < int(match[3]) < 65536):
            return value
        raise ValueError("must be none, or http://HOST:PORT without user and password")


class Settings(Section):
    """The whole tree."""

    preset: str = ""
    """Settings of a paper, which all others override: hisa-paper or gta1."""
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
    """Secrets by the name that tasks use."""


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
    """Leaves out the address of a role without a model if only a variable sets it.

    A container's variables name all its servers, whichever of them a run then uses.
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
    """Reads variables: ``HISA_RUN__MAX_STEPS=9`` is ``run.max_steps = 9``."""
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
            raise ConfigError(f"--set {assignment!r}: must be a.b=c", fix="--set run.max_steps=20")
        tree = merge(tree, nest_value(path.strip(), scalar(text.strip())))
    return tree


def load(
    file: Path | None = None,
    assignments: Iterable[str] = (),
    *,
    overrides: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Load the effective settings.

    Args:
        file: a TOML file; None: ``hisa.toml`` in the working folder, if it exists.
        assignments: ``a.b=c`` texts, from ``--set``.
        overrides: a tree from named command-line options, which win over everything.
        environ: environment variables; None: the process's own.

    Raises:
        ConfigError: a bad file, an unknown key or a bad value, each named.
    """
    path = file or Path("hisa.toml")
    from_file: dict[str, Any] = {}
    if file is not None or path.is_file():
        if file is None and written_by_agents(path):
            raise ConfigError(
                f"{path.absolute()} is in a folder where an agent's commands may have written it: "
                "its settings are not used",
                fix="cd ELSEWHERE; or check it, and pass it with --config hisa.toml",
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
            reasons, fix="correct it there; hisa settings lists every setting"
        ) from error


def read_stored(tree: Mapping[str, object]) -> Settings:
    """Returns the settings that a run or a bench stored, without settings that no longer exist.

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

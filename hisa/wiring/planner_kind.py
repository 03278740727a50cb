"""Kinds of planners: what packages announce in the entry-point group ``hisa.planners``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from hisa.config import GrounderKind, ModelSettings, PlannerSettings, Settings
from hisa.environments.confirmation import Ask
from hisa.errors import ConfigError
from hisa.grounder.marks import Marks
from hisa.machine import plugins
from hisa.models.client_kinds import find_kind
from hisa.models.endpoint import Endpoint
from hisa.models.profiles import Profile
from hisa.planner.base import Form
from hisa.planner.planner import GlobalPlanner, Programs
from hisa.protocols import Emit, Environment, Model, Planner, Role
from hisa.tools.registry import ToolRegistry

__all__ = ["PlannerKind", "PlannerParts", "choose_planner", "find_leading"]


@dataclass(frozen=True)
class PlannerParts:
    """What a planner of a run is made of."""

    settings: PlannerSettings
    """How it is asked; a kind hands them on whole, so that a new one reaches every kind."""
    model_settings: ModelSettings
    model: Model
    profile: Profile
    tools: ToolRegistry
    emit: Emit
    marks: Marks | None
    """The numbered list that it sees; None: it sees the picture alone."""
    programs: Programs | None
    """Tells what is installed; None: the task fills the screen, and no other program bears on
    it."""
    confirm: Callable[[str], Awaitable[None]]
    """Asks a person; raises ActionRefused where that is not allowed, or nobody can be asked."""
    room: int | None = None
    """Most tokens of the state in its prompt; None: that of the default settings."""
    pointing: str = ""
    """How it is to write coordinates of its own; empty: it describes places."""
    ask: Ask | None = None
    """Asks a person before an act; None: there is nobody to ask."""
    environment: Environment | None = None
    """The machine, for what a look does not tell; None: it is not asked."""

    @property
    def constrained(self) -> bool:
        """Whether the server is to hold replies to the tools of the step."""
        setting = self.model_settings.constrain
        return self.profile.constrains if setting is None else setting


class PlannerKind:
    """A way to ask for the next call: this one in JSON over chat completions, as most models are.

    A package announces an object of a subclass in ``hisa.planners``; ``planner.kind`` takes the
    name that it is announced by. Every method may be left as it is.
    """

    points = False
    """Whether its calls hold pixels of the picture, which are checked and not searched for."""
    grounder: GrounderKind | None = None
    """The kind of grounder that it goes with; None: that of the settings."""

    def fit_settings(
        self, settings: PlannerSettings, profile: Profile, *, lists: bool, is_named: bool
    ) -> PlannerSettings | None:
        """The settings as this kind obeys them, above all what the planner sees.

        Args:
            settings: the effective ones of the planner.
            profile: of the planner's model.
            lists: whether a numbered list of the screen can be made and read.
            is_named: whether the settings name this kind, and not the profile.

        Returns None where it does not fit and was not asked for: then it is "chat".

        Raises:
            ConfigError: it does not fit.
        """
        if lists and not profile.sees_pictures:
            return settings.model_copy(update={"sees": "elements"})
        return settings

    def adapt_profile(self, profile: Profile) -> Profile:
        """Returns what the model takes when it is asked so."""
        return profile

    def client(
        self, settings: ModelSettings, endpoint: Endpoint, *, profile: Profile, section: Role
    ) -> Model | None:
        """Returns a client of its own, as `hisa.models.client.OpenAIModel`; None: that one."""
        return None

    def marks(self) -> Marks:
        """The numbered list of the screen that it reads."""
        return Marks()

    def open(self, parts: PlannerParts) -> Planner:
        """Returns the planner of a run.

        Raises:
            ConfigError: the settings are not for it.
        """
        return self.chat(parts)

    def lead(self, parts: PlannerParts, planner: Planner, text: str) -> Planner:
        """Returns a planner that acts before that of a run and hands on to it: `planner.leads`.

        Raises:
            ConfigError: it leads nobody.
        """
        raise ConfigError(f"planner.leads = {text!r} leads nobody", fix="--set planner.leads=")

    def chat(self, parts: PlannerParts, form: Form | None = None) -> GlobalPlanner:
        """Returns one that asks over chat completions."""
        return GlobalPlanner(
            parts.model,
            parts.tools,
            emit=parts.emit,
            settings=parts.settings,
            reads_elements=parts.profile.reads_elements,
            max_tokens=parts.model_settings.max_tokens,
            marks=parts.marks,
            pointing=parts.pointing,
            programs=parts.programs,
            room=parts.room,
            form=form,
            functions=parts.tools.functions if parts.constrained else None,
        )


def choose_planner(
    settings: Settings, profile: Profile, *, elements: bool
) -> tuple[PlannerKind, Settings]:
    """Returns the kind of planner that the settings ask for, and the settings as it obeys them.

    Raises:
        ConfigError: nobody announces it, or it does not fit.
        PluginFailed: the package that has it fails.
    """
    lists = elements and not profile.reads_elements and settings.grounder.kind != "planner"
    point, planner, settled = find_kind(settings.planner.kind, profile), settings.planner, None
    if point is not None:
        kind: PlannerKind = plugins.load("planners", point)
        with plugins.blaming_package("planners", point):
            settled = kind.fit_settings(
                planner, profile, lists=lists, is_named=planner.kind == point.name
            )
    if settled is None:
        kind = PlannerKind()
        settled = kind.fit_settings(planner, profile, lists=lists, is_named=True) or planner
    grounder = {"kind": kind.grounder or settings.grounder.kind}
    changed = settings.grounder.model_copy(update=grounder)
    return kind, settings.model_copy(update={"planner": settled, "grounder": changed})


def find_leading(settings: PlannerSettings) -> PlannerKind | None:
    """Returns the kind that `planner.leads` names; None where it names none.

    Raises:
        ConfigError: nobody announces it.
    """
    text = settings.leads
    if not text:
        return None
    name = text.partition(":")[0]
    point = plugins.find("planners", name)
    if point is None or plugins.is_left_out(point):
        names = ", ".join(plugins.announced_names("planners")) or "none"
        raise ConfigError(
            f"planner.leads = {text!r}: no installed package announces the planner {name!r}; "
            f"there are: {names}",
            fix="leave --reuse out, or --set planner.leads=",
        )
    kind: PlannerKind = plugins.load("planners", point)
    return kind

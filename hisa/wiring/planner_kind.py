"""Kinds of planners, which packages announce in the entry-point group ``hisa.planners``."""

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
    """The parts from which a run's planner is made."""

    settings: PlannerSettings
    """The section ``planner``, passed on whole so that every kind gets new settings."""
    model_settings: ModelSettings
    model: Model
    profile: Profile
    tools: ToolRegistry
    emit: Emit
    marks: Marks | None
    """The numbered list that it sees; None: it sees only the picture."""
    programs: Programs | None
    """Lists the installed programs; None: the task fills the screen, so they do not matter."""
    confirm: Callable[[str], Awaitable[None]]
    """Asks a person; raises ActionRefused if they refuse, or if nobody can be asked."""
    room: int | None = None
    """Most tokens of the state in its prompt; None: that of the default settings."""
    pointing: str = ""
    """Words of the prompt for writing coordinates; empty: it describes places instead."""
    ask: Ask | None = None
    """Asks a person before an action; None: there is nobody to ask."""
    environment: Environment | None = None
    """The machine, for facts that a look does not show; None: it is not queried."""

    @property
    def constrained(self) -> bool:
        """Whether the server should constrain replies to the tools of the step."""
        setting = self.model_settings.constrain
        return self.profile.constrains if setting is None else setting


class PlannerKind:
    """A way to ask for the next call; this base class asks for JSON over chat completions.

    A package announces an object of a subclass in ``hisa.planners``; the announced name is the
    value for ``planner.kind``. A subclass overrides only the methods it needs.
    """

    points = False
    """Whether its calls have pixels of the picture, which are checked, not descriptions."""
    grounder: GrounderKind | None = None
    """The kind of grounder that it needs; None: that of the settings."""

    def fit_settings(
        self, settings: PlannerSettings, profile: Profile, *, lists: bool, is_named: bool
    ) -> PlannerSettings | None:
        """Returns the settings as this kind uses them, above all ``planner.sees``.

        Args:
            settings: the planner's effective settings.
            profile: profile of the planner's model.
            lists: whether a numbered list of the screen can be built and read.
            is_named: whether the settings name this kind; else the profile chose it.

        Returns:
            The changed settings; None if this kind is unsuitable and the settings did not name it:
            then "chat" is used.

        Raises:
            ConfigError: the settings name this kind and it is unsuitable.
        """
        if lists and not profile.sees_pictures:
            return settings.model_copy(update={"sees": "elements"})
        return settings

    def adapt_profile(self, profile: Profile) -> Profile:
        """Returns the model's profile as it applies to requests of this kind."""
        return profile

    def client(
        self, settings: ModelSettings, endpoint: Endpoint, *, profile: Profile, section: Role
    ) -> Model | None:
        """Returns a client of this kind; None: `hisa.models.client.OpenAIModel`.

        Args:
            settings: settings of the role's model.
            endpoint: address and key.
            profile: the model's profile, as `adapt_profile` returned it.
            section: the role that error messages name for the settings.
        """
        return None

    def marks(self) -> Marks:
        """Returns the numbered list of the screen in the form that it reads."""
        return Marks()

    def open(self, parts: PlannerParts) -> Planner:
        """Returns the planner of a run.

        Raises:
            ConfigError: the settings do not suit it.
        """
        return self.chat(parts)

    def lead(self, parts: PlannerParts, planner: Planner, text: str) -> Planner:
        """Returns a planner that acts before the run's planner: see `planner.leads`.

        Args:
            parts: the parts of the run's planner.
            planner: the run's planner, which takes over.
            text: the value of the setting ``planner.leads``.

        Raises:
            ConfigError: this kind cannot lead.
        """
        raise ConfigError(
            f"planner.leads = {text!r}: this planner cannot lead", fix="--set planner.leads="
        )

    def chat(self, parts: PlannerParts, form: Form | None = None) -> GlobalPlanner:
        """Returns a planner that asks over chat completions."""
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
    """Returns the kind of planner that the settings ask for, and the settings as it uses them.

    Args:
        settings: the effective settings.
        profile: profile of the planner's model.
        elements: whether the environment lists elements.

    Raises:
        ConfigError: no package announces the kind, or it is unsuitable.
        PluginFailed: the package of the kind fails.
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
    """Returns the kind that `planner.leads` names; None if it is empty.

    Raises:
        ConfigError: no package announces it.
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
            f"announced: {names}",
            fix="omit --reuse, or --set planner.leads=",
        )
    kind: PlannerKind = plugins.load("planners", point)
    return kind

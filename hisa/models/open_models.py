"""The models of a run, by role: each a `RoleModel` around a client."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace

from hisa.config import ModelSettings, ModelsSettings, PlannerSettings
from hisa.errors import ConfigError
from hisa.events import Noted
from hisa.machine import plugins
from hisa.models.announced_model import AnnouncedModel, find_announced
from hisa.models.base import ClientKind
from hisa.models.budget import Budget, without_price
from hisa.models.client import OpenAIModel
from hisa.models.client_kinds import find_kind
from hisa.models.endpoint import resolve
from hisa.models.profiles import Price, Profile, find
from hisa.models.request_body import check_effort, not_sent
from hisa.models.role_model import CallContext, RoleModel
from hisa.models.spending import Ledger
from hisa.protocols import Emit, Model, Role
from hisa.text.redact import redact

__all__ = ["Models", "open_models", "require_models"]


class Models(dict[Role, Model]):
    """Models by role; also an async context manager that closes their connections."""

    def __init__(self) -> None:
        super().__init__()
        self.profiles: dict[Role, Profile] = {}
        self._opened = AsyncExitStack()

    async def aclose(self) -> None:
        """Close every connection, once."""
        await self._opened.aclose()

    def own(self, client: Model) -> None:
        """Close this client with the others, if it can be closed."""
        if close := getattr(client, "aclose", None):
            self._opened.push_async_callback(close)

    async def __aenter__(self) -> Models:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()


def _choose_settings(
    models: ModelsSettings, own: Collection[Role] = ()
) -> dict[Role, ModelSettings]:
    """Returns the settings by role.

    Grounder and judge do not use the planner's model if it follows rules or is in ``own``.
    """
    planner = models.planner
    chosen: dict[Role, ModelSettings] = {"planner": planner, "state": models.state or planner}
    announced_model = None if "planner" in own else find_announced(planner.model)
    follows = (
        None if "planner" in own or (announced_model and announced_model.by_rules) else planner
    )
    grounder, judge = models.grounder or follows, models.judge or follows
    if grounder is not None:
        chosen["grounder"] = grounder
    if judge is not None:
        chosen["judge"] = judge
    return chosen


def require_models(
    settings: ModelsSettings, planner: PlannerSettings, environ: Mapping[str, str] | None = None
) -> None:
    """Refuse what `open_models` would refuse, without loading a client, which takes half a second.

    Args:
        settings: section of the models.
        planner: says by which kind of planner a model is asked.
        environ: variables with addresses and keys; None: the process's own.

    Raises:
        ConfigError: an unknown profile, a bad address, or a setting that a model does not take.
        ModelUnavailable: a public server has no key.
        PluginFailed: the package of a model fails.
    """
    for role, role_settings in _choose_settings(settings).items():
        _fitting(settings, planner, role, role_settings)
        if find_announced(role_settings.model) is None:
            resolve(role_settings, os.environ if environ is None else environ)


def _fitting(
    settings: ModelsSettings, planner: PlannerSettings, role: Role, role_settings: ModelSettings
) -> tuple[Profile, ClientKind | None]:
    """Returns a role's profile, and the kind of planner that may provide the model's client.

    Raises:
        ConfigError: an unknown profile, or a setting that the model does not take.
        PluginFailed: the kind cannot be imported; names the package.
    """
    if not role_settings.model:
        raise ConfigError(
            f"models.{role} names no model, and no installed package has a default one",
            fix="--model NAME, or set models.planner.model",
        )
    profile = find(role_settings.model, role_settings.profile)
    requested_kind = (
        planner.kind if role_settings == settings.planner or planner.kind == "auto" else "chat"
    )
    point = find_kind(requested_kind, profile)
    kind: ClientKind | None = plugins.load("planners", point) if point else None
    if kind is not None:
        profile = kind.adapt_profile(profile)
    if _has_profile(find_announced(role_settings.model)):
        check_effort(_section(settings, role), role_settings, profile)
    return profile, kind


def _section(settings: ModelsSettings, role: Role) -> Role:
    """Returns the role whose settings name a role's model."""
    return role if getattr(settings, role) else "planner"


def _has_profile(announced_model: AnnouncedModel | None) -> bool:
    """Whether a profile says which settings a model takes; a package's model may not have one."""
    return announced_model is None or announced_model.profile is not None


def _client(
    settings: ModelSettings,
    profile: Profile,
    *,
    section: Role,
    environ: Mapping[str, str],
    kind: ClientKind | None,
) -> Model:
    added: Model | None = plugins.make("models", settings.model, settings)
    if added is not None:
        return added
    endpoint = resolve(settings, environ)
    own = kind.client(settings, endpoint, profile=profile, section=section) if kind else None
    return own or OpenAIModel(settings, endpoint, profile=profile, section=section)


def open_models(
    settings: ModelsSettings,
    planner: PlannerSettings,
    emit: Emit,
    budget: Budget,
    ledger: Ledger,
    *,
    own: Mapping[Role, Model] | None = None,
    environ: Mapping[str, str] | None = None,
    context: CallContext | None = None,
) -> Models:
    """Open the models that the settings ask for.

    ``planner`` and ``state`` are always there; ``grounder`` and ``judge`` use the planner's model
    by default, and are absent if that follows rules. Roles with equal settings share one
    connection.

    Args:
        settings: section of the models.
        planner: says by which kind of planner a model is asked.
        emit: takes `ModelCalled` and `ModelFailed`, and a `Noted` for each setting that has no
            effect.
        budget: checked before every try.
        ledger: what was spent so far in this run; each reply is added to it.
        own: models that replace those of the settings; ``state`` uses ``planner`` here too. They
            are not closed.
        environ: variables with addresses and keys; None: the process's own.
        context: step, secrets, progress and waits of the run; the other fields are set here.

    Raises:
        ConfigError: an unknown profile, a bad address, or a setting that a model does not take.
        ModelUnavailable: a public server has no key.
        PluginFailed: the package of a model fails.
    """
    variables = os.environ if environ is None else environ

    context = replace(
        context or CallContext(),
        emit=emit,
        budget=budget,
        ledger=ledger,
        hide=lambda text: redact(text, variables),
    )
    models = Models()
    own = dict(own or {})
    if "planner" in own:
        own.setdefault("state", own["planner"])
    for role, model in own.items():
        profile = find(model.name)
        models[role], models.profiles[role] = (
            RoleModel(model, context, profile=profile),
            profile,
        )
    _open_chosen(settings, planner, models, context, variables)
    return models


def _open_chosen(
    settings: ModelsSettings,
    planner: PlannerSettings,
    models: Models,
    context: CallContext,
    environ: Mapping[str, str],
) -> None:
    """Add the models that the settings name, for the roles that have none yet."""
    stacks: dict[ModelSettings, tuple[Model, Profile]] = {}
    for role, role_settings in _choose_settings(settings, models.keys()).items():
        if role in models:
            continue
        if role_settings not in stacks:
            section = _section(settings, role)
            profile, kind = _fitting(settings, planner, role, role_settings)
            profile = _at_home(profile, role_settings, environ)
            client = _client(role_settings, profile, section=section, environ=environ, kind=kind)
            models.own(client)
            if _has_profile(find_announced(role_settings.model)):
                _tell_not_sent(context.emit, section, role_settings, profile)
            role_model = RoleModel(client, context, profile=profile, settings=role_settings)
            stacks[role_settings] = (role_model, profile)
        models[role], models.profiles[role] = stacks[role_settings]
    unpriced = {
        role_settings.model: 0
        for role_settings, (_, profile) in stacks.items()
        if not profile.price
    }
    if unpriced and context.budget.usd is not None:
        context.emit(Noted(where="budget", text=without_price(context.budget.usd, unpriced)))


def _at_home(profile: Profile, settings: ModelSettings, environ: Mapping[str, str]) -> Profile:
    """Returns the profile of a model on a local server.

    Open weights cost nothing there, and an unknown model's picks are not trusted.
    """
    if find_announced(settings.model) or not resolve(settings, environ).local:
        return profile
    changes: dict[str, object] = {"picks": None} if profile.name == "default" else {}
    if profile.free_at_home and profile.price is None:
        changes["price"] = Price(input=0, output=0)
    return profile.model_copy(update=changes)


def _tell_not_sent(emit: Emit, section: Role, settings: ModelSettings, profile: Profile) -> None:
    """Note which settings of a role have no effect."""
    for name in not_sent(profile, settings):
        text = f"models.{section}.{name} is not sent: {settings.model} does not take it"
        emit(Noted(where="settings", text=f"{text} (profile {profile.name})"))

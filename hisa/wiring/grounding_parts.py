"""Builds the grounder of a run from the settings and the models."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hisa.config import GrounderKind, GrounderSettings, ModelSettings, ModelsSettings
from hisa.errors import ConfigError
from hisa.events import Event, Noted
from hisa.grounder.announced_parts import load_parts
from hisa.grounder.base import SelfTest
from hisa.grounder.elements_reader import ElementsReader
from hisa.grounder.formats import open_format
from hisa.grounder.matchers import NO_MATCHER, FinderParts, find_matcher
from hisa.grounder.plain_names import NamesGrounder
from hisa.grounder.pointing_grounder import PointingGrounder
from hisa.grounder.trust import PICKS_RIGHT, POINTS_RIGHT, Key, Trust, key_of
from hisa.grounder.vision import Seer, VisionGrounder
from hisa.models.profiles import Profile
from hisa.protocols import Emit, Grounder, Model, Role
from hisa.screen.ocr import ReadText, read_text
from hisa.text.redact import redact

__all__ = ["build_grounder", "grounder_kind", "open_grounder"]

_VISION = "--set grounder.kind=vision, or install a package that announces a matcher"


def build_grounder(
    settings: GrounderSettings,
    chosen: ModelsSettings,
    models: Mapping[Role, Model],
    emit: Emit,
    *,
    seer: Profile | None = None,
    read: ReadText = read_text,
    events: Sequence[Event] = (),
    reader: ElementsReader | None = None,
) -> Grounder:
    """Build the grounder that the settings ask for.

    Args:
        settings: section of the grounder.
        chosen: settings of every role's model.
        models: models by role. A model that points or picks is ``grounder``, or else ``planner``
            if the kind of grounder is "choice" or "auto".
        emit: takes the grounder's events.
        seer: profile of the model that points or picks.
        read: reads the text on a picture.
        events: events of a resumed run so far.
        reader: takes looks with elements; None: looks are used as they are.

    Raises:
        ConfigError: a required model is missing or unsuitable, or the format is unknown.
    """
    kind = grounder_kind(settings, chosen, seer)
    model = _model(kind, settings, models, seer)
    parts = FinderParts(emit, settings.min_score, settings.min_score_seen, read, reader)
    if model is None:
        return _open_finder(parts)
    if kind == "choice":
        trust = _pick_trust(settings, chosen, model, seer, emit, events)
        return _open_finder(replace(parts, picker=model, trust=trust))
    known = (seer.coordinates, seer.grounding) if seer else ("", "")
    form = open_format(settings.format, *known)
    if kind == "vision" or (settings.kind == "auto" and find_matcher() is None):
        return VisionGrounder(model, form, emit=emit)
    right = _points_right(key_of(model.name, chosen.grounder or chosen.planner, seer), emit, events)
    if right is not None:
        return _open_finder(replace(parts, seer=Seer(model, form), points_right=right))
    return _open_finder(parts)


def _points_right(key: Key, emit: Emit, events: Sequence[Event]) -> float | None:
    """Returns the probability that a model points correctly; None if it should not be asked."""
    test = _self_test()
    return test.points_right(key, emit, events) if test else POINTS_RIGHT


def _model(
    kind: GrounderKind,
    settings: GrounderSettings,
    models: Mapping[Role, Model],
    seer: Profile | None,
) -> Model | None:
    """Returns the model that points or picks; None if only the elements are used.

    Raises:
        ConfigError: a required model is missing or unsuitable.
    """
    if kind not in ("cascade", "choice", "vision"):
        return None
    model = models.get("grounder")
    if model is None and (kind == "choice" or settings.kind == "auto"):
        model = models.get("planner")
    if model is None:
        raise ConfigError(
            f"grounder.kind = {kind!r} needs models.grounder",
            fix="--set models.grounder.model=HelloKKMe/GTA1-7B "
            "--set models.grounder.base_url=http://127.0.0.1:8000/v1",
        )
    if kind == "choice" and seer is not None and seer.reads_elements:
        raise ConfigError(
            f"grounder.kind = 'choice': {seer.name} cannot pick from a list",
            fix="--set grounder.kind=auto, or give --model",
        )
    return model


def _open_finder(parts: FinderParts) -> Grounder:
    """Returns the matcher's grounder of these parts, or the core's own if there is no matcher.

    Raises:
        ConfigError: a pointing model must be combined with elements, which needs a matcher.
    """
    matcher = find_matcher()
    if matcher is not None:
        return matcher.open_grounder(parts)
    if parts.seer is not None:
        raise ConfigError(f"grounder.kind = 'cascade': {NO_MATCHER}", fix=_VISION)
    return NamesGrounder(parts)


def _pick_trust(
    settings: GrounderSettings,
    chosen: ModelsSettings,
    model: Model,
    known: Profile | None,
    emit: Emit,
    events: Sequence[Event],
) -> Trust:
    """Returns the trust in a model's picks, from its profile, else from the self-test."""
    if known is None or known.picks is not None:
        return Trust(known.picks if known else PICKS_RIGHT)
    section: Role = "grounder" if settings.kind == "choice" and chosen.grounder else "planner"
    model_settings = getattr(chosen, section)
    if test := _self_test():
        command = _measuring_command(settings.kind, section, model_settings)
        return test.picks(key_of(model.name, model_settings, known), emit, events, command=command)
    emit(Noted(where="grounder", text=f"{model.name} is not asked to pick: nothing measures it"))
    return Trust(None, "nothing measures how well it picks")


def _measuring_command(kind: GrounderKind, section: Role, model_settings: ModelSettings) -> str:
    """Returns the command that measures this model, with all settings that it depends on."""
    values = {
        "grounder.kind": "" if kind == "auto" else kind,
        f"models.{section}.model": model_settings.model,
        f"models.{section}.base_url": redact(model_settings.base_url),
        f"models.{section}.profile": model_settings.profile,
    }
    chosen = [f"{name}={value}" for name, value in values.items() if value]
    options = [word for assignment in chosen for word in ("--set", assignment)]
    return shlex.join(["hisa", *options, "doctor", "--grounder"])


def _self_test() -> SelfTest | None:
    return next((part for _, part in reversed(load_parts()) if isinstance(part, SelfTest)), None)


def grounder_kind(
    settings: GrounderSettings, chosen: ModelsSettings, seer: Profile | None
) -> GrounderKind:
    """Resolve "auto": the cascade if a model was trained to point, else choice or elements.

    Args:
        settings: section of the grounder.
        chosen: settings of every role's model.
        seer: profile of the model that would point or pick; None: no such model.
    """
    if settings.kind != "auto":
        return settings.kind
    if chosen.grounder is not None or (seer is not None and seer.grounding):
        return "cascade"
    return "elements" if seer is None or seer.reads_elements else "choice"


def open_grounder(
    settings: GrounderSettings,
    chosen: ModelsSettings,
    models: Mapping[Role, Model],
    reader: ElementsReader,
    emit: Emit,
    *,
    seer: Profile | None,
    planner: Profile,
    points: bool,
    events: Sequence[Event] = (),
) -> Grounder:
    """Build the agent's grounder: one that reads elements, or one for the planner's own points.

    Args:
        settings: section of the grounder.
        chosen: settings of every role's model.
        models: models by role.
        reader: takes looks with elements when they are needed.
        emit: takes the grounder's events.
        seer: profile of the model that points or picks.
        planner: profile of the planner's model.
        points: whether the planner's calls have coordinates in pixels of the picture.
        events: events of a resumed run so far.

    Raises:
        ConfigError: as `build_grounder`.
    """
    finder = build_grounder(settings, chosen, models, emit, seer=seer, events=events, reader=reader)
    if settings.kind != "planner" and not points:
        return finder
    checker = _open_finder(FinderParts(lambda _: None, settings.min_score, settings.min_score_seen))
    return PointingGrounder(
        "" if points else planner.coordinates, finder, checker, reader, emit=emit
    )

"""Announces the matcher: the entry point ``matching`` of the group ``hisa.lists``."""

from __future__ import annotations

from collections.abc import Sequence

from hisa.grounder.matchers import FinderParts
from hisa.grounder.thing import Thing
from hisa.plugins.matching.scene import Scene
from hisa.protocols import Grounder
from hisa.screen.observation import Observation

__all__ = ["MATCHER"]


class _SceneScenery:
    """See `hisa.grounder.matchers.Scenery`."""

    def __init__(self, observation: Observation) -> None:
        self._scene = Scene(observation)

    @property
    def things(self) -> Sequence[Thing]:
        """See `hisa.grounder.matchers.Scenery`."""
        return self._scene.things

    def around(self, thing: Thing) -> frozenset[str]:
        """See `hisa.grounder.matchers.Scenery`."""
        return self._scene.around(thing)


class DescriptionMatcher:
    """The matcher that reads descriptions and rates everything on the screen."""

    def open_scenery(self, observation: Observation) -> _SceneScenery:
        """See `hisa.grounder.matchers.Matcher`."""
        return _SceneScenery(observation)

    def open_grounder(self, parts: FinderParts) -> Grounder:
        """See `hisa.grounder.matchers.Matcher`; only the grounder that is needed is imported."""
        if parts.seer is not None:
            from hisa.plugins.matching.cascade import CascadeGrounder

            return CascadeGrounder(parts)
        if parts.picker is not None:
            from hisa.plugins.matching.checked_choice import ChoiceGrounder

            return ChoiceGrounder(parts)
        from hisa.plugins.matching.elements import ElementsGrounder

        return ElementsGrounder(
            emit=parts.emit,
            min_score=parts.min_score,
            min_score_seen=parts.min_score_seen,
            read=parts.read,
            reader=parts.reader,
        )


MATCHER = DescriptionMatcher()

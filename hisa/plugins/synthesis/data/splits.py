"""Splits of a data set that share nothing, and the leaks of one that does."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from hisa.errors import UsageError
from hisa.plugins.synthesis.data.samples import Sample, Split
from hisa.runs.manifest import TaskRecord

__all__ = ["Policy", "assign", "keys_of", "leaks", "refuse_leaks", "request"]

Level = Literal["application", "family", "template"]  # what one splits, those after it do too


class Policy(BaseModel):
    """Shares to test on, and what is tested in any case (``hold_out``).

    ``test`` shares nothing with the others; ``seen`` has other seeds of what is trained on, as
    WorkArena's seen task types (OS-Catalyst, 4.1).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    by: Level = "template"
    test: float = Field(0.1, ge=0, le=1)
    seen: float = Field(0.0, ge=0, le=1)
    hold_out: tuple[str, ...] = ()
    seed: int = 0

    @property
    def levels(self) -> tuple[str, ...]:
        """The keys that no two splits may share."""
        levels = get_args(Level)
        return (*levels[levels.index(self.by) :], "request")


def request(instruction: str) -> str:
    """An instruction without what a seed draws as a rule: quotes and numbers."""
    masked = re.sub(r"\"[^\"]*\"|“[^”]*”|(?<!\w)'[^']*'(?!\w)|\S*\d\S*", "#", instruction)
    return re.sub("#[# ]*", "# ", " ".join(masked.split())).casefold().strip()


def keys_of(task: TaskRecord, seed: int) -> dict[str, str]:
    """The keys of a run's task.

    A page that draws its content (MiniWoB++, WorkArena) is one template whatever its seed; its
    family is the beginning of its name ("click-checkboxes-large": "click-checkboxes"). Another
    task's template is its check and instruction without values, its family its check and verb.
    """
    pages = (step.get("parameters") for step in task.setup)
    page = next((p for p in pages if isinstance(p, dict) and isinstance(p.get("task"), str)), None)
    application = f"{task.format or 'own'}/{task.domain}"
    if page is not None:
        name, drawn = page["task"], page.get("seed", seed)
        template, family = f"page/{name}", "page/" + "-".join(name.split("-")[:2])
    else:
        words, drawn = request(task.instruction), task.id
        check = (task.check or {}).get("func", "none")
        template, family = f"{application}/{words}", f"{application}/{check}/{words.split(' ')[0]}"
    keys = {"application": application, "family": family, "template": template}
    return keys | {"instance": f"{template}/{drawn}"}


def assign(samples: Sequence[Sample], policy: Policy) -> list[Sample]:
    """Split samples, the same way each time; what shares a key stays together.

    Groups go by a hash of their first key and the seed, so that a group stays on its side while
    others are added. The first instance of a template that is trained on is never ``seen``.
    Raises: UsageError where a name to hold out is none of the keys of this level.
    """
    known = {sample.keys[policy.by] for sample in samples}
    for name in set(policy.hold_out) - known:
        fix = f"one of: {', '.join(sorted(known)[:20])}"
        raise UsageError(f"--hold-out {name!r}: there is no such {policy.by}", fix=fix)
    groups = _groups(samples, policy.levels)
    held = {groups[f"{policy.by} {name}"] for name in policy.hold_out}
    ordered = sorted((sample.keys["instance"], sample.keys["template"]) for sample in samples)
    first = {template: instance for instance, template in reversed(ordered)}

    def side(keys: dict[str, str]) -> Split:
        group = groups[f"template {keys['template']}"]
        if group in held or _draw(policy.seed, group) < policy.test:
            return "test"
        seen = _draw(policy.seed, f"seen {keys['instance']}") < policy.seen
        return "seen" if seen and keys["instance"] != first[keys["template"]] else "train"

    return [sample.model_copy(update={"split": side(sample.keys)}) for sample in samples]


def leaks(samples: Sequence[Sample], policy: Policy) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Yield what two splits share: the level, the key and the samples that have it.

    ``seen`` and ``train`` share templates by design, and neither an instance nor a step (picture,
    thought and action).
    """
    having: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for sample in samples:
        for level, key in _keys(sample, (*policy.levels, "instance", "step")).items():
            apart = level in ("instance", "step") or sample.split == "test"
            having[level, key][sample.split if apart else "train"].add(sample.id)
    for (level, key), sides in having.items():
        if len(sides) > 1:
            yield level, key, frozenset().union(*sides.values())


def refuse_leaks(samples: Sequence[Sample], policy: Policy, fix: str) -> None:
    """Check that no two splits share a key. Raises: UsageError where they do."""
    for level, key, ids in leaks(samples, policy):
        raise UsageError(f"splits share the {level} {key[:200]!r}: {min(ids)}", fix=fix)


def _keys(sample: Sample, levels: Collection[str]) -> dict[str, str]:
    step = "\n".join((sample.image, sample.thought, sample.action))
    keys = sample.keys | {"request": request(sample.instruction), "step": step}
    return {level: keys[level] for level in levels}


def _groups(samples: Sequence[Sample], levels: Collection[str]) -> dict[str, str]:
    """For each key the first key of those that it hangs together with."""
    groups: list[frozenset[str]] = []
    for items in {tuple(_keys(sample, levels).items()) for sample in samples}:
        keys = frozenset(f"{level} {key}" for level, key in items)
        joined = [group for group in groups if group & keys]
        groups = [*(group for group in groups if not group & keys), keys.union(*joined)]
    return {key: min(group) for group in groups for key in group}


def _draw(seed: int, key: str) -> float:
    """A number of 0..1 that hangs on nothing else."""
    return int.from_bytes(hashlib.sha256(f"{seed} {key}".encode()).digest()[:8]) / 2**64

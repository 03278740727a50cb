"""Ablations: named changes of the settings, one part of the system left out at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from hisa.errors import UsageError
from hisa.plugins.benchmarks.bench.efficiency import HORIZONS

__all__ = ["ABLATIONS", "FULL", "TABLES", "changes", "expand"]

FULL = "full"
"""The whole system, as the settings have it."""

_CANDIDATES = (1, 8, 16, 32)
_SCREEN = {"width": 1920, "height": 1080}

ABLATIONS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "original-resolution": {"run": {"image_width": 1920, "image_height": 1080}},
        "no-roi": {"state": {"roi": False}},
        "no-abstraction": {"state": {"steps": "raw"}},
        "no-refinement": {"state": {"refine": "window", "window": 5}},
        "no-patterns": {"patterns": {"enabled": False}},
        "gui-only": {"tools": {"allow": []}},
        "sequences-rule": {"planner": {"sequence": 5, "teaching": "rule"}},
        "sequences-words": {"planner": {"sequence": 5, "teaching": "words"}},
        "sequences": {"planner": {"sequence": 5, "teaching": "examples"}},
        "sequences-blind": {"planner": {"sequence": 5, "guards": False}},
        **{f"k{k}": {"planner": {"samples": k, "scaling": "constant"}} for k in _CANDIDATES},
        **{f"steps{n}": {"run": {"max_steps": n}} for n in HORIZONS},
        **{f"n{every}": {"state": {"refine_every": every}} for every in (3, 5, 7, 9)},
    }
)
"""The settings that each changes: a part left out (HiSA, tables 5 and 6), all tools beside the
built-ins (ComputerRL, table 3), or sequences."""

TABLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "table5": (
            FULL,
            "original-resolution",
            "no-roi",
            "no-abstraction",
            "no-refinement",
            "no-patterns",
        ),
        "figure4": tuple(f"k{k}+steps{n}" for n in HORIZONS for k in _CANDIDATES),
        "table6": ("n3", "n5", "n7", "n9"),
        "api-gui": (FULL, "gui-only"),
        "teaching": (FULL, "sequences-rule", "sequences-words", "sequences"),
    }
)
"""Several variants by one name: the paper's tables, the GUI with other tools and alone, and how the
prompt changes sequences."""


def expand(names: Iterable[str]) -> tuple[str, ...]:
    """Returns the variants of these names, those of a table one by one; ``full`` without a name.

    Raises:
        UsageError: an unknown name; the message lists the allowed ones.
    """
    variants: dict[str, None] = {}
    for name in names:
        for variant in TABLES.get(name, (name,)):
            for part in variant.split("+"):
                if part != FULL and part not in ABLATIONS:
                    allowed = ", ".join((FULL, *ABLATIONS, *TABLES))
                    raise UsageError(
                        f"ablation {part!r}: allowed are {allowed}, and several joined by +",
                        fix="--ablate table5",
                    )
            variants[variant] = None
    return tuple(variants) or (FULL,)


def changes(variant: str, variants: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Returns the settings that a variant changes.

    If one variant of a bench sees the screen in its original resolution, the screen is 1920x1080
    for all of them, so that only the picture that models see differs.
    """
    tree: dict[str, dict[str, Any]] = {}
    if any("original-resolution" in other.split("+") for other in variants):
        tree["environment"] = dict(_SCREEN)
    for part in variant.split("+"):
        for section, values in ABLATIONS.get(part, {}).items():
            tree.setdefault(section, {}).update(values)
    return tree

"""Metrics of benchmark task files, by name: how good is what the agent left."""

from __future__ import annotations

from hisa.tasks.metrics import (
    browser,
    data,
    databases,
    docs,
    miniwob,
    notebooks,
    pictures,
    slides,
    table,
    text,
)
from hisa.tasks.metrics.base import METRICS, BadRules, Metric, Unreadable

__all__ = [
    "METRICS",
    "BadRules",
    "Metric",
    "Unreadable",
    "browser",
    "data",
    "databases",
    "docs",
    "miniwob",
    "notebooks",
    "pictures",
    "slides",
    "table",
    "text",
]

"""A metric of an outside package."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def shared_words(result: Path, expected: Path, options: Mapping[str, Any]) -> tuple[float, str]:
    """Which part of the expected file's words the result has; ``case: false`` ignores case."""
    texts = [path.read_text("utf-8") for path in (expected, result)]
    if options.get("case") is False:
        texts = [text.casefold() for text in texts]
    expected_words, result_words = (set(text.split()) for text in texts)
    if not expected_words:
        raise ValueError("the expected file has no words")
    return len(expected_words & result_words) / len(
        expected_words
    ), f"lacks {sorted(expected_words - result_words)}"

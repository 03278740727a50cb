"""Reads untrusted YAML, in which a few lines of aliases can unfold into more than memory holds."""

from __future__ import annotations

from typing import Any

import yaml

__all__ = ["MAX_VALUES", "read_yaml"]

MAX_VALUES = 100_000
"""Most values of a text with aliases, counted each time that an alias stands for them."""


def read_yaml(text: str | bytes) -> Any:
    """Returns the value of a YAML text: mappings, lists, texts, numbers, dates.

    Raises:
        yaml.YAMLError: the text is not YAML or is nested too deeply, an alias contains itself, or
            aliases unfold into more than `MAX_VALUES` values and more than the text has characters.
    """
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        values = _count_values(node, {})
        if values > max(MAX_VALUES, len(text)):
            raise yaml.YAMLError(f"its aliases unfold into {values:,} values")
        return loader.construct_document(node)
    except RecursionError as error:
        raise yaml.YAMLError("nested too deeply") from error
    finally:
        loader.dispose()


def _count_values(node: yaml.Node, counts: dict[int, int | None]) -> int:
    """Count the values below a node with aliases unfolded; each node is visited once."""
    if id(node) in counts:
        count = counts[id(node)]
        if count is None:
            raise yaml.YAMLError("an alias contains itself")
        return count
    counts[id(node)] = None
    children: list[yaml.Node] = []
    if isinstance(node, yaml.SequenceNode):
        children = node.value
    elif isinstance(node, yaml.MappingNode):
        children = [child for pair in node.value for child in pair]
    total = 1 + sum(_count_values(child, counts) for child in children)
    counts[id(node)] = total
    return total

"""Writes nets as ONNX files, with facts about them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

__all__ = ["describe_net", "write_net"]


def write_net(
    net: torch.nn.Module, example: torch.Tensor, path: Path, axes: Mapping[str, Mapping[int, str]]
) -> None:
    """Writes a net as ONNX.

    Args:
        net: takes and returns one tensor.
        example: what it takes.
        path: the file.
        axes: the names of what it takes and of what it returns, with the axes of any length.
    """
    taken, returned = axes
    torch.onnx.export(
        net.eval(),
        (example,),
        str(path),
        input_names=[taken],
        output_names=[returned],
        dynamic_axes=axes,
        opset_version=17,
        dynamo=False,
    )


def describe_net(path: Path, facts: Mapping[str, Any]) -> None:
    """Writes facts into an ONNX file, in the place of those that it has."""
    import onnx

    model = onnx.load(str(path))
    onnx.helper.set_model_props(model, {name: json.dumps(fact) for name, fact in facts.items()})
    onnx.save(model, str(path))

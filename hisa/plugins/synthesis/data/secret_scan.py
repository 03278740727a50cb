"""Secrets in samples: a sample with one is left out, and what it is stands nowhere."""

from __future__ import annotations

from collections.abc import Iterator

from hisa.plugins.synthesis.data.samples import Sample
from hisa.text.redact import Redactor, holds_redacted

__all__ = ["secret_field"]


def secret_field(sample: Sample, redactor: Redactor) -> str:
    """The first field of a sample that holds a secret, or a place where one was taken out.

    Empty where there is none. Keys, tokens and passwords are known as in the logs of runs: see
    `hisa.text.redact`; give the same redactor for all samples, since it looks for what it learned.
    """
    for name, text in _texts(sample):
        if holds_redacted(text) or redactor.text(text) != text:
            return name
    return ""


def _texts(sample: Sample) -> Iterator[tuple[str, str]]:
    yield "instruction", sample.instruction
    yield "thought", sample.thought
    yield "action", sample.action
    yield "window", sample.window
    targets = [target.element for target in sample.targets if target.element]
    for element in (*sample.elements, *targets):
        yield "element", element.name
        if element.text and element.text != element.name:
            yield "element", f"{element.name}: {element.text}"
    for target in sample.targets:
        yield "description", target.description
    yield "provenance", sample.provenance.model_dump_json()

"""Stand-ins for models, their servers and machines, for people who test their own agents.

Nothing else in HiSA imports this package; the names below are loaded when they are first used.
Each stand-in implements the same protocol as the real part. Start with `scripted.py` (models),
`form.py` (a computer in memory) and `model_server.py`, a server of the OpenAI protocol with
faults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hisa.machine.lazy import lazy

if TYPE_CHECKING:
    from hisa.testing.form import FakeEnvironment
    from hisa.testing.model_server import FakeServer, Fault, Line, ReceivedRequest
    from hisa.testing.scripted import FunctionModel, ScriptedModel, tool_call
    from hisa.testing.word_embedder import WordEmbedder

__all__ = [
    "FakeEnvironment",
    "FakeServer",
    "Fault",
    "FunctionModel",
    "Line",
    "ReceivedRequest",
    "ScriptedModel",
    "WordEmbedder",
    "tool_call",
]

if not TYPE_CHECKING:  # a type checker sees only the imports above
    __getattr__ = lazy(
        __name__,
        {
            "FakeEnvironment": "hisa.testing.form",
            "FakeServer": "hisa.testing.model_server",
            "Fault": "hisa.testing.model_server",
            "FunctionModel": "hisa.testing.scripted",
            "Line": "hisa.testing.model_server",
            "ReceivedRequest": "hisa.testing.model_server",
            "ScriptedModel": "hisa.testing.scripted",
            "WordEmbedder": "hisa.testing.word_embedder",
            "tool_call": "hisa.testing.scripted",
        },
    )

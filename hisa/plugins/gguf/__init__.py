"""A language model run inside: llama.cpp in a process of ours, with weights from a GGUF file."""

from hisa.machine.plugins import Command

__all__ = ["MODELS"]

MODELS = Command(
    "hisa.plugins.gguf.weights_command:models",
    "Fetch and list language models that run on this machine.",
    after="patterns",
)

"""A language model on this machine: llama.cpp in a child process, with a GGUF file's weights."""

from hisa.machine.plugins import Command

__all__ = ["MODELS"]

MODELS = Command(
    "hisa.plugins.gguf.weights_command:models",
    "Fetch and list language models that run on this machine.",
    after="patterns",
)

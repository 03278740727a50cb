"""Several processes that clone together: each takes a share of a batch, and gradients are summed.

``accelerate launch`` or ``torchrun`` starts them. The first one is the main process: it alone
writes and prints.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TypeVar

import torch

from hisa.plugins.training.command_parts import were_launched

__all__ = ["Processes", "open_processes"]

_T = TypeVar("_T")


class Processes:
    """The processes of a training, and the place of this one among them.

    Args:
        number: of this process, from 0.
        count: of all; with more than one, a process group of `torch.distributed` is open.
    """

    def __init__(self, number: int = 0, count: int = 1) -> None:
        self.number, self._count = number, count

    def share(self, items: Sequence[_T]) -> Sequence[_T]:
        """Returns the items of this process; the shares of all are the items."""
        return items[self.number :: self._count]

    def add_up(self, numbers: torch.Tensor) -> torch.Tensor:
        """Returns the sum of the numbers of all processes, which all must call this."""
        if self._count > 1:
            torch.distributed.all_reduce(numbers)
        return numbers

    def add_gradients(self, weights: Sequence[torch.nn.Parameter]) -> None:
        """Replaces the gradients of weights by their sums over all processes."""
        for weight in weights:
            weight.grad = self.add_up(
                torch.zeros_like(weight) if weight.grad is None else weight.grad
            )


@contextmanager
def open_processes() -> Iterator[Processes]:
    """Yields the processes that the launcher started; mutes all but the main one."""
    if not were_launched():
        yield Processes()
        return
    if gpus := torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.distributed.init_process_group("cpu:gloo,cuda:nccl" if gpus else "gloo")
    with ExitStack() as stack:
        stack.callback(torch.distributed.destroy_process_group)
        number = torch.distributed.get_rank()
        if number:
            nowhere = stack.enter_context(Path(os.devnull).open("w"))
            stack.enter_context(redirect_stdout(nowhere))
            stack.enter_context(redirect_stderr(nowhere))
        yield Processes(number, torch.distributed.get_world_size())

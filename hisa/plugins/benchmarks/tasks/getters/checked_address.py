"""The getter that holds the address in the browser's bar against what a script of the task says."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hisa.plugins.benchmarks.tasks.getters.address_bar import Address, active_url
from hisa.plugins.benchmarks.tasks.getters.machine_state import script_output
from hisa.plugins.benchmarks.tasks.setup.put_files import GuestPath
from hisa.plugins.benchmarks.tasks.step_context import StepContext
from hisa.tasks.pieces import GETTERS

__all__ = ["CheckedAddress"]


class CheckedAddress(Address):
    """A script that prints parts of an address, with commas between."""

    src: Annotated[str, Field(min_length=1, max_length=4096)]
    dest: GuestPath


@GETTERS("validate_correct_url", CheckedAddress)
async def validate_correct_url(context: StepContext, params: CheckedAddress) -> str | None:
    """Returns for each part whether the address has it; None where no browser shows one."""
    parts = (await script_output(context, params.src, params.dest)).split(",")
    address = await active_url(context, params)
    if address is None:
        return None
    return "".join(f"{part.strip()} check {_verdict(part, address)};" for part in parts)


def _verdict(part: str, address: str) -> str:
    """Published words; colons and plus signs stand in an address by their codes."""
    wanted = part.strip().replace(":", "%3A").replace("+", "%2B")
    return "succeed" if wanted in address else "failed"

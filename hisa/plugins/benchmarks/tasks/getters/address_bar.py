"""Getters for the address in the browser's bar, and for parts of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import parse_qs, urlsplit

from pydantic import Field

from hisa.plugins.benchmarks.tasks.chrome import ChromeSilent, tabs
from hisa.plugins.benchmarks.tasks.getters.machine_state import script_output
from hisa.plugins.benchmarks.tasks.setup.put_files import GuestPath
from hisa.plugins.benchmarks.tasks.step_context import StepContext
from hisa.screen.observation import Window
from hisa.screen.sight import is_seen
from hisa.tasks.pieces import GETTERS, Parameters

__all__ = ["Address", "AddressPart", "AddressQuery", "CheckedAddress"]

_BAR = "address and search bar"
_BROWSERS = ("chrom", "brave")


class Address(Parameters):
    """``goto_prefix`` is put before what the bar shows, since the bar leaves out the scheme."""

    goto_prefix: Annotated[str, Field(max_length=100)] = "https://"


@GETTERS("active_url_from_accessTree", Address)
async def active_url(context: StepContext, params: Address) -> str | None:
    """Returns the address of the tab in front; None if no browser shows one.

    If the machine does not read its elements in time, the browser's debugging port is asked.
    """
    observation = await context.environment.observe(elements=True)
    reported = () if is_seen(observation) else observation.elements or ()
    bars = [element for element in reported if element.name.lower() == _BAR]
    address = next((bar.text for bar in bars if bar.text), "")
    if not bars and any(_is_browser(window) for window in observation.windows):
        address = _without_scheme(await _read_front_address(context))
    return f"{params.goto_prefix}{address}" if address else None


def _is_browser(window: Window) -> bool:
    return any(name in f"{window.app} {window.title}".lower() for name in _BROWSERS)


async def _read_front_address(context: StepContext) -> str:
    try:
        open_tabs = await tabs(context, seconds=5.0)
    except ChromeSilent:
        return ""
    return str(open_tabs[0].get("url", "")) if open_tabs else ""


def _without_scheme(address: str) -> str:
    """Returns an address as the bar shows it."""
    return address.removeprefix("https://").removeprefix("http://").removesuffix("/")


class AddressQuery(Address):
    """Keys of the address's query, and the names under which the metric expects them."""

    parse_keys: tuple[str, ...]
    replace: Mapping[str, str] = Field(default_factory=dict)
    split_list: bool = False


@GETTERS("active_tab_url_parse", AddressQuery)
async def active_query(context: StepContext, params: AddressQuery) -> dict[str, Any] | None:
    """Returns values of the query; empty if the address lacks the key."""
    address = await active_url(context, params)
    if address is None:
        return None
    query = parse_qs(urlsplit(address).query)
    values = {params.replace.get(key, key): query.get(key, [""])[0] for key in params.parse_keys}
    if not params.split_list:
        return values
    return {name: value.split(",") for name, value in values.items()}


class AddressPart(Address):
    """A part of the address between slashes; 0 is ``https:``, -1 the last part."""

    part_index: Annotated[int, Field(alias="partIndex")]
    without_query: Annotated[bool, Field(alias="needDeleteId")] = False
    gives: Annotated[Literal["string", "json"], Field(alias="returnType")]
    key: str = ""


@GETTERS("url_dashPart", AddressPart)
async def address_part(context: StepContext, params: AddressPart) -> str | dict[str, str] | None:
    """Returns the part, alone or under a name; None if the address has no such part."""
    address = await active_url(context, params)
    parts = address.split("/") if address else []
    if not -len(parts) <= params.part_index < len(parts):
        return None
    part = parts[params.part_index]
    part = part.partition("?")[0] if params.without_query else part
    return part if params.gives == "string" else {params.key: part}


class CheckedAddress(Address):
    """A script that prints parts of an address, with commas between."""

    src: Annotated[str, Field(min_length=1, max_length=4096)]
    dest: GuestPath


@GETTERS("validate_correct_url", CheckedAddress)
async def validate_correct_url(context: StepContext, params: CheckedAddress) -> str | None:
    """Returns for each part whether the address has it; None if no browser shows an address."""
    parts = (await script_output(context, params.src, params.dest)).split(",")
    address = await active_url(context, params)
    if address is None:
        return None
    return "".join(f"{part.strip()} check {_verdict(part, address)};" for part in parts)


def _verdict(part: str, address: str) -> str:
    """Returns the benchmark's words; in an address, colons and plus signs are percent-encoded."""
    escaped_part = part.strip().replace(":", "%3A").replace("+", "%2B")
    return "succeed" if escaped_part in address else "failed"

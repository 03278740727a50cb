"""A getter for a shop's address whose path says what is filtered, in pairs of names and values."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from urllib.parse import unquote, urlsplit

from hisa.plugins.benchmarks.tasks.getters.address_bar import Address, active_url
from hisa.plugins.benchmarks.tasks.step_context import StepContext
from hisa.tasks.pieces import GETTERS

__all__ = ["ProductAddress"]

_PRICE = "Price_discount_range"
_HALF, _LESS = "50_PERCENT_ off & more", ("30_PERCENT_ off & more", "20_PERCENT_ off & more")


class ProductAddress(Address):
    """Names of the path that the metric wants."""

    parse_keys: tuple[str, ...]


@GETTERS("url_path_parse", ProductAddress)
async def product_address(context: StepContext, params: ProductAddress) -> dict[str, Any] | None:
    """Returns what the address of the tab in front filters by; None for what it does not say."""
    address = await active_url(context, params)
    if address is None:
        return None
    path = unquote(urlsplit(address).path)
    named = _pairs(path)
    shirts = "shirts" in path or named.get("Product_department") in ("shirts", "Shirts", "Shirt")
    short = "short-sleeve" in path or named.get("Sleeve_length") in ("short-sleeve", "Short Sleeve")
    found: dict[str, Any] = {
        "mens_clothing": "mens-clothing" in path or None,
        "shirts": shirts or None,
        "short_sleeve": short or None,
    }
    known = {"Men_regular_size_t": None, _PRICE: None, **named}
    wanted = {key: known[key] for key in params.parse_keys if key in known}
    if _PRICE in wanted:
        ranges = [part.strip() for part in (wanted[_PRICE] or "").split("|")]
        half = _HALF in ranges and not any(less in ranges for less in _LESS)
        wanted[_PRICE] = _HALF if half else f"not_{_HALF}"
    return found | wanted


def _pairs(path: str) -> dict[str, str | None]:
    """The first two neighbours of the path with commas in them: names, and their values."""
    parts = path.strip("/").split("/")
    for names, values in pairwise(parts):
        if "," in names and "," in values:
            pairs = zip(names.split(","), values.split(","), strict=False)
            return {name.strip(): value.strip() or None for name, value in pairs}
    return {}

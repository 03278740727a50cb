"""Metrics over tabs, addresses, bookmarks and settings of a browser."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from hisa.tasks.addresses import same_address, same_addresses
from hisa.tasks.metrics.base import BadRules, Options, Score, metric, reading, rules_of, verdict
from hisa.tasks.metrics.values import search

__all__: list[str] = []


def _address(result: Any) -> str:
    return str(result.get("url")) if isinstance(result, Mapping) else str(result)


def _of_type(expected: Any, kind: str) -> Any:
    found = rules_of(expected, "type")
    if found != kind:
        raise BadRules(f"the rule's type is {found!r}; only {kind!r} is known")
    return expected


@metric("is_expected_active_tab")
def is_expected_active_tab(result: Any, expected: Any, options: Options) -> Score:
    """The tab in front shows the expected page."""
    wanted = str(rules_of(_of_type(expected, "url"), "url"))
    found = _address(result)
    return verdict(same_address(wanted, found), "the page is open", f"{found} is not {wanted}")


@metric("is_expected_active_tab_approximate")
def is_expected_active_tab_approximate(result: Any, expected: Any, options: Options) -> Score:
    """The same without the part of the address after a question mark."""
    wanted = str(rules_of(_of_type(expected, "url"), "url"))
    found = _address(result)
    with reading("address"):
        alike = urlsplit(wanted)._replace(query="") == urlsplit(found)._replace(query="")
    return verdict(alike, "the page is open", f"{found} is not {wanted}")


@metric("is_expected_url_pattern_match")
def is_expected_url_pattern_match(result: Any, expected: Any, options: Options) -> Score:
    """Every pattern occurs in the address of the tab in front."""
    patterns = rules_of(expected, "expected")
    found = _address(result)
    missing = [
        pattern
        for pattern in ([patterns] if isinstance(patterns, str) else patterns)
        if not search(pattern, found)
    ]
    return verdict(not missing, "all patterns occur", f"{missing} not in {found}")


@metric("is_expected_search_query")
def is_expected_search_query(result: Any, expected: Any, options: Options) -> Score:
    """A pattern occurs in the address of the tab in front."""
    pattern = rules_of(rules_of(expected, "expect"), "pattern")
    found = _address(result)
    return verdict(search(pattern, found), "the pattern occurs", f"{pattern!r} not in {found}")


@metric("is_expected_tabs")
def is_expected_tabs(result: Any, expected: Any, options: Options) -> Score:
    """The open tabs are the expected ones."""
    wanted = [str(url) for url in rules_of(_of_type(expected, "url"), "urls")]
    with reading("tabs"):
        found = [_address(tab) for tab in result]
    return verdict(same_addresses(wanted, found), "all tabs are open", f"open are {found}")


@metric("is_expected_installed_extensions")
def is_expected_installed_extensions(result: Any, expected: Any, options: Options) -> Score:
    """All expected extensions are there."""
    wanted = rules_of(expected, "expected")
    with reading("extensions"):
        missing = sorted({str(name) for name in wanted} - {str(name) for name in result})
    return verdict(not missing, "all are installed", f"missing {missing}")


@metric("is_expected_bookmarks")
def is_expected_bookmarks(result: Any, expected: Any, options: Options) -> Score:
    """The bookmark bar has the expected folders or pages."""
    kind = rules_of(expected, "type")
    with reading("bookmarks"):
        bar = result["bookmark_bar"]["children"]
        match kind:
            case "bookmark_bar_folders_names":
                found = {item["name"] for item in bar if item["type"] == "folder"}
                return _equal(found, {*rules_of(expected, "names")})
            case "bookmark_bar_websites_urls":
                found = {item["url"] for item in bar if item["type"] == "url"}
                return _equal(found, {*rules_of(expected, "urls")})
            case "liked_authors_websites_urls":
                return _liked_authors(bar, rules_of(expected, "urls"))
    raise BadRules(f"is_expected_bookmarks has no type {kind!r}")


def _equal(found: set[str], wanted: set[str]) -> Score:
    return verdict(found == wanted, "as expected", f"{sorted(found)} is not {sorted(wanted)}")


def _liked_authors(bar: Any, urls: Any) -> Score:
    """For each author one of several pages, all in a folder "Liked Authors"."""
    folder = next((i for i in bar if i["type"] == "folder" and i["name"] == "Liked Authors"), None)
    if folder is None:
        return 0.0, "there is no folder 'Liked Authors'"
    found = {item["url"] for item in folder["children"] if item["type"] == "url"}
    choices = [[url] if isinstance(url, str) else url for url in urls]
    holds = any(set(combination) == found for combination in itertools.product(*choices))
    return verdict(holds, "as expected", f"the folder has {sorted(found)}")


@metric("check_font_size")
def check_font_size(result: Any, expected: Any, options: Options) -> Score:
    """The default font size is a value or inside a range."""
    kind = rules_of(expected, "type")
    with reading("font sizes"):
        size = result["default_font_size"]
    if kind == "value":
        return verdict(size == rules_of(expected, "value"), "as expected", f"it is {size}")
    if kind == "range":
        low, high = rules_of(expected, "min", "max")
        return verdict(low < size < high, "inside the range", f"it is {size}")
    raise BadRules(f"check_font_size has no type {kind!r}; there are 'value' and 'range'")


@metric("check_enabled_experiments")
def check_enabled_experiments(result: Any, expected: Any, options: Options) -> Score:
    """The switched-on experiments are those expected."""
    kind, names = rules_of(expected, "type", "names")
    if kind != "names":
        raise BadRules(f"check_enabled_experiments has no type {kind!r}")
    with reading("experiments"):
        found = [str(name).split("@")[0] for name in result]
    return verdict(found == list(names), "as expected", f"{found} is not {names}")

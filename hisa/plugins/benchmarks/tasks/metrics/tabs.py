"""Metrics over tabs, addresses, bookmarks and settings of a browser."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from hisa.plugins.benchmarks.tasks.addresses import same_address, same_addresses
from hisa.plugins.benchmarks.tasks.metric import (
    BadRules,
    Options,
    Score,
    expecting,
    metric,
    rule,
    rules_of,
    same,
    verdict,
)
from hisa.plugins.benchmarks.tasks.metrics.value_rules import search

__all__: list[str] = []


def _address(result: Any) -> str:
    return str(result.get("url")) if isinstance(result, Mapping) else str(result)


def _typed(kind: str, name: str) -> Callable[[Any], Any]:
    """Reads a rule of one type."""

    def read(expected: Any) -> Any:
        found = rules_of(expected, "type")
        if found != kind:
            raise BadRules(f"the rule's type is {found!r}; only {kind!r} is known")
        return rules_of(expected, name)

    return read


@metric("is_expected_active_tab", found=_address, wanted=_typed("url", "url"))
def is_expected_active_tab(result: Any, expected: Any, options: Options) -> Score:
    """The tab in front shows the expected page."""
    return verdict(same_address(str(expected), result), "it is open", f"{result} is not {expected}")


def _patterns(result: str, patterns: Any) -> Score:
    wanted = [patterns] if isinstance(patterns, str) else patterns
    missing = [pattern for pattern in wanted if not search(pattern, result)]
    return verdict(not missing, "all patterns occur", f"{missing} not in {result}")


@metric("is_expected_url_pattern_match", found=_address, wanted=rule("expected"))
def is_expected_url_pattern_match(result: Any, expected: Any, options: Options) -> Score:
    """Every pattern occurs in the address of the tab in front."""
    return _patterns(result, expected)


@metric("is_expected_tabs", wanted=_typed("url", "urls"))
def is_expected_tabs(tabs: Any, expected: Any, options: Options) -> Score:
    """The open tabs are the expected ones."""
    found = [_address(tab) for tab in tabs]
    return verdict(
        same_addresses([*map(str, expected)], found), "all are open", f"open are {found}"
    )


@metric("is_expected_bookmarks", wanted=rule())
def is_expected_bookmarks(result: Any, rules: Any, options: Options) -> Score:
    """The bookmark bar has the expected folders or pages."""
    bar = result["bookmark_bar"]["children"]
    match rules_of(rules, "type"):
        case "bookmark_bar_folders_names":
            folders = {item["name"] for item in bar if item["type"] == "folder"}
            return same(folders, {*rules_of(rules, "names")})
        case "bookmark_bar_websites_urls":
            pages = {item["url"] for item in bar if item["type"] == "url"}
            return same(pages, {*rules_of(rules, "urls")})
        case "liked_authors_websites_urls":
            return _liked_authors(bar, rules_of(rules, "urls"))
        case kind:
            raise BadRules(f"is_expected_bookmarks has no type {kind!r}")


def _liked_authors(bar: Any, urls: Any) -> Score:
    """For each author one of several pages, all in a folder "Liked Authors"."""
    folder = next((i for i in bar if i["type"] == "folder" and i["name"] == "Liked Authors"), None)
    if folder is None:
        return 0.0, "there is no folder 'Liked Authors'"
    found = {item["url"] for item in folder["children"] if item["type"] == "url"}
    choices = [[url] if isinstance(url, str) else url for url in urls]
    holds = any(set(combination) == found for combination in itertools.product(*choices))
    return verdict(holds, "as expected", f"the folder has {sorted(found)}")


@metric("miniwob_solved")
def miniwob_solved(result: Any, expected: Any, options: Options) -> Score:
    """1 for any reward of a MiniWoB++ page above 0, as published results count it."""
    reward, reason = rules_of(result, "reward", "reason")
    with expecting("miniwob_solved, which goes with miniwob_reward"):
        return float(reward > 0), str(reason)


@metric("browsergym_rewarded")
def browsergym_rewarded(result: Any, expected: Any, options: Options) -> Score:
    """The reward of a task of BrowserGym, 0 to 1."""
    reward, reason = rules_of(result, "reward", "reason")
    with expecting("browsergym_rewarded, which goes with browsergym_reward"):
        return min(1.0, max(0.0, float(reward))), str(reason)

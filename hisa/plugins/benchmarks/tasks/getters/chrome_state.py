"""Getters for the machine's Chrome: its tabs, its settings, its cookies and history."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from hisa.plugins.benchmarks.tasks.chrome import ChromeSilent, profile_file, tabs
from hisa.plugins.benchmarks.tasks.isolated_process import read_isolated
from hisa.plugins.benchmarks.tasks.readers import rows_of
from hisa.plugins.benchmarks.tasks.step_context import StepContext
from hisa.tasks.pieces import GETTERS, Declared, Parameters

__all__ = ["PREFERENCES", "TableFile"]


@GETTERS("open_tabs_info", Parameters)
async def open_tabs_info(context: StepContext, params: Parameters) -> list[dict[str, str]] | None:
    """Returns title and address of every open tab; None if the agent closed the browser."""
    try:
        open_tabs = await tabs(context, seconds=5.0)
    except ChromeSilent:
        return None
    return [{"title": str(tab.get("title")), "url": str(tab.get("url"))} for tab in open_tabs]


@GETTERS("active_tab_info", Parameters)
async def active_tab_info(context: StepContext, params: Parameters) -> dict[str, str] | None:
    """Returns title and address of the tab that was last in front."""
    open_tabs = await open_tabs_info(context, params)
    return open_tabs[0] if open_tabs else None


def _value_at(*keys: str) -> Callable[[Any], Any]:
    def look(tree: Any) -> Any:
        for key in keys:
            tree = tree.get(key) if isinstance(tree, Mapping) else None
        return tree

    return look


def _true_or_false(look: Callable[[Any], Any]) -> Callable[[Any], str]:
    return lambda tree: "true" if look(tree) else "false"


def _with_default(look: Callable[[Any], Any], default: Any) -> Callable[[Any], Any]:
    def look_or_default(tree: Any) -> Any:
        value = look(tree)
        return default if value is None else value

    return look_or_default


def _of_each_extension(*keys: str) -> Callable[[Any], list[Any]]:
    """Returns a function that lists a value of every installed extension that has it."""
    look = _value_at(*keys)

    def read_extensions(tree: Any) -> list[Any]:
        extensions = _value_at("extensions", "settings")(tree)
        values = map(look, extensions.values()) if isinstance(extensions, Mapping) else ()
        return [value for value in values if value is not None]

    return read_extensions


def _starts_with_a_new_tab(tree: Any) -> bool:
    """Whether Chrome starts with a new tab: the setting is absent, or 5."""
    session = _value_at("session")(tree)
    return session is None or _value_at("restore_on_startup")(session) == 5


def _is_protected(tree: Any) -> bool:
    """Whether standard or enhanced protection is on, if the file says so."""
    return any(bool(_value_at("safebrowsing", kind)(tree)) for kind in ("enhanced", "enabled"))


def _lets_sites_keep_less(tree: Any) -> bool:
    """Whether a default for all sites is set; Chromium 156 also keeps migration notes there."""
    values = _value_at("profile", "default_content_setting_values")(tree)
    if not isinstance(values, Mapping) or not values:
        return values is not None
    return not all(str(name).startswith("has_migrated_") for name in values)


_FONTS = {"default_fixed_font_size": 13, "default_font_size": 16, "minimum_font_size": 13}

PREFERENCES: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "bookmarks": ("Default/Bookmarks", _with_default(_value_at("roots"), {})),
    "chrome_language": ("Local State", _with_default(_value_at("intl", "app_locale"), "en-US")),
    "chrome_font_size": (
        "Default/Preferences",
        _with_default(_value_at("webkit", "webprefs"), _FONTS),
    ),
    "data_delete_automacally": (
        "Default/Preferences",
        _true_or_false(_lets_sites_keep_less),
    ),
    "default_search_engine": (
        "Default/Preferences",
        _with_default(
            _value_at("default_search_provider_data", "template_url_data", "short_name"), "Google"
        ),
    ),
    "enable_do_not_track": (
        "Default/Preferences",
        _true_or_false(_value_at("enable_do_not_track")),
    ),
    "enable_enhanced_safety_browsing": (
        "Default/Preferences",
        _true_or_false(_value_at("safebrowsing", "enhanced")),
    ),
    "enable_safe_browsing": ("Default/Preferences", _true_or_false(_is_protected)),
    "enabled_experiments": (
        "Local State",
        _with_default(_value_at("browser", "enabled_labs_experiments"), []),
    ),
    "find_installed_extension_name": (
        "Default/Preferences",
        _of_each_extension("manifest", "name"),
    ),
    "find_unpacked_extension_path": ("Default/Preferences", _of_each_extension("path")),
    "new_startup_page": ("Default/Preferences", _true_or_false(_starts_with_a_new_tab)),
    "profile_name": ("Default/Preferences", _value_at("profile", "name")),
}
"""Getter name to the file of Chrome's user folder and the function that reads its value."""


_UNWRITTEN = frozenset(
    ("chrome_font_size", "chrome_language", "default_search_engine", "enable_do_not_track",
     "enable_safe_browsing", "enabled_experiments")
)  # fmt: skip
"""Getters that give a default before the browser has written its file, as the benchmark does."""


def _reader(name: str) -> Declared:
    file, look = PREFERENCES[name]

    async def read(context: StepContext, params: Parameters) -> Any:
        data = await profile_file(context, file)
        if data is None:
            return look({}) if name in _UNWRITTEN else None
        try:
            return look(json.loads(data))
        except (ValueError, RecursionError):
            return None

    return Declared(Parameters, read)


for _name in PREFERENCES:
    GETTERS.add(_name, _reader(_name))


class TableFile(Parameters):
    """The name under which the table's file is kept during scoring."""

    dest: str


async def _rows(context: StepContext, file: str, params: TableFile, query: str) -> list[Any] | None:
    data = await profile_file(context, file)
    if data is None:
        return None
    place = context.place(params.dest)
    await asyncio.to_thread(place.write_bytes, data)
    rows: list[Any] | None = await read_isolated(rows_of, place, query)
    return rows if rows is None else [tuple(row) for row in rows]


@GETTERS("cookie_data", TableFile)
async def cookies(context: StepContext, params: TableFile) -> list[Any] | None:
    """Returns every cookie with all its columns; None if there is no readable file."""
    return await _rows(context, "Default/Cookies", params, "SELECT * FROM cookies")


@GETTERS("history", TableFile)
async def history(context: StepContext, params: TableFile) -> list[Any] | None:
    """Returns address, title and time of each last visit; None if there is no readable file."""
    query = "SELECT url, title, last_visit_time FROM urls"
    return await _rows(context, "Default/History", params, query)

"""Every metric: a right result scores 1, a wrong one less, a broken one 0 with its reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hisa.plugins.benchmarks.tasks.metrics import METRICS, BadRules, Unreadable
from tests.plugins.benchmarks.tasks.made import Case, data, made, text
from tests.plugins.benchmarks.tasks.test_metrics_docs import CASES as DOCS
from tests.plugins.benchmarks.tasks.test_metrics_more import CASES as MORE
from tests.plugins.benchmarks.tasks.test_metrics_slides import CASES as SLIDES


def is_(value: Any, **more: Any) -> dict[str, Any]:
    return {"expected": value, **more}


BAR = {
    "bookmark_bar": {
        "children": [
            {"type": "folder", "name": "Work", "children": []},
            {
                "type": "folder",
                "name": "Liked Authors",
                "children": [
                    {"type": "url", "url": "https://a"},
                    {"type": "url", "url": "https://c"},
                ],
            },
            {"type": "url", "url": "https://b", "name": "b"},
        ]
    }
}
TAB = {"title": "t", "url": "https://www.a.org/"}
LIST = {"type": "list"}
CI = {"ignore_case": True}
CASES: list[Case] = [
    ("check_include_exclude", "a b", {"include": ["a"], "exclude": ["c"]}, {}, 1),
    ("check_include_exclude", "a b", {"include": ["a", "c"]}, {}, 0),
    ("check_include_exclude", "a b", {"include": ["a"], "exclude": ["b"]}, {}, 0),
    ("check_include_exclude", ["a", "b"], {"include": ["a"]}, {}, 1),
    ("check_include_exclude", 7, {"include": ["a"]}, {}, 0),
    ("exact_match", "a", is_("a"), {}, 1),
    ("exact_match", "a\n", is_("a"), {}, 0),
    ("exact_match", {"width": 1}, is_({"width": 1}), {}, 1),
    ("is_in_list", ["a", "b"], is_("a"), {}, 1),
    ("is_in_list", ["b"], is_("a"), {}, 0),
    ("is_in_list", 7, is_("a"), {}, 0),
    ("literal_match", 7, "7", {}, 1),
    ("literal_match", "A", "a", {}, 0),
    ("literal_match", "A", "a", CI, 1),
    ("literal_match", ["A", 1], ["a", "1"], {**LIST, **CI}, 1),
    ("literal_match", ["a"], ["a", "b"], LIST, 0),
    ("literal_match", ["b", "a"], ["a", "b"], LIST, 0),
    ("literal_match", ["b", "a"], ["a", "b"], {**LIST, "ignore_order": True}, 1),
    ("literal_match", "a", ["a"], LIST, 0),
    ("fuzzy_match", "abcd", is_("abcd"), {}, 1),
    ("fuzzy_match", "abce", is_("abcd"), {}, 0.75),
    ("fuzzy_match", 7, is_("abcd"), {}, 0),
    ("is_extension_installed", "x.py\ny", {"type": "contain", **is_("x.py")}, {}, 1),
    ("is_extension_installed", "y", {"type": "contain", **is_("x.py")}, {}, 0),
    ("is_extension_installed", "y", {"type": "not_contain", **is_("x.py")}, {}, 1),
    ("diff_text_file", text("a\nb\n"), text("a\r\nb"), {}, 1),
    ("diff_text_file", text("a\nx\n"), text("a\nb\n"), {}, 0.5),
    ("compare_text_file", text("a b"), text("a b"), {}, 1),
    ("compare_text_file", text("A\n\n b "), text("a b"), {"ignore_blanks": True, **CI}, 1),
    ("compare_text_file", text("A b"), text("a b"), {}, 0),
    ("compare_config", text("a=1\n"), is_("a=1\n"), {}, 1),
    ("compare_config", text("a=1"), is_("a=1\n"), {}, 0),
    ("check_list", text("abc\ndef"), {"expect": ["^a", "f$"], "unexpect": ["x"]}, {}, 1),
    ("check_list", text("abc"), {"expect": ["^b"]}, {}, 0),
    ("check_list", text("abc"), {"expect": ["a"], "unexpect": ["c"]}, {}, 0),
    ("compare_csv", text("a,b\n1,2\n"), text("a,b\r\n1,2"), {}, 1),
    ("compare_csv", text("A,b\n 1,2"), text("1,2\na,B"), {"ignore_order": True}, 0),
    ("compare_csv", text("A,b\n 1,2"), text("1,2\na,B"),
     {"ignore_order": True, "strict": False, **CI}, 1),
    ("compare_csv", text("a"), [text("b"), text("a")], {}, 1),
    ("compare_csv", text("c"), [text("b"), text("a")], {}, 0),
    ("check_json", data({"a": {"b": 3}}),
     {"expect": [{"key": ["a", "b"], "method": "ge", "ref": 3}]}, {}, 1),
    ("check_json", data({"a": 1}), {"expect": [{"key": ["b"], "method": "eq", "ref": 1}]}, {}, 0),
    ("check_json", data({"a": 1}), {"unexpect": [{"key": ["a"], "method": "eq", "ref": 1}]}, {}, 0),
    ("check_json", data({"a": 1}), {"unexpect": [{"key": ["b"], "method": "lt", "ref": 1}]}, {}, 1),
    ("check_json", text("a: {b: [x]}"),
     {"expect": [{"key": ["a", "b", 0], "method": "re.I", "ref": "X"}]}, {"is_yaml": True}, 1),
    ("check_json", text("a: !!python/object/apply:os.getcwd []"),
     {"expect": [{"key": ["a"], "method": "ne", "ref": 0}]}, {"is_yaml": True}, 0),
    ("check_json", text("{"), {"expect": []}, {}, 0),
    ("check_json_settings", data({"a": 1, "b": 2}), is_({"a": 1}), {}, 1),
    ("check_json_settings", data({"a": 2}), is_({"a": 1}), {}, 0),
    ("check_json_settings", data([1]), is_({"a": 1}), {}, 0),
    ("check_direct_json_object", "{'a': 'x'}", is_({"a": "x"}), {}, 1),
    ("check_direct_json_object", {"a": "y"}, is_({"a": "x"}), {}, 0),
    ("check_direct_json_object", {"a": ["x", "y"]},
     is_({"a": ["y", "z"]}, expect_in_result=True), {}, 1),
    ("check_direct_json_object", {"a": "xyz"}, is_({"a": "q"}, expect_in_result=True), {}, 0),
    ("check_direct_json_object", "{", is_({"a": "x"}), {}, 0),
    ("check_direct_json_object", "[1]", is_({"a": "x"}), {}, 0),
    ("is_expected_active_tab", TAB, {"type": "url", "url": "http://a.org"}, {}, 0),
    ("is_expected_active_tab", TAB, {"type": "url", "url": "https://a.org"}, {}, 1),
    ("is_expected_url_pattern_match", TAB, is_(["a\\.org", "^https"]), {}, 1),
    ("is_expected_url_pattern_match", "https://a.org", is_(["a\\.org", "x"]), {}, 0),
    ("is_expected_tabs", [TAB], {"type": "url", "urls": ["https://a.org"]}, {}, 1),
    ("is_expected_tabs", [TAB, TAB], {"type": "url", "urls": ["https://a.org"]}, {}, 0),
    ("is_expected_tabs", [TAB], {"type": "url", "urls": ["https://b.org"]}, {}, 0),
    ("is_expected_bookmarks", BAR,
     {"type": "bookmark_bar_folders_names", "names": ["Liked Authors", "Work"]}, {}, 1),
    ("is_expected_bookmarks", BAR, {"type": "bookmark_bar_folders_names", "names": ["A"]}, {}, 0),
    ("is_expected_bookmarks", BAR,
     {"type": "bookmark_bar_websites_urls", "urls": ["https://b"]}, {}, 1),
    ("is_expected_bookmarks", BAR,
     {"type": "liked_authors_websites_urls", "urls": [["https://x", "https://a"], "https://c"]},
     {}, 1),
    ("is_expected_bookmarks", BAR,
     {"type": "liked_authors_websites_urls", "urls": ["https://a"]}, {}, 0),
    ("is_expected_bookmarks", {}, {"type": "bookmark_bar_websites_urls", "urls": []}, {}, 0),
    ("miniwob_solved", {"reward": 0.3, "reason": "half"}, {}, {}, 1),
    ("miniwob_solved", {"reward": 0.0, "reason": "not over"}, {}, {}, 0),
    ("browsergym_rewarded", {"reward": 1.0, "reason": "done"}, {}, {}, 1),
    ("browsergym_rewarded", {"reward": 0.0, "reason": "goes on"}, {}, {}, 0),
]  # fmt: skip


def test_every_metric_has_a_right_and_a_wrong_case() -> None:
    right = {name for name, *_, score in CASES if score == 1} | {"compare_table"}
    wrong = {name for name, *_, score in CASES if score < 1} | {"compare_table"}
    for name, *_, score in [*DOCS, *MORE, *SLIDES]:
        (right if score == 1 else wrong).add(name)
    assert right == set(METRICS.names)
    assert wrong == set(METRICS.names)


@pytest.mark.parametrize(
    ("name", "result", "expected", "options", "wanted"),
    [*CASES, *MORE],
    ids=[f"{n}-{case[0]}" for n, case in enumerate([*CASES, *MORE])],
)
def test_scores(
    tmp_path: Path, name: str, result: Any, expected: Any, options: Any, wanted: float
) -> None:
    metric = METRICS.get(name)
    assert metric is not None
    assert metric.missing() == ()
    try:
        score, why = metric.run(made(result, tmp_path), made(expected, tmp_path), options)
    except Unreadable as error:
        score, why = 0.0, str(error)
    assert score == pytest.approx(wanted), why
    assert why


@pytest.mark.parametrize(
    ("name", "result", "expected", "options"),
    [
        ("exact_match", "a", {}, {}),
        ("exact_match", "a", None, {}),
        ("literal_match", "a", "a", {"type": "number"}),
        ("is_extension_installed", "a", {"type": "x", "expected": "a"}, {}),
        ("check_list", text("a"), {"expect": ["("]}, {}),
        ("check_json", data({"a": 1}), {"expect": [{"key": ["a"], "method": "?", "ref": 1}]}, {}),
        ("check_json", data({"a": 1}), {"expect": [{"method": "eq", "ref": 1}]}, {}),
        ("compare_text_file", text("a"), None, {}),
        ("is_expected_bookmarks", BAR, {"type": "x"}, {}),
        ("is_expected_active_tab", TAB, {"type": "title", "url": "x"}, {}),
    ],
)
def test_a_rule_without_meaning_is_the_tasks_fault(
    tmp_path: Path, name: str, result: Any, expected: Any, options: Any
) -> None:
    metric = METRICS.get(name)
    assert metric is not None
    with pytest.raises(BadRules):
        metric.run(made(result, tmp_path), made(expected, tmp_path), options)

"""Files and addresses that a call names, and which patterns mean them."""

from __future__ import annotations

import pytest

from hisa.plugins.guard.policy.named_paths import NamedPath, is_inside, path_match, resolve_path
from hisa.plugins.guard.policy.named_sites import is_site, looks_like_address, read_url, url_match
from hisa.plugins.guard.policy.text_patterns import Match

YES, MAYBE, NO = Match.YES, Match.MAYBE, Match.NO


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("~/.ssh/*", NamedPath("~/.ssh/id"), YES),
        ("~/.ssh", NamedPath("~/.ssh/a/b"), YES),
        ("~/.ssh", NamedPath("~/.sshx"), NO),
        ("~/.ssh/*", NamedPath("~/.ssh"), NO),
        ("~/.ssh/*", NamedPath("~/.ssh", deep=True), MAYBE),
        ("~/.ssh/*", NamedPath("~", deep=True), MAYBE),
        ("~/.ssh/*", NamedPath("~"), NO),
        ("~/.ssh/*", NamedPath("/home/ada/.ssh/id"), MAYBE),
        ("~/.ssh/*", NamedPath("/etc/.ssh/id"), NO),
        ("~/.ssh/*", NamedPath("~/.s", sure=False), MAYBE),
        ("~/.ssh/*", NamedPath("~/.ssh/", sure=False), YES),
        ("~/.ssh/*", NamedPath("~/Documents/", sure=False), NO),
        ("~/.ssh/*", NamedPath("/", sure=False), MAYBE),
        ("/etc/*", NamedPath("/e", sure=False), MAYBE),
        ("/", NamedPath("/etc"), YES),
        ("*.key", NamedPath("~/a/b.key"), YES),
    ],
)
def test_paths(pattern: str, path: NamedPath, expected: Match) -> None:
    assert path_match(pattern, path) is expected


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("~/Documents/a.txt", True),
        ("/home/ada/Documents/a", True),
        ("~/Documents/../a", False),
        ("~/Documentsx/a", False),
        ("/home/bob/Documents/a", False),
        ("~bob/Documents/a", False),
        ("~/Documents/../../ada/Documents/a", True),
    ],
)
def test_inside_of_folders(text: str, inside: bool) -> None:
    path = resolve_path(text, home="/home/ada")
    assert path is not None
    assert is_inside(path, ["~/Documents", "/srv/data"]) is inside


def test_a_home_that_is_not_known_is_nobodys() -> None:
    path = resolve_path("/home/ada/Documents/a")
    assert path is not None
    assert not is_inside(path, ["~/Documents"])
    assert resolve_path("/dev/null") is None


@pytest.mark.parametrize(
    "text",
    [
        "https://good.example",
        "HTTPS://GOOD.EXAMPLE/x",
        "good.example",
        "good.example:8443/x",
        "https://user:pass@good.example/",
        "https://good.example?x=@evil.example",
        "https://www.sub.example/",
        "view-source:https://good.example",
        "https://b\u00fccher.example/",
        "ht\ntps://good.example",
        "https://\uff47ood.example/",
        "https://goo%64.example/",
    ],
)
def test_allowed_sites(text: str) -> None:
    url = read_url(text)
    assert url is not None
    assert is_site(url, ["good.example", "*.sub.example", "b\u00fccher.example"])


@pytest.mark.parametrize(
    "text",
    [
        "https://good.example@evil.example/",
        "https://good.example.evil.example",
        "https://good.example%2eevil.example",
        "https://good.example\\@evil.example",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https:///good.example",
        "https://go\u043ed.example",
        "http://2130706433/",
        "https://good.example\x00.evil.example",
        "https://sub.example/",
        "mailto:a@good.example",
        "https://good.example\u2044.evil.example",
        "https://good.example:x@evil.example",
        "blob:https://evil.example/good.example",
    ],
)
def test_disguised_address_is_not_taken_for_an_allowed_site(text: str) -> None:
    url = read_url(text)
    assert url is not None
    assert not is_site(url, ["good.example", "*.sub.example"])


def test_an_empty_page_is_nowhere() -> None:
    assert read_url("about:blank") is None
    assert read_url("chrome://newtab/") is None


def test_a_site_with_a_port_is_that_port() -> None:
    for text, expected in (("good.example:81", True), ("good.example", False)):
        url = read_url(text)
        assert url is not None
        assert is_site(url, ["good.example:81"]) is expected


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("bank.example/pay*", "https://BANK.example/pay/1", YES),
        ("*bank.example*", "https://www.bank.example/", YES),
        ("https://bank.example", "http://bank.example/x", NO),
        ("bank.example", "https://bank.example:81/x", YES),
        ("bank.example/admin", "https://bank.example/%61dmin/x", YES),
        ("bank.example", "https://other.example/bank.example", NO),
        ("bank.example", "https://odd\\x", MAYBE),
        ("127.0.0.1*", "http://0x7f.1/", YES),
        ("file:*", "file:///etc/passwd", YES),
    ],
)
def test_addresses(pattern: str, text: str, expected: Match) -> None:
    url = read_url(text)
    assert url is not None
    assert url_match(pattern, url) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("good.example/a?b", True),
        ("localhost", True),
        ("1.2.3.4:80", True),
        ("file:///x", True),
        ("javascript:x", True),
        ("hello there.example", False),
        ("notes.txt", False),
        ("3.14", False),
        ("a@good.example", False),
        ("=A1.B2", False),
    ],
)
def test_typed_texts_that_a_browser_takes_for_addresses(text: str, expected: bool) -> None:
    assert looks_like_address(text) is expected

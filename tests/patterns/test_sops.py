"""Rules of a domain: what ships is well formed, what is wrong is named with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from hisa.config import load
from hisa.errors import ConfigError
from hisa.patterns.memory import open_sops
from hisa.patterns.sops import Sop, load_sops, rules_for
from hisa.text.prompts import data_folder


def test_shipped_rules_cover_the_usual_domains() -> None:
    sops = load_sops(data_folder("patterns_db"))
    domains = {domain for sop in sops for domain in sop.domains}
    assert {"general", "text_editor", "calc", "writer", "terminal", "browser"} <= domains
    assert {"jupyter", "files"} <= domains
    assert {"impress", "gimp", "vs_code", "vlc", "thunderbird"} <= domains
    assert {"airflow", "dagster", "superset"} <= domains
    rules = [rule for sop in sops for rule in sop.rules]
    assert all(rule.endswith(".") for rule in rules)


def test_a_file_may_name_several_domains(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("domains: calc, excel\n\n- Rule.\n")
    sops = load_sops(tmp_path)
    assert rules_for(sops, "excel") == ("Rule.",)
    assert rules_for(sops, "a") == ()


DOMAIN_FORM = "allowed are lower-case letters, digits and _"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.md", "- one\nstray\n", "2: 'stray' is neither a rule ('- …') nor part of one"),
        ("a.md", "", "1: the file has 0 rules; allowed are 1 to 20"),
        ("a.md", "- x\n" * 21, "1: the file has 21 rules; allowed are 1 to 20"),
        ("a.md", f"- ok\n- {'x' * 301}\n", "2: the rule has 301 characters; allowed are 1 to 300"),
        ("a.md", "\n\n- \n", "3: the rule has 0 characters; allowed are 1 to 300"),
        ("a.md", "\ndomains: calc, Calc\n- x\n", f"2: domain 'Calc': {DOMAIN_FORM}"),
        ("Bad Name.md", "- x\n", f"1: domain 'Bad Name': {DOMAIN_FORM}"),
        ("a.yaml", "rules: [x]", "1: rules are written in Markdown: NAME.md"),
    ],
)
def test_malformed_rule_file_is_refused_with_file_and_line(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_sops(tmp_path)
    assert (str(caught.value), caught.value.fix) == (f"{file}:{message}", f"edit {file}")


def test_the_users_rules_come_first_and_those_of_the_domain_before_general_ones() -> None:
    sops = [
        Sop(Path("a"), ("general",), ("General.",)),
        Sop(Path("b"), ("calc",), ("Of the domain.",)),
        Sop(Path("c"), ("general",), ("My general one.", "General."), own=True),
        Sop(Path("d"), ("calc", "writer"), ("My own.",), own=True),
        Sop(Path("e"), ("writer",), ("Elsewhere.",), own=True),
    ]
    assert rules_for(sops, "calc") == (
        "My own.",
        "My general one.",
        "General.",
        "Of the domain.",
    )


def test_a_folder_of_ones_own_is_added(tmp_path: Path) -> None:
    (tmp_path / "calc.md").write_text("- House rule.\n")
    own = load(overrides={"patterns": {"sops": tmp_path}}, environ={})
    rules = rules_for(open_sops(own.patterns), "calc")
    assert "House rule." in rules
    assert len(rules) > 5
    gone = load(overrides={"patterns": {"sops": tmp_path / "gone"}}, environ={})
    with pytest.raises(ConfigError) as caught:
        open_sops(gone.patterns)
    missing = tmp_path / "gone"
    assert str(caught.value) == f"patterns.sops = {str(missing)!r}: no such folder"
    assert caught.value.fix == f"mkdir -p {missing}"
    (house,) = [sop for sop in open_sops(own.patterns) if sop.own]
    assert house.rules == ("House rule.",)

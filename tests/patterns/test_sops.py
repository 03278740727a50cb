"""Rules of a domain: what ships is well formed, what is wrong is named with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from hisa.config import load
from hisa.errors import ConfigError
from hisa.patterns.open import open_sops
from hisa.patterns.sops import RULE_CHARS, load_sops, rules_for
from hisa.prompts import data_folder


def test_what_ships_covers_the_usual_domains() -> None:
    sops = load_sops(data_folder("patterns_db"))
    domains = {domain for sop in sops for domain in sop.domains}
    assert {"general", "text_editor", "calc", "writer", "terminal", "browser"} <= domains
    assert {"jupyter", "files"} <= domains
    rules = [rule for sop in sops for rule in sop.rules]
    assert all(rule.endswith(".") for rule in rules)


def test_own_rules_come_before_general_ones_each_once(tmp_path: Path) -> None:
    (tmp_path / "calc.md").write_text("# t\nAbout.\n\n- Own rule.\n- Shared.\n")
    (tmp_path / "general.md").write_text("- Shared.\n- For all,\n  in two lines.\n")
    sops = load_sops(tmp_path)
    assert rules_for(sops, "calc") == ("Own rule.", "Shared.", "For all, in two lines.")
    assert rules_for(sops, "nowhere") == ("Shared.", "For all, in two lines.")


def test_a_file_may_name_several_domains(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("domains: calc, excel\n\n- Rule.\n")
    (tmp_path / "b.yaml").write_text("domains: [jupyter]\nrules: ['Other: rule.']\n")
    (tmp_path / "c.yml").write_text("rules: ['Third rule.']\n")
    sops = load_sops(tmp_path)
    assert rules_for(sops, "excel") == ("Rule.",)
    assert rules_for(sops, "jupyter") == ("Other: rule.",)
    assert rules_for(sops, "c") == ("Third rule.",)
    assert rules_for(sops, "a") == ()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.md", "- one\nstray\n", r"a\.md:2: 'stray' is neither"),
        ("a.md", "", r"a\.md:1: 0 rules"),
        ("a.md", "- x\n" * 21, r"21 rules"),
        ("a.md", f"- ok\n- {'x' * (RULE_CHARS + 1)}\n", r"a\.md:2: a rule of 301 characters"),
        ("a.md", "- \n", r"a\.md:1: a rule of 0 characters"),
        ("a.md", "domains: Calc\n- x\n", r"a\.md:1: domain 'Calc'"),
        ("Bad Name.md", "- x\n", r"domain 'Bad Name'"),
        ("a.yaml", "rules: [a\nb: [", r"a\.yaml:2: not valid YAML"),
        ("a.yaml", "[1]", "want the keys 'rules'"),
        ("a.yaml", "rules: [1]", "rules: want a list of texts"),
        ("a.yaml", "rules: [x]\ndomains: calc", "domains: want a list of texts"),
        ("a.yaml", "rules: [x]\nrule: 1", "want the keys 'rules'"),
        ("a.yaml", "rules: !!python/object/apply:os.getcwd []", "not valid YAML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=message) as caught:
        load_sops(tmp_path)
    assert name in caught.value.fix


def test_a_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"- \xff\xfe\n")
    with pytest.raises(ConfigError, match=r"a\.md:1: not readable"):
        load_sops(tmp_path)


def test_a_folder_of_ones_own_is_added(tmp_path: Path) -> None:
    (tmp_path / "calc.md").write_text("- House rule.\n")
    own = load(overrides={"patterns": {"sops": tmp_path}}, environ={})
    rules = rules_for(open_sops(own), "calc")
    assert "House rule." in rules
    assert len(rules) > 5
    gone = load(overrides={"patterns": {"sops": tmp_path / "gone"}}, environ={})
    with pytest.raises(ConfigError, match="no such folder"):
        open_sops(gone)

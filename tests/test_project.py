"""The project's own rules, checked: shape, size, light imports, packaging, settings."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import hisa
from hisa import errors
from hisa.config import Settings, load
from hisa.plugins.desktop.runtime.probe import why_refused
from hisa.protocols import Environment

ROOT = Path(__file__).parent.parent
HEAVY = {
    "torch",
    "mss",
    "pyautogui",
    "vllm",
    "ray",
    "FlagEmbedding",
    "transformers",
    "openai",
    "qdrant_client",
}
INSIDE = ("hisa.plugins.desktop.guest.", "hisa.plugins.toolkits.guest.")
"""Programs that run inside a machine, with what is installed there."""
MODULES = sorted(
    info.name
    for info in pkgutil.walk_packages(hisa.__path__, "hisa.")
    if not info.name.endswith("__main__") and not info.name.startswith(INSIDE)
)


def sources() -> Iterator[Path]:
    yield from sorted((ROOT / "hisa").rglob("*.py"))


@pytest.mark.process
@pytest.mark.parametrize("statement", ["import hisa", "import hisa.cli", "import hisa.agent"])
def test_importing_is_silent_and_light(statement: str) -> None:
    code = f"{statement}; import sys, json; print(json.dumps(sorted(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not ran.stderr
    loaded = {name.split(".")[0] for name in json.loads(ran.stdout)}
    assert not loaded & HEAVY


@pytest.mark.process
def test_help_loads_nothing_that_takes_time() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "hisa", "--help"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {line.split("|")[-1].strip().split(".")[0] for line in ran.stderr.splitlines()}
    assert not loaded & (HEAVY | {"pydantic", "numpy", "PIL", "rich", "qdrant_edge"})


@pytest.mark.parametrize("name", MODULES)
def test_public_names_are_declared_and_documented(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:  # of an extra that is not installed
        if (error.name or "hisa").partition(".")[0] == "hisa":
            raise
        pytest.skip(str(error))
    assert module.__doc__, f"{name} has no docstring"
    public = getattr(module, "__all__", None)
    if public is None:
        own = [
            key
            for key, value in vars(module).items()
            if not key.startswith("_") and getattr(value, "__module__", None) == name
        ]
        assert not own, f"{name} has public names and no __all__: {own}"
        return
    for key in public:
        value = getattr(module, key)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), f"{name}.{key} has no docstring"


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_functions_are_short_and_modules_are_small() -> None:
    lengths = []
    for path in sources():
        text = path.read_text("utf-8")
        assert text.count("\n") <= 600, f"{path} is too long"
        for function in functions(ast.parse(text)):
            length = (function.end_lineno or 0) - function.lineno + 1
            assert length <= 100, f"{path}: {function.name} has {length} lines"
            lengths.append(length)
    lengths.sort()
    assert lengths[int(len(lengths) * 0.9)] <= 45


def test_broad_excepts_are_rare() -> None:
    text = "\n".join(path.read_text("utf-8") for path in sources())
    broad = len(re.findall(r"except (?:Base)?Exception\b|except:", text))
    assert broad <= 1.5 * text.count("\n") / 1000


def test_sources_use_no_eval_and_tests_use_no_mocks() -> None:
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec"), path
    for path in sorted((ROOT / "tests").rglob("*.py")):
        if path != Path(__file__):
            assert not re.search(r"unittest\.mock|MagicMock|mocker\b", path.read_text("utf-8")), (
                path
            )


def test_the_error_tree_in_the_docstring_is_the_real_one() -> None:
    drawn = errors.__doc__ or ""
    for name in errors.__all__:
        assert re.search(rf"\b{name}\b", drawn), f"{name} is not drawn in hisa/errors.py"
        kind = getattr(errors, name)
        assert issubclass(kind, errors.HisaError)


def parts(folder: Path) -> list[str]:
    """The packages and public modules of a folder, as the maps name them."""
    packages = [f"{path.parent.name}/" for path in folder.glob("*/__init__.py")]
    return packages + [path.name for path in folder.glob("*.py") if not path.name.startswith("_")]


def test_the_map_of_agents_md_is_the_tree() -> None:
    drawn = (
        (ROOT / "AGENTS.md").read_text("utf-8").partition("```\nhisa/\n")[2].partition("\n```")[0]
    )
    core, _, plugins = drawn.partition("\n  plugins/ ")
    for storey, indent, folder in ((core, 2, "hisa"), (plugins, 4, "hisa/plugins")):
        named = re.findall(rf"^ {{{indent}}}(\w+/|\w+\.py) ", storey, re.MULTILINE)
        assert sorted(named) == sorted(set(parts(ROOT / folder)) - {"plugins/"})


def run_script(name: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / name)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.process
def test_architecture_picture_matches_the_imports() -> None:
    ran = run_script("picture.py")
    drawn = ROOT / "docs" / "architecture.svg"
    assert ran.stdout == drawn.read_text("utf-8"), f"{ran.stderr}; draw it anew: make picture"
    assert ran.returncode == 0, ran.stderr


ROOMS = sorted(path.parent for path in (ROOT / "hisa").glob("*/__init__.py"))
PLUGINS = sorted(path.parent for path in (ROOT / "hisa" / "plugins").glob("*/__init__.py"))


def assert_names_its_files(text: str, folder: Path) -> None:
    named = set(re.findall(r"`([\w/]+(?:\.py|/))`", text))
    assert named, f"{folder.name}: no file to start reading with"
    assert not [n for n in named if not ((folder / n).exists() or (ROOT / n).exists())], folder.name


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_room_docstring_names_its_files(room: Path) -> None:
    text = ast.get_docstring(ast.parse((room / "__init__.py").read_text("utf-8"))) or ""
    assert_names_its_files(text, room)


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)
def test_a_plugin_has_a_page_that_says_where_to_start_reading(plugin: Path) -> None:
    page = (plugin / "README.md").read_text("utf-8")
    assert page.count("\n") <= 60, "one page"
    assert_names_its_files(page, plugin)
    assert f"make test P={plugin.name}" in page
    points = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    own = f"hisa.plugins.{plugin.name}"
    groups = {group for group, names in points.items() if own in str(names.values())}
    assert groups <= set(re.findall(r"`(hisa\.\w+)`", page))


def protocols(path: Path) -> Iterator[str]:
    """The protocols that a file defines."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ClassDef):
            bases = {ast.unparse(base).partition("[")[0] for base in node.bases}
            if bases & {"Protocol", "typing.Protocol"}:
                yield node.name


def test_every_protocol_is_where_its_implementers_look() -> None:
    names_by_path = {path: list(protocols(path)) for path in sources()}
    named = {path.name for path, names in names_by_path.items() if names}
    assert named == {"protocols.py", "base.py", "matchers.py"}, {
        p: n for p, n in names_by_path.items() if n
    }


def test_every_capability_is_documented_and_checked() -> None:
    text = "\n".join(path.read_text("utf-8") for path in sources())
    capabilities = set(re.findall(r'"(\w+)" (?:not )?in [\w.]+\.capabilities\b', text))
    assert capabilities == set(re.findall(r'"(\w+)" \(', inspect.getdoc(Environment) or ""))
    page = (ROOT / "docs" / "environments.md").read_text("utf-8")
    table = page.partition("| capability | meaning |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == capabilities


@pytest.mark.process
def test_names_of_files_and_docstrings_keep_the_house_rules() -> None:
    ran = subprocess.run(
        [sys.executable, ROOT / "scripts" / "house.py", ROOT / "hisa"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, "")


def test_the_example_settings_are_the_defaults(tmp_path: Path) -> None:
    assert load(ROOT / "hisa.toml.example", environ={}) == Settings()


def test_compose_listens_on_loopback_and_has_health_checks_and_volumes() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
    for name in ("hisa", "hisa-paper", "bge-m3"):
        assert "ports" not in compose["services"].pop(name), "nothing in it listens"
    for name, service in compose["services"].items():
        assert all(port.startswith("127.0.0.1:") for port in service["ports"]), name
        assert service["healthcheck"]["test"], name
        assert service["volumes"], name


def test_container_gets_the_parts_of_the_wheel_and_the_named_options() -> None:
    steps = re.findall(r"^COPY (.+) \S+$", (ROOT / "Dockerfile").read_text("utf-8"), re.M)
    copied = {name for step in steps for name in step.split()}
    build = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]
    forced = {name.partition("/")[0] for name in build["targets"]["wheel"]["force-include"]}
    assert forced | {"hisa", "pyproject.toml", "README.md", "LICENSE"} <= copied
    lines = (ROOT / ".dockerignore").read_text("utf-8").split()
    let_in = {line[1:].partition("/")[0] for line in lines if line.startswith("!")}
    assert {name.partition("/")[0] for name in copied} == let_in
    service = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))["services"]["hisa"]
    assert service["cap_drop"] == ["ALL"]
    fix = why_refused(ROOT / "no-proc").fix
    for option in ("seccomp=unconfined", "systempaths=unconfined"):
        assert option in service["security_opt"]
        assert f"--security-opt {option}" in fix


@pytest.mark.process
def test_prompts_and_sops_travel_in_the_wheel(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("prompts", "patterns_db"):
        files = [path for path in (ROOT / folder).rglob("*") if path.is_file()]
        assert files
        for path in files:
            assert f"hisa/_data/{path.relative_to(ROOT)}" in names
    assert {"hisa/runs/report.html.j2", "hisa/plugins/gym/miniwob/episode.js"} <= names
    assert not any(name.startswith("tests/") for name in names)


def test_every_prompt_file_is_used_and_starts_with_its_job() -> None:
    text = "\n".join(path.read_text("utf-8") for path in sources())
    for path in (ROOT / "prompts").glob("*.md"):
        assert f'"{path.stem}"' in text, f"{path.name} is not used"
        assert path.read_text("utf-8").startswith("# ")


def test_a_commit_is_checked_by_the_tools_of_make_check() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    hooks = [hook["entry"] for repo in config["repos"] for hook in repo["hooks"]]
    recipe = (ROOT / "Makefile").read_text("utf-8").partition("\ncheck:")[2].partition("\n\n")[0]
    commands = [f".venv/bin/{command}" for command in re.findall(r"\$\(BIN\)/(.+)", recipe)]
    assert [command.removesuffix(" .") for command in commands] == [
        command.replace(" --force-exclude", "") for command in hooks
    ]


@pytest.mark.process
def test_the_makefile_explains_itself() -> None:
    ran = subprocess.run(["make", "-C", str(ROOT)], capture_output=True, text=True, check=True)
    for target in ("demo", "test", "check", "help"):
        assert f"make {target}" in ran.stdout

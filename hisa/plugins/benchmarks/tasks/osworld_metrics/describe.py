"""A script for any Python: which metrics OSWorld's package has there, and what each one needs.

It prints one JSON object and reads the package's files without running them: importing the package
would import everything it could ever need. A function needs the libraries that its own text and
what it calls name, and those that its file needs as soon as it is loaded.
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import json
import os
import sys

__all__ = ["main"]

_PACKAGE = "desktop_env.evaluators.metrics"
_RUNS_CODE = ("eval", "exec", "exec_module", "subprocess")
_BESIDES = {"lxml.cssselect": "cssselect"}
"""Libraries that a module needs beyond its own distribution."""


class _File:
    """The top level of one Python file: what each name is, and what runs when it is loaded."""

    def __init__(self, path: str) -> None:
        with open(path, encoding="utf-8") as source:
            tree = ast.parse(source.read())
        self.names: dict[str, list[tuple[str, str, ast.AST | None]]] = {}
        """Name to (file or library, name in it, code); a name may be bound more than once."""
        self.loaded: list[ast.AST] = []
        self.imports = {
            place
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for _, place, _ in _imported(node)
        }
        for node in tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                for name, place, inner in _imported(node):
                    self.names.setdefault(name, []).append((place, inner, None))
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                self.names[node.name] = [("", node.name, node)]
                self.loaded += node.decorator_list
            elif not _only_as_a_script(node):
                self.loaded.append(node)
                for part in ast.walk(node):
                    if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                        self.names.setdefault(part.id, []).append(("", part.id, node))


def _only_as_a_script(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.dump(node.test)


def _imported(node: ast.Import | ast.ImportFrom) -> list[tuple[str, str, str]]:
    """Name here, module (with a leading dot where it is a file beside this one), name there."""
    if isinstance(node, ast.Import):
        return [(a.asname or a.name.partition(".")[0], a.name, "") for a in node.names]
    module = node.module or ""
    if node.level or module.startswith(_PACKAGE):
        module = "." + module.removeprefix(_PACKAGE).lstrip(".")
    return [(a.asname or a.name, module, a.name) for a in node.names]


def _inside(node: ast.AST) -> list[ast.AST]:
    """The node and all below it, without annotations, which nothing needs when it runs."""
    found = [node]
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns"):
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, ast.AST):
                    found += _inside(part)
    return found


class _Needs:
    """What a function needs, followed through the files of the package."""

    def __init__(self, files: dict[str, _File]) -> None:
        self._files = files
        self._seen: set[tuple[str, str]] = set()
        self.libraries: set[str] = set()
        self.runs_code = False

    def name(self, file: str, name: str) -> None:
        """Add what ``name`` of ``file`` needs."""
        if (file, name) in self._seen or file not in self._files:
            return
        self._seen.add((file, name))
        for place, inner, code in self._files[file].names.get(name, ()):
            if code is not None:
                self._code(file, code)
            else:
                self._import(place, inner)

    def file(self, file: str) -> None:
        """Add what is needed as soon as ``file`` is loaded."""
        if (file, "") in self._seen or file not in self._files:
            return
        self._seen.add((file, ""))
        for node in self._files[file].loaded:
            self._code(file, node)
        for bound in self._files[file].names.values():
            for place, _, _ in bound:
                if place.startswith("."):
                    self.file(place[1:])

    def _import(self, place: str, inner: str) -> None:
        if place.startswith("."):
            self.file(place[1:])
            self.name(place[1:], inner)
            return
        self.runs_code = self.runs_code or place in _RUNS_CODE
        self.libraries.add(place.partition(".")[0])
        if place in _BESIDES:
            self.libraries.add(_BESIDES[place])

    def _code(self, file: str, code: ast.AST) -> None:
        for node in _inside(code):
            if isinstance(node, ast.Import | ast.ImportFrom):
                for _, place, inner in _imported(node):
                    self._import(place, inner)
            elif isinstance(node, ast.Name):
                self.runs_code = self.runs_code or node.id in _RUNS_CODE
                self.name(file, node.id)
            elif isinstance(node, ast.Attribute):
                self.runs_code = self.runs_code or node.attr in _RUNS_CODE


def _folder() -> str:
    """Returns the folder of the metrics; empty where the package is not installed."""
    found = importlib.util.find_spec("desktop_env")
    for place in (found.submodule_search_locations or ()) if found else ():
        folder = os.path.join(place, "evaluators", "metrics")
        if os.path.isfile(os.path.join(folder, "__init__.py")):
            return folder
    return ""


def _functions(files: dict[str, _File]) -> dict[str, object]:
    """Returns the package's metrics by name: file, libraries, and whether it runs code."""
    own = {*sys.stdlib_module_names, "desktop_env"}
    found: dict[str, object] = {}
    for name, bound in sorted(files["__init__"].names.items()):
        place = bound[-1][0].lstrip(".")
        if place in files:
            needs = _Needs(files)
            needs.file(place)
            needs.name(place, name)
            libraries = sorted(needs.libraries - own)
            found[name] = {"file": place, "needs": libraries, "runs_code": needs.runs_code}
    return found


def _named(files: dict[str, _File]) -> set[str]:
    """Every library that a file imports, at its top or inside a function."""
    places = {place for file in files.values() for place in file.imports}
    return {part for place in places for part in (place.partition(".")[0], _BESIDES.get(place, ""))}


def _version() -> str:
    try:
        return importlib.metadata.version("desktop-env")
    except importlib.metadata.PackageNotFoundError:
        return ""  # a checkout that was put on the path


def main(asked: list[str]) -> None:
    """Print what is here; ``asked`` are libraries to look for as well."""
    folder = _folder()
    about: dict[str, object] = {"folder": folder, "roots": [sys.prefix, sys.base_prefix]}
    libraries = set(asked)
    if folder:
        names = [name[:-3] for name in sorted(os.listdir(folder)) if name.endswith(".py")]
        files = {name: _File(os.path.join(folder, f"{name}.py")) for name in names}
        about["functions"] = _functions(files)
        about["version"] = _version()
        libraries |= _named(files) - {"", "desktop_env"}
    about["absent"] = [n for n in sorted(libraries) if importlib.util.find_spec(n) is None]
    sys.stdout.write(json.dumps(about))


if __name__ == "__main__":
    main(sys.argv[1:])

"""Lists what the house rules on names and docstrings forbid; prints nothing when all is well.

    python scripts/house.py [FOLDER] [--long]

At most 50 functions may be longer than 40 lines, without their docstrings; ``--long`` prints
them, the longest first.
Two files of the package must not share a name, but for those that every room has (``base.py``).
A docstring says what a function does, as an imperative or in the third person; "What is read",
"How many came" and "… comes back" leave the reader to find the verb.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

LONG, MOST_LONG = 40, 50
SHARED = frozenset(("__init__.py", "__main__.py", "base.py"))
BACKWARD = re.compile(r"^(What|How|Why|Where|Which|Under which|Is|Are|Was|Were|Has|Have)\b")
PASSIVE = re.compile(
    r"^((A|An|The|Each|Every|All|No) )?(\w+ ){1,2}(is|are|was|were|has been|have been) "
    r"(\w+ed|\w+en|made|put|read|set|kept|told|found|sent|said|held|cut|left|shown|done|had)\b"
)
IMPERATIVE = re.compile(r"^(See|Say|Tell|Keep|Score|Wait|Show|Do|Answer|Add|Take|List|Whether)\b")
COMES_BACK = re.compile(r"\b(comes?|came) back\b[^.]*\.?$")


def shared_names(root: Path) -> Iterator[str]:
    """One line for each file name that two folders have."""
    places = defaultdict(list)
    for path in sorted(root.rglob("*.py")):
        if path.name not in SHARED:
            places[path.name].append(str(path.parent))
    for name, folders in sorted(places.items()):
        if len(folders) > 1:
            yield f"{name}: {', '.join(folders)}"


def is_backward(sentence: str) -> bool:
    """Whether a function's first sentence hides what the function does."""
    passive = PASSIVE.search(sentence) and not IMPERATIVE.search(sentence)
    return bool(passive or BACKWARD.search(sentence) or COMES_BACK.search(sentence))


def backward_docstrings(root: Path) -> Iterator[str]:
    """One line for each function whose docstring begins in the passive or ends in "comes back"."""
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            text = ast.get_docstring(node) or ""
            sentence = re.split(r"(?<=\.)\s|\n\n", text, maxsplit=1)[0].replace("\n", " ")
            if is_backward(sentence):
                yield f"{path}:{node.lineno}: {sentence}"


def long_functions(root: Path) -> list[tuple[int, str]]:
    """Returns lines and place of each function that is too long, the longest first."""
    rows = []
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if ast.get_docstring(node) is not None:
                    docstring = node.body[0]
                    lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
                if lines > LONG:
                    rows.append((lines, f"{path}:{node.lineno}: {node.name}"))
    return sorted(rows, reverse=True)


def main() -> int:
    """Prints what is wrong; returns 1 where something is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("hisa"))
    parser.add_argument("--long", action="store_true", help=f"print functions over {LONG} lines")
    options = parser.parse_args()
    long = long_functions(options.folder)
    wrong = [*shared_names(options.folder), *backward_docstrings(options.folder)]
    if len(long) > MOST_LONG:
        wrong.append(f"{len(long)} functions are over {LONG} lines, at most {MOST_LONG} may be")
    for line in wrong:
        print(line)
    if options.long:
        print(f"{len(long)} functions over {LONG} lines (at most {MOST_LONG}):")
        for lines, place in long:
            print(f"  {lines:3} {place}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

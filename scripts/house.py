"""Lists what the house rules on names and docstrings forbid; prints nothing when all is well.

    python scripts/house.py [FOLDER]

Two files of the package must not share a name, but for those that every room has (``base.py``).
A docstring says what a function does, as an imperative or in the third person; "What is read",
"How many came" and "… comes back" leave the reader to find the verb.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

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


def main() -> int:
    """Prints what is wrong; returns 1 where something is."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else "hisa")
    wrong = [*shared_names(root), *backward_docstrings(root)]
    for line in wrong:
        print(line)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

"""The tools of each application beside ComputerRL's table 5, with what their tests say.

    python -m benchmarks.tool_table [--kit NAME …]

Runs the test module of each toolkit, which calls every function of it on the real application in a
private desktop and reads the result in another way; it takes some minutes.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter

from benchmarks.machine import machine
from hisa.tools.registry import discover

PAPER = {"code": 12, "browser": 11, "calc": 27, "impress": 22, "writer": 19, "vlc": 12}
"""ComputerRL, table 5: tools of an application; 103 in all."""
TESTS = {
    "calc": "test_calc",
    "writer": "test_writer_kit",
    "impress": "test_impress_kit",
    "browser": "test_browser_kit",
    "vlc": "test_vlc_kit",
    "code": "test_code_kit",
    "files": "test_files_kit",
}
"""The module under tests/plugins/toolkits that tests a toolkit."""


def run_tests(module: str) -> str:
    """Runs a test module; returns its last line."""
    path = f"tests/plugins/toolkits/{module}.py"
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", path],
        capture_output=True,
        text=True,
        check=False,
    )
    counts = re.findall(r"\d+ (?:passed|failed|skipped|error)", ran.stdout)
    return ", ".join(counts) or f"did not run (exit status {ran.returncode})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kit", action="append", choices=sorted(TESTS), help="only these")
    kits = parser.parse_args().kit or list(TESTS)
    counts = Counter(tool.kit for tool in discover()[0])
    print(f"tools by application ({machine()})\n")
    print(
        "| toolkit | table 5 | tools here | its tests, on the real application |\n|---|---|---|---|"
    )
    results: dict[str, str] = {}
    for kit in kits:
        module = TESTS[kit]
        if module not in results:
            results[module] = run_tests(module)
        print(
            f"| `{kit}` | {PAPER.get(kit, '–')} | {counts[kit]} | {results[module]} |", flush=True
        )
    print(f"\n{sum(counts[kit] for kit in kits)} tools; table 5 has {sum(PAPER.values())} in six")
    return int(any("failed" in line or "not run" in line for line in results.values()))


if __name__ == "__main__":
    sys.exit(main())

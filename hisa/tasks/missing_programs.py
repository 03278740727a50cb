"""Suggests what to do about a program that a machine does not have."""

from __future__ import annotations

import re

__all__ = ["fix_for", "fix_from_output", "missing_program"]


def missing_program(output: str) -> str:
    """Returns the program that a shell's output says it could not find; empty if it names none."""
    match = re.search(r"([^\s:']+): (?:command )?not found", output)
    return match[1] if match else ""


def fix_for(program: str) -> str:
    """Returns the fix to suggest for a program that is not on the machine."""
    if not program:
        return "use a machine that has this program"
    return f"install the package of {program!r} on the machine, or use a machine that has it"


def fix_from_output(output: str) -> str:
    """Returns the fix for a program that a shell could not find; empty if it names none."""
    program = missing_program(output)
    return fix_for(program) if program else ""

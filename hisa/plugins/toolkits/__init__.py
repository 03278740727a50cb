"""Tools of applications and subjects, announced by entry points like those of any plug-in."""

from hisa.machine.plugins import Command

__all__ = ["ACCEPT", "BUILD", "CHECK", "NEW", "RUN"]

BUILD = Command(
    "hisa.plugins.toolkits.tools_build:build_tools",
    "Let a model write tools for APP, the application's window class in lower case.",
)
ACCEPT = Command(
    "hisa.plugins.toolkits.tools_build:accept_tools",
    'Make a package of the tools that passed in DIR, a review folder from "hisa tools build".',
)
NEW = Command(
    "hisa.plugins.toolkits.tools_new:new_tool",
    "Write a small package with a tool called NAME, and print the next steps.",
)
CHECK = Command(
    "hisa.plugins.toolkits.tools_check:check_tools",
    "Check what models read about tools: names, first lines, types, examples, needs and effects.",
)
RUN = Command(
    "hisa.plugins.toolkits.tools_run:run_tool",
    "Call a tool, on a fresh private desktop if it needs a machine.",
)

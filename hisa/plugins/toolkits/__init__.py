"""Tools of applications and subjects, announced by entry points like any plug-in's."""

from hisa.machine.plugins import Command

__all__ = ["ACCEPT", "BUILD", "CHECK", "NEW", "RUN"]

BUILD = Command(
    "hisa.plugins.toolkits.tools_build:build_tools",
    "Let a model write tools for APP, the class of the application's windows in small letters.",
)
ACCEPT = Command(
    "hisa.plugins.toolkits.tools_build:accept_tools",
    'Make a package of what passed in DIR, a review folder that "hisa tools build" wrote.',
)
NEW = Command(
    "hisa.plugins.toolkits.tools_new:new_tool",
    "Write a small package with a tool of that NAME, and say what to do next.",
)
CHECK = Command(
    "hisa.plugins.toolkits.tools_check:check_tools",
    "Check what models read of tools: names, first lines, types, examples, needs and effects.",
)
RUN = Command(
    "hisa.plugins.toolkits.tools_run:run_tool",
    "Call a tool, on a fresh private desktop if it needs a machine.",
)

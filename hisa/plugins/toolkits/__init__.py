"""Tools of applications and subjects, announced by entry points like any plug-in's."""

from hisa.machine.plugins import Command

__all__ = ["ACCEPT", "BUILD"]

BUILD = Command(
    "hisa.plugins.toolkits.tools_build:build_tools",
    "Let a model write tools for APP, the class of the application's windows in small letters.",
)
ACCEPT = Command(
    "hisa.plugins.toolkits.tools_build:accept_tools",
    'Make a package of what passed in DIR, a review folder that "hisa tools build" wrote.',
)

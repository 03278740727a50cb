"""Tools of applications and subjects, announced by entry points like any plug-in's."""

#!/bin/sh
# Tells one property of the root window: which window is active, the last of those listed.
[ "$*" = "-root _NET_ACTIVE_WINDOW" ] || { echo "xprop: only -root _NET_ACTIVE_WINDOW" >&2; exit 1; }
front=$(tail -n 1 "$(dirname "$0")/windows" | cut -d'|' -f1)
echo "_NET_ACTIVE_WINDOW(WINDOW): window id # ${front:-0x0}"

#!/bin/sh
# Visual Studio Code's window: Chromium with the flags that it has on this machine.
CHROMIUM_FLAGS=
for file in /etc/chromium.d/*; do
    [ "${file##*/}" = README ] || . "$file"
done
# shellcheck disable=SC2086
exec /usr/share/code/code $CHROMIUM_FLAGS "$@"

#!/bin/sh
# Starts what the desktop has beside its window manager: a panel, and sound that nobody hears.
# Tasks turn the volume up or down, so it begins at neither end.
pulseaudio -n --daemonize=no --exit-idle-time=-1 --disable-shm=true \
    --load=module-native-protocol-unix --load='module-null-sink sink_name=silence' \
    >/dev/null 2>&1 &
(
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        pactl set-sink-volume silence 40% >/dev/null 2>&1 && break
        sleep 0.5
    done
) &
exec xfce4-panel --disable-wm-check >/dev/null 2>&1

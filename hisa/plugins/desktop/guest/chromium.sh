# Read at each start of Chromium, whoever starts it: pages tell their elements, no page of a first
# run stands before the one that was asked for, and nothing is drawn by a GPU that is not there.
CHROMIUM_FLAGS="$CHROMIUM_FLAGS --force-renderer-accessibility --no-first-run --disable-gpu"
CHROMIUM_FLAGS="$CHROMIUM_FLAGS --no-default-browser-check --password-store=basic"
# Nobody signs in: the account's button changes its name 20 s after a start, as if a step had.
CHROMIUM_FLAGS="$CHROMIUM_FLAGS --allow-browser-signin=false"
# On an emulated processor the process of its own that the network has dies, and no page comes up.
if [ "$(systemd-detect-virt --vm 2>/dev/null)" = qemu ]; then
    CHROMIUM_FLAGS="$CHROMIUM_FLAGS --enable-features=NetworkServiceInProcess2"
fi
# Tools reach the browser by its DevTools port. Only this machine's own loopback has it, Chromium
# refuses it to every page (they say their origin), and a port in the command line takes its place,
# such as OSWorld's 1337. A fixed one, since pages are told of automation where it is 0.
CHROMIUM_FLAGS="$CHROMIUM_FLAGS --remote-debugging-port=1336"
# A tab is called by its page, and not by its memory too, which changes by itself.
profile="${XDG_CONFIG_HOME:-$HOME/.config}/chromium"
for word in "$@"; do
    case "$word" in --user-data-dir=*) profile="${word#*=}" ;; esac
done
[ -e "$profile/Local State" ] || { mkdir -p "$profile" &&
    echo '{"browser": {"hovercard": {"memory_usage_enabled": false}}}' \
        > "$profile/Local State"; } 2>/dev/null
export CHROMIUM_FLAGS

# Read at each start of Chromium, whoever starts it: pages tell their elements, no page of a first
# run stands before the one that was asked for, and nothing is drawn by a GPU that is not there.
CHROMIUM_FLAGS="$CHROMIUM_FLAGS --force-renderer-accessibility --no-first-run --disable-gpu"
CHROMIUM_FLAGS="$CHROMIUM_FLAGS --no-default-browser-check --password-store=basic"
# On an emulated processor the process of its own that the network has dies, and no page comes up.
if [ "$(systemd-detect-virt --vm 2>/dev/null)" = qemu ]; then
    CHROMIUM_FLAGS="$CHROMIUM_FLAGS --enable-features=NetworkServiceInProcess2"
fi
export CHROMIUM_FLAGS

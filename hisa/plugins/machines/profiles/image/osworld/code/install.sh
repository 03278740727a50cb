#!/bin/sh
# Runs once inside the new system, as its root: puts Visual Studio Code's open build in its place.
set -eu
code=/usr/share/code
server=$code/node_modules/code-server/lib/vscode
chown -R root:root "$code"
chmod -R a+rX,go-w "$code"
chmod 0755 "$code/visual_studio_code.py" "$code/window.sh" "$code/code-server"

# What was not compiled: Debian's own looks into files, a terminal's half comes from another package.
mkdir -p "$server/node_modules/@vscode/ripgrep/bin"
ln -s /usr/bin/rg "$server/node_modules/@vscode/ripgrep/bin/rg"
rm -rf "$server/node_modules/node-pty"
ln -s "$code/node_modules/@lydell/node-pty" "$server/node_modules/node-pty"
mv "$code/spdlog.js" "$server/node_modules/@vscode/spdlog/index.js"
ln -s node_modules "$server/node_modules.asar"
ln -s /usr/local/bin/google-chrome "$server/bin/helpers/browser.sh"
python3 "$code/place.py" "$code"
rm "$code/place.py" "$code/defaults.json"

# The window is Chromium's under another name, so that what ends browsers by theirs spares it.
for part in /usr/lib/chromium/*; do
    [ "$part" = /usr/lib/chromium/chromium ] || ln -s "$part" "$code/"
done
ln /usr/lib/chromium/chromium "$code/code"

for home in /etc/skel /home/user; do
    mkdir -p "$home/.config/Code/User" "$home/.vscode/extensions"
done
chown -R user:user /home/user/.config /home/user/.vscode

#!/bin/sh
# Installs the wheel in an empty Debian and runs it there, as a user who has nothing else: builds the
# wheel, makes a tree of Debian's smallest set of packages, enters it as a container is entered, and
# follows what HiSA says until a first run works. Needs root, mmdebstrap and the internet; takes about
# ten minutes, most of it packages. What the tree was made of stays in the folder.
#
#   sudo scripts/bare.sh [FOLDER] [SUITE]
set -eu
[ "$(id -u)" -eq 0 ] || { echo "bare: this needs root" >&2; exit 2; }
command -v mmdebstrap >/dev/null || { echo "bare: no mmdebstrap; try: hisa install vm" >&2; exit 2; }
folder=${1:-$(mktemp -d)}
suite=${2:-bookworm}
tree=$folder/tree
source=$(dirname "$(dirname "$(realpath "$0")")")
mkdir -p "$folder/wheels"

python3 -m pip wheel --quiet --no-deps --wheel-dir "$folder/wheels" "$source"
[ -d "$tree/etc" ] || mmdebstrap --variant=minbase --include=python3,python3-venv,ca-certificates \
    "$suite" "$tree"
# What belongs to the network and not to the system: names, certificates, where packages come from.
cp /etc/resolv.conf "$tree/etc/"
cp -a /etc/ssl/certs/. "$tree/etc/ssl/certs/"
mkdir -p "$tree/wheels"
cp "$folder"/wheels/*.whl "$tree/wheels/"
cat >"$tree/wheels/first.sh" <<'END'
set -eu
cd
[ -d v ] || python3 -m venv v
v/bin/pip install --quiet --force-reinstall --no-deps /wheels/*.whl
v/bin/pip install --quiet --disable-pip-version-check /wheels/*.whl
PATH=$HOME/v/bin:$PATH
task='Open the text editor. Type "hello". Save the file as "hi.txt".'
follow() { # What a failed run tells to do is done, as it is told.
    told=$(sed -n 's/^  try: \(hisa install [a-z]*\).*/\1/p' said | head -n 1)
    [ -n "$told" ] || { cat said; exit 1; }
    echo "bare: $told"
    $told
}
for _ in 1 2 3 4; do
    if hisa run "$task" --fetch '~/hi.txt' >said 2>&1; then
        tail -n 12 said
        hisa runs report
        hisa patterns search 'save a file'
        exit 0
    fi
    follow
done
cat said
exit 1
END
export tree
as() { # As in a container: the tree is the root of everything, in namespaces of its own.
    unshare --mount --pid --fork --uts --ipc --kill-child sh -euc '
        mount --make-rprivate /
        mount --bind "$tree" "$tree"
        cd "$tree"
        mount -t proc proc proc
        mount --rbind /dev dev
        mount --rbind /sys sys
        mount -t tmpfs tmpfs run
        mkdir -p old
        pivot_root . old
        umount -l /old
        exec env -i TERM=dumb LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin su "$0" -c "$1"
    ' "$@"
}
as root 'sh /wheels/first.sh'
as root 'id anna >/dev/null 2>&1 || useradd --create-home anna'
as anna 'sh /wheels/first.sh'
echo "bare: a first run works as root and as an ordinary user; the tree is in $folder"

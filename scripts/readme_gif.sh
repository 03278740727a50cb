#!/usr/bin/env bash
# Runs an example on a private desktop and writes the run as docs/run.gif, the README's picture.
set -euo pipefail
cd "$(dirname "$0")/.."
hisa=$PWD/${HISA:-.venv/bin/hisa}
picture=$PWD/docs/run.gif task=$PWD/examples/packing_list.yaml
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export HISA_PATTERNS__PATH=$folder/patterns
"$hisa" run "$task"
"$hisa" runs video -o "$picture"
size=$(stat -c %s "$picture")
echo "$picture: $size bytes"
[ "$size" -le 1000000 ] || { echo "larger than 1 MB" >&2; exit 1; }

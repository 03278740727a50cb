#!/usr/bin/env bash
# Two related tasks on a private desktop: the second one uses what the first one taught.
set -euo pipefail
cd "$(dirname "$0")/.."
hisa=${HISA:-.venv/bin/hisa}

echo "== First task: examples/shopping_list.yaml"
"$hisa" run examples/shopping_list.yaml
echo
echo "== A task of the same family: examples/packing_list.yaml"
"$hisa" run examples/packing_list.yaml
echo
echo "== What was learned"
"$hisa" patterns ls --domain text_editor
echo
echo "Look further:  $hisa runs ls   |   $hisa runs show   |   $hisa patterns search \"save a file\""

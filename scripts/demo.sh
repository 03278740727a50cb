#!/usr/bin/env bash
# Two related tasks on a private desktop: the first one has to search, and the second one is told
# where. A run that sees no way fail teaches nothing, so what is shown here is seen and not assumed.
set -euo pipefail
cd "$(dirname "$0")/.."
hisa=${HISA:-.venv/bin/hisa}

echo "== First task: examples/guest_list.yaml"
"$hisa" run examples/guest_list.yaml
echo
echo "== A task of the same family: examples/packing_list.yaml"
"$hisa" run examples/packing_list.yaml
echo
echo "== What was learned, and whether a run used it"
"$hisa" patterns ls --domain text_editor
echo
echo "Look further:  $hisa runs ls   |   $hisa runs show   |   $hisa patterns search \"wrap the lines\""

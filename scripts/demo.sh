#!/usr/bin/env bash
# Two related tasks on a private desktop: the first one has to search, and the second one is told
# where. A run that sees no way fail teaches nothing, so what is shown here is seen and not assumed.
set -euo pipefail
cd "$(dirname "$0")/.."
hisa=${HISA:-.venv/bin/hisa}

# The first act is the first event of its kind in the log of the newest run.
say_first_act() {
    log=$(ls -1dt runs/*/events.jsonl 2>/dev/null | head -n 1 || true)
    acted=$(grep -s -m 1 '"type":"acted"' "$log" | grep -o '"at":[0-9.]*' | head -n 1 || true)
    if [ -n "$acted" ]; then
        awk -v begun="$1" -v acted="${acted#*:}" \
            'BEGIN { printf "(first act %.1f s after the command began)\n", acted - begun }'
    fi
}

echo "== First task: examples/guest_list.yaml"
begun=$(date +%s.%N)
"$hisa" run examples/guest_list.yaml
say_first_act "$begun"
echo
echo "== A task of the same family: examples/packing_list.yaml"
"$hisa" run examples/packing_list.yaml
echo
echo "== What was learned, and whether a run used it"
"$hisa" patterns ls --domain text_editor
echo
cat <<END
The command is $hisa; this puts it on the path of this terminal:
    . $(cd "$(dirname "$hisa")" && pwd)/activate
Look further:
    hisa runs report --open
    hisa patterns search "wrap the lines"
    hisa run 'Open the text editor. Type "hello". Save the file as "hi.txt".' --fetch '~/hi.txt'
    hisa doctor
END

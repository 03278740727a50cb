#!/bin/sh
# Writes constraints.txt: the exact versions that a Python environment holds, without HiSA itself.
# Install with them by: pip install -c constraints.txt hisa-agent
set -eu
python="$1"
{
    echo "# Versions that the tests ran with, written by: make constraints"
    "$python" -m pip freeze --exclude-editable --exclude hisa-agent | grep '==' | LC_ALL=C sort -f
} >constraints.txt.new
mv constraints.txt.new constraints.txt
echo "constraints.txt: $(grep -c == constraints.txt) packages"

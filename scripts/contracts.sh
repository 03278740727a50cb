#!/bin/sh
# Makes FOLDER/bin/python with the classes of OpenEnv and of Harbor, by which the tests of exports
# are judged (make test-contracts). Harbor wants Python 3.12: PYTHON312, else the path's, else pyenv's.
set -eu
folder=${1:-build/contracts}
python=${PYTHON312:-}
for each in python3.12 python3.13 "$HOME"/.pyenv/versions/3.12.*/bin/python; do
  [ -n "$python" ] && break
  "$each" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null && python=$each
done
if [ -z "$python" ]; then
  echo "no Python 3.12: set PYTHON312=/path/to/python3.12" >&2
  exit 3
fi
"$python" -m venv "$folder"
# What OpenEnv imports at its start; its web front end and the rest of Harbor are left out.
"$folder/bin/pip" install --quiet fastapi uvicorn httpx websockets requests openai 'fastmcp<4' pydantic
"$folder/bin/pip" install --quiet --no-deps openenv==0.10.0 harbor==0.26.0

#!/bin/sh
# Put GPT-4's vocabulary, for counting tokens, into a folder: vocabularies.sh PYTHON FOLDER
# It comes with a package, which is unpacked and never imported.
set -eu
python=$1 folder=$2
pip() { "$python" -m pip "$@"; }
pip install --quiet --disable-pip-version-check --no-warn-conflicts tiktoken
pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --dest "$folder" litellm==1.80.0
"$python" -m zipfile -e "$folder"/litellm-*.whl "$folder"/litellm

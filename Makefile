PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/pip install --quiet --constraint constraints.txt

.PHONY: demo quick test web wheel docs pages evidence bench clean
.NOTPARALLEL:

# The two commands: `make demo` shows what LASS does, `make test` checks everything.

demo: $(VENV)/demo web
	$(BIN)/python examples/demo.py
	$(BIN)/lass demo out/debian-packages

test: $(VENV)/test web
	$(checks)
	$(BIN)/pytest -n 2 --dist worksteal # by file would drop tests that share a name

# the loop while working: no torch, Ray, Node or browser needed
quick: $(VENV)/quick
	$(checks)
	$(BIN)/pytest -q -n 2 --dist worksteal -m "not slow" --doctest-ignore-import-errors

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
	$(BIN)/sphinx-build -W --keep-going -q -b html docs out/docs

# what is made from benchmarks/results and from the imports
pages: $(VENV)/quick
	$(BIN)/python scripts/make_benchmark_pages.py
	$(BIN)/python scripts/draw_imports.py

# the pages of the Studio, which go into the package
web: $(VENV)/demo
	$(BIN)/python scripts/build_web.py

wheel: web
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .

bench: $(VENV)/bench
	$(BIN)/python benchmarks/solvers.py --resume
	$(BIN)/python benchmarks/growth.py --million
	$(BIN)/python benchmarks/update.py
	$(BIN)/python benchmarks/graphs.py
	$(BIN)/python benchmarks/mapping.py
	$(BIN)/python benchmarks/few_labels.py --resume
	$(BIN)/python benchmarks/estimator.py
	$(BIN)/python benchmarks/active.py
	$(BIN)/python benchmarks/suggestions.py --resume
	$(BIN)/python benchmarks/many.py
	$(BIN)/python benchmarks/clustering.py
	$(BIN)/python benchmarks/segmentation.py
	$(BIN)/python benchmarks/studio.py
	$(BIN)/python benchmarks/tags.py --sets debian corel5k lastfm delicious
	$(BIN)/python benchmarks/why_our_own.py

# One environment, filled as far as a command needs it.

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo: $(BIN)/python pyproject.toml constraints.txt
	$(INSTALL) --no-compile --editable ".[studio,files,plot]"
	touch $@

$(VENV)/quick: $(VENV)/pip
	$(INSTALL) --group quick --editable ".[studio,files,plot,graph]"
	touch $(VENV)/demo $@

$(VENV)/test: $(VENV)/pip
	$(INSTALL) --group test --editable ".[studio,files,plot,graph,gpu,ray]"
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

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test web wheel docs evidence bench clean

# The two commands: `make demo` shows what LASS does, `make test` checks everything.

demo: $(VENV)/ready web
	$(BIN)/python examples/demo.py
	$(BIN)/lass demo out/debian-packages

test: $(VENV)/ready web
	$(BIN)/ruff check src tests benchmarks examples scripts
	$(BIN)/ruff format --check src tests benchmarks examples scripts
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist worksteal # by file would drop tests that share a name

# every experiment of the paper; DATA names the folder of the data sets
DATA ?= data
evidence: $(VENV)/ready
	$(BIN)/lass reproduce all --data $(DATA) --out out/evidence
	cp out/evidence/evidence.md docs/evidence.md
	mkdir -p docs/pictures && cp out/evidence/pictures/*.png docs/pictures/

docs: $(VENV)/docs
	$(BIN)/sphinx-build -W --keep-going -q -b html docs out/docs

# the pages of the Studio, which go into the package
web: $(VENV)/ready
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

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/ready: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/pip install --quiet --constraint constraints.txt --group test --editable ".[plot,graph,files,studio,gpu,ray]"
	touch $@

$(VENV)/bench: $(VENV)/ready
	$(BIN)/pip install --quiet --constraint constraints.txt --group bench
	touch $@

$(VENV)/docs: $(VENV)/ready
	$(BIN)/pip install --quiet --constraint constraints.txt --group docs
	touch $@

clean:
	rm -rf $(VENV) build dist out web/node_modules src/lass/studio/static .pytest_cache .mypy_cache .ruff_cache

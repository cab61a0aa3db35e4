# The only entry point: people, CI and the documentation call these targets and nothing else.
PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin
PACKAGES := $(foreach place,$(PIP_FIND_LINKS),--find-links "$(place)")
CHAPTERS := $(sort $(wildcard chapters/*.ipynb))
ASSIGNMENTS := $(sort $(wildcard assignments/source/*.ipynb))
SITE := _build/html
export TQDM_DISABLE := 1
.PHONY: setup serve book test rehearse notebooks bench clean

setup: .venv/ready                      ## everything pinned, in .venv
	@.ci/system

.venv/ready: requirements.txt overrides.txt pyproject.toml src/booktools/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "The book needs Python 3.11 or newer; try: make PYTHON=python3.12 setup")'
	test -x $(BIN)/uv || { $(PYTHON) -m venv .venv && $(BIN)/pip install -q "$$(grep ^uv== requirements.txt)"; }
	$(BIN)/uv pip install -q --python $(BIN)/python $(PACKAGES) -r requirements.txt --overrides overrides.txt
	$(BIN)/uv pip install -q --python $(BIN)/python --no-deps --no-build-isolation -e . -e src/booktools
	@touch $@

book: setup                             ## the site, in _build/html; a warning is an error
	$(BIN)/attnbook address
	rm -rf _build # Sphinx does not notice what changed in theme/
	$(BIN)/jupyter-book build -W -n --keep-going -q .
	$(BIN)/attnbook site $(SITE)

serve: book                             ## the book in your browser
	@echo "The book is at http://127.0.0.1:$(PORT)/  (Ctrl-C stops it)"
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory $(SITE) $(PORT)

test: book                              ## lint, units, notebooks as stored, the site in a browser
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	CUDA_VISIBLE_DEVICES= OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/pytest -q -n 2 --dist loadfile --no-loadscope-reorder --nbval tests/widgets tests/site $(CHAPTERS) tests $(ASSIGNMENTS) src # the longest first
	$(BIN)/pytest -q tests/library/elsewhere # it makes a device, and that changes a whole process
	$(if $(shell command -v nvidia-smi),$(BIN)/pytest -q -m gpu tests)

rehearse: book                          ## every Colab notebook, on what Colab has
	$(BIN)/attnbook rehearse $(SITE) $(REHEARSE)
	$(BIN)/pytest -q tests/colab/rehearsal

notebooks: setup                        ## run chapters and assignments and store what they print
	$(BIN)/attnbook run $(CHAPTERS) $(ASSIGNMENTS)

bench: setup                            ## ours against its peers, as ratios
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.run

clean:                                  ## back to a fresh checkout
	rm -rf .venv _build .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

# The only entry point: people, CI and the documentation call these targets and nothing else.
PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin
CHAPTERS := $(sort $(wildcard chapters/*.ipynb))
PAGES := $(wildcard *.ipynb) # pages beside the chapters that compute
ASSIGNMENTS := $(sort $(wildcard assignments/source/*.ipynb))
SITE := _build/html
LONGEST := tests/site tests/grading tests/directives tests/widgets
WHOLE := --dist loadfile --no-loadscope-reorder --nbval $(LONGEST) $(CHAPTERS) $(PAGES) $(filter-out $(LONGEST) tests/lab,$(patsubst %/,%,$(wildcard tests/*/))) $(ASSIGNMENTS) # the longest first, none named twice
PYTEST := CUDA_VISIBLE_DEVICES= OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m pytest -q
QUICKLY := -n auto --maxprocesses 4 # one for each core, since each first reads all tests
MEMORY := -p tests.proven.plugin --memory _build/proven.json $(if $(FRESH),--afresh) # what was green and has not changed is left out, but for FRESH=1
LOWEST := _build/lowest
PATIENTLY := -n 3 --max-worker-restart 3 -p tests.second_try # three at once on two cores, since a test in a browser waits half of its time
ifeq ($(origin LANGUAGE),command line)
export ATTNBOOK_LANGUAGE := $(LANGUAGE)
SITE := _build/html/$(LANGUAGE)
endif
unexport PYTHONDONTWRITEBYTECODE # a module is compiled once, and not by every process again
.PHONY: help setup programs check lint quick dev serve book site pdf epub zip slides lab test slow devices ci processors rehearse notebooks bench gpu links lighthouse firefox versions release clean

help:                                   ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 12

setup: .venv/ready programs             ## everything pinned, in .venv; and the programs that tests and grading need

programs: .venv/ready
	@.ci/system

.venv/ready: requirements.txt overrides.txt pyproject.toml src/booktools/pyproject.toml src/grading/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "The book needs Python 3.11 or newer; try: make PYTHON=python3.12 setup")'
	@test -x $(BIN)/uv || { $(PYTHON) -m venv .venv && $(BIN)/pip install -q "$$(grep ^uv== requirements.txt)"; }
	@echo "Installing Python packages into .venv. The first time this takes a few minutes."
	@.ci/packages
	@touch $@

book: .venv/ready                       ## the site's pages, in _build/html; for LANGUAGE=zh only those in Chinese, with all that is begun
	$(BIN)/attnbook address
	$(BIN)/attnbook book $(SITE)

site: pdf epub slides zip               ## the site as it is published: its pages, and beside them PDF, EPUB, slides and zip

pdf: book programs                      ## the book once more as PDF, beside its pages
	$(BIN)/attnbook pdf $(SITE)

epub: book programs                     ## and as EPUB
	$(BIN)/attnbook epub $(SITE)

slides: book programs                   ## and its decks of slides as PDF: a slide a page, with notes, as a handout
	$(BIN)/attnbook slides $(SITE)

zip: book                               ## and packed, to be read where there is no network
	$(BIN)/attnbook zip $(SITE)

dev: .venv/ready                        ## the book while you write it: rebuilt and shown again when a file is saved
	@test -f $(SITE)/index.html || $(MAKE) book
	@$(BIN)/attnbook dev $(SITE) --port $(PORT)

serve: book                             ## the book in your browser
	@echo "The book is at http://127.0.0.1:$(PORT)/  (Ctrl-C stops it)"
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory $(SITE) $(PORT)

check: .venv/ready                      ## what one runs all day: lint, types, the quick tests; no book is built
	@$(MAKE) --no-print-directory -j 2 quick lint

quick: .venv/ready
	$(PYTEST) $(QUICKLY) -m "not slow" src tests

lint: .venv/ready                       ## format, lint and types, as pre-commit runs them
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/oxlint --deny-warnings src
	$(BIN)/oxfmt --check src
	$(BIN)/pyrefly check --summary=none
	$(BIN)/attnbook address --check

# In a container: make lab LAB="--ip=0.0.0.0 --no-browser"
lab: .venv/ready                        ## the chapters in your own JupyterLab; what you change stays, in lab/
	@$(BIN)/attnbook lab lab
	@JUPYTER_CONFIG_PATH="$(CURDIR)/src/booktools/jupyter$${JUPYTER_CONFIG_PATH:+:$$JUPYTER_CONFIG_PATH}" $(BIN)/jupyter lab lab --allow-root --port $(PORT) $(LAB)

test: check slow                        ## everything: code, notebooks, the site in a browser; FRESH=1 forgets what was green

slow: setup                             ## what check leaves out: the site in a browser, notebooks as stored, the grader
	@$(MAKE) --no-print-directory -j 2 book devices
	$(PYTEST) $(PATIENTLY) $(MEMORY) -m slow $(WHOLE)

ci: test processors rehearse            ## what CI runs

devices: .venv/ready                    ## what changes a whole process: a device that only pretends; a GPU, if any
	$(BIN)/pytest -q tests/library/elsewhere
	$(if $(shell command -v nvidia-smi),CUDA_LAUNCH_BLOCKING=1 $(BIN)/python -m pytest -q -m gpu tests)

processors: .venv/ready                 ## every notebook, as other processors run it
	$(BIN)/attnbook processors $(CHAPTERS) $(PAGES) $(ASSIGNMENTS)
	$(PYTEST) $(PATIENTLY) tests/chapters/processors

rehearse: book programs                 ## every Colab notebook, on what Colab has; every file to take along, without the book
	$(BIN)/attnbook rehearse $(SITE) $(REHEARSE)
	$(BIN)/pytest -q tests/colab/rehearsal
	$(PYTEST) $(PATIENTLY) tests/chapters/alone

notebooks: .venv/ready                  ## run chapters and assignments and store what they print
	$(BIN)/attnbook run $(CHAPTERS) $(PAGES) $(ASSIGNMENTS)

bench: .venv/ready                      ## ours against its peers, as ratios
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.run

gpu: .venv/ready                        ## on a GPU: its tests, every notebook, and ours against its peers
	@$(BIN)/python -c 'import sys, torch; sys.exit(not torch.cuda.is_available() and "PyTorch finds no CUDA device here. Is there one? Then make clean setup takes the build for it.")'
	CUDA_LAUNCH_BLOCKING=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --maxprocesses 8 -m gpu tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --maxprocesses 8 --dist loadfile --nbval-lax $(CHAPTERS) $(PAGES) $(ASSIGNMENTS)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.run gpu

links: .venv/ready                      ## follow what leads out of the book, where there is a network
	$(BIN)/attnbook links

lighthouse: book                       ## what Lighthouse says of four pages, where npm is at hand
	$(BIN)/python -m booktools.make.site.lighthouse $(SITE)

firefox: book                          ## every page with widgets in Firefox, where one is installed
	$(BIN)/python -m booktools.make.site.firefox $(SITE)

versions: .venv/ready                   ## the library's quick tests on the lowest versions that it states; some gigabytes
	$(BIN)/uv venv -q --clear --python 3.11 $(LOWEST)
	$(BIN)/uv pip compile -q --python-version 3.11 --resolution lowest-direct --extra book -o $(LOWEST)/lowest.txt pyproject.toml
	$(BIN)/uv pip install -q --python $(LOWEST) -r $(LOWEST)/lowest.txt -e . -e src/booktools beautifulsoup4 hatchling hypothesis nbval pandas psutil pytest pytest-xdist scipy
	$(BIN)/uv pip install -q --python $(LOWEST) --no-deps $$(grep -o "^d2l==[0-9.]*" requirements.txt)
	$(subst .venv,$(LOWEST),$(PYTEST)) $(QUICKLY) -m "not slow" src/attnbook tests/library

release: .venv/ready                    ## the package for PyPI, in _build/package, made and looked through; you upload it
	@! grep -q "/OWNER/" _config.yml || { echo "PyPI would link to nobody: write your address into _config.yml, and run make book."; exit 1; }
	$(BIN)/attnbook address --check
	rm -rf _build/package
	$(BIN)/uv build -q --no-build-isolation --python $(BIN)/python --out-dir _build/package
	$(BIN)/uvx -q twine check --strict _build/package/*.whl _build/package/*.tar.gz

clean:                                  ## back to a fresh checkout
	rm -rf .venv _build .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

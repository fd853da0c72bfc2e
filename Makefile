# A thin front: `reprise` does the work (`.venv/bin/reprise --help`). GNU make, any POSIX shell.
PYTHON ?= python3
SHELL := /bin/sh
BIN := .venv/bin
REPRISE := $(BIN)/reprise
export C P E WHY PART TITLE  # the recipes read them as shell variables, so that quotes stay quotes
need-C = @test -n "$$C" || { echo "which chapter? make $@ C=fsgdm" >&2; exit 2; }

.DEFAULT_GOAL := help
.PHONY: help setup book pdf test lint chapter try full verify accept status lab new bench serve assets clean

help:  ## list these commands
	@awk -F':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' Makefile

setup:  ## create .venv and install the requirements under the lock (the others do it too)
	@$(PYTHON) scripts/environment.py

book: setup  ## make the book: run stale chapters (quick), leave the site in _build/html
	@$(REPRISE) book

pdf: setup  ## make the book and print it to _build/reprise.pdf (needs Chromium)
	@$(REPRISE) pdf

test: setup lint  ## lint and unit tests
	@$(REPRISE) assets --fetch --for tests
	@$(BIN)/python -m pytest -n auto --dist loadgroup $(TESTS)

lint: setup
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check --quiet || { echo "run .venv/bin/ruff format" >&2; exit 1; }

chapter: setup  ## run one chapter alone, fresh: C=fsgdm
	$(need-C)
	@$(REPRISE) run "$$C" --fresh

try: setup  ## one chapter with changed parameters: C=fsgdm P="n_seeds=3 c=0.1"
	$(need-C)
	@set -f; $(REPRISE) try "$$C" $$P

full: setup  ## one chapter's full profile, or one experiment of it: C=fsgdm [E=e3]
	$(need-C)
	@$(REPRISE) full "$$C" $(if $(E),--experiment "$$E")

verify: setup  ## compare fresh quick results with the stored reference
	@$(REPRISE) verify

accept: setup  ## take fresh quick results as the new reference: C=fsgdm WHY="..."
	$(need-C)
	@$(REPRISE) accept "$$C" --why "$$WHY"

status: setup  ## each chapter: stale or fresh and why, verdicts, stored results, time and memory
	@$(REPRISE) status

lab: setup  ## JupyterLab; a chapter opens as a notebook and saves back to its .md
	@$(REPRISE) lab

new: setup  ## scaffold a chapter: C=slug PART=privacy TITLE="..."
	$(need-C)
	@$(REPRISE) new "$$C" --part "$$PART" --title "$$TITLE"

bench: setup  ## our code against its peers, one table: [C=fsgdm]
	@$(REPRISE) bench $(if $(C),"$$C")

serve: setup  ## serve _build/html on a local port
	@$(REPRISE) serve

assets: setup  ## list data and weights: state, size, licence
	@$(REPRISE) assets

clean:  ## remove what was made (_build); results in data/ and the cache stay
	@rm -rf _build

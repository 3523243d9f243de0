# Every target sets up its own needs: the virtual environment is made once, and again only when the
# requirements change. The output of the setup is shown only if it fails.

VENV := .venv
PYTHON ?= python3
OLDEST := $(shell sed -n 's/^requires-python = ">=\(.*\)"$$/\1/p' pyproject.toml)
READY := $(VENV)/.ready
SITE := $(VENV)/.site
T3 := $(VENV)/bin/t3
# Checks of the hardware beyond the tests. Each writes JSON, a page and a summary, and fails if the check fails.
EVIDENCE := prove exhaust mutate coverage faults
# Tests of the cycle-exact core (each block and the top, RTL against golden model), and of the pages.
QUICK := tests/lockstep tests/sysmodel/engine/golden tests/docs/test_links.py
# Tests without the cycle loop, which run while it compiles.
WITHOUT_LOOP := tests/structure tests/docs tests/tb tests/t3/silicon tests/examples \
    tests/lockstep/test_lockstep_contexts.py tests/lockstep/test_lockstep_top.py

.PHONY: run reproduce test loop without-loop quick verify fresh lint format bench verilog area timing route fpga docs site clean help

help:                      ## List the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < tuple(map(int, "$(OLDEST)".split("."))))' 2> /dev/null \
	    || { echo "T3 needs Python $(OLDEST) or later, and $(PYTHON) is none; choose one: make PYTHON=python$(OLDEST)" >&2; exit 1; }
	@echo "Setting up $(VENV) (once; about a minute)"
	@mkdir -p build
	@{ $(PYTHON) -m venv $(VENV) \
	    && $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --use-pep517 \
	        --constraint constraints.txt --editable '.[dev,fpga]'; } > build/setup.log 2>&1 \
	    || { cat build/setup.log; exit 1; }
	@touch $@

$(SITE): $(READY)
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --use-pep517 \
	    --constraint constraints.txt --editable '.[dev,fpga,site]' > build/setup.log 2>&1 \
	    || { cat build/setup.log; exit 1; }
	@touch $@

run: $(READY)              ## Simulate T-NLG FC-2 on 8 GPUs with the RTL in the loop; results in build/run/
	@$(T3) run --out build/run

reproduce: $(READY)        ## Regenerate the paper's evaluation, partly with the RTL in the loop; results/
	@$(T3) reproduce --out results

docs: $(READY)             ## Run all studies and checks; full pages in build/ and results/, summaries in docs/
	@$(T3) reproduce --out results --page docs/evaluation.md
	@$(T3) machines --page docs/machines.md
	@$(T3) rivals --page docs/rivals.md
	-@$(T3) validate --out build/validation  # the page shows a broken bound
	@cp build/validation/measured-errors.csv t3/experiments/validation/measured_errors.csv
	@$(T3) area --scaling --out build/area
	@$(T3) timing --out build/timing
	-@$(T3) route --out build/route  # its tools may be missing
	@$(T3) fpga --design without_data --design with_data --out build/fpga
	@$(T3) diagrams --out docs/hardware
	-@for check in $(EVIDENCE); do $(T3) $$check --out build/verification; done  # a page shows a failed check
	@for page in area/area.md area/scaling.png timing/timing.md route/route.md fpga/fpga.md; do \
	    test ! -f build/$$page || cp build/$$page docs/hardware/; done
	@for page in build/validation/*-summary.md build/verification/*-summary.md; do \
	    cp $$page docs/$$(basename $$(dirname $$page))/$$(basename $$page -summary.md).md; done

site: $(SITE)              ## Build all pages as a site; run the notebooks, check links and words; build/site/
	@echo "Building build/site (the notebooks run; about a quarter of an hour)"
	@$(VENV)/bin/sphinx-build --quiet --fresh-env --fail-on-warning --keep-going -c docs/site -b html . build/site
	@$(VENV)/bin/python docs/site/links.py build/site
	@$(VENV)/bin/python docs/site/words.py build/site
	@$(VENV)/bin/python docs/site/outputs.py build/jupyter_execute

test: $(READY)             ## Lint, then run the tests (about ten minutes on 2 cores)
	@$(MAKE) --no-print-directory --jobs 2 lint loop without-loop
	@$(VENV)/bin/python -m pytest -q -n 2 --dist loadscope -m "not verify" tests $(WITHOUT_LOOP:%=--ignore=%)

# Compile the cycle loop once, before the test processes would each compile it.
loop: $(READY)
	@$(VENV)/bin/python -m pytest -qq tests/sysmodel/runs/test_conservation.py -k conserves \
	    > build/loop.log 2>&1 || { cat build/loop.log; exit 1; }

without-loop: $(READY)
	@$(VENV)/bin/python -m pytest -q -m "not verify" $(WITHOUT_LOOP)

verify: loop               ## Run the long tests, proofs, exhaustive arithmetic, mutants, coverage, faults; build/verification/
	@$(VENV)/bin/python -m pytest -q -n 2 --dist loadscope -m verify
	@failed=; for check in $(EVIDENCE); do \
	    $(T3) $$check --out build/verification || failed="$$failed $$check"; done; \
	test -z "$$failed" || { echo "does not hold:$$failed"; exit 1; }
	@$(MAKE) --no-print-directory site

fresh: $(READY)            ## As root: run README's commands in fresh systems of Debian, with each Python; build/fresh/
	@$(VENV)/bin/python -m tests.fresh $(ARGS)

quick: lint                ## Lint, then test the cycle-exact core and the pages; under a minute
	@$(VENV)/bin/python -m pytest -q -n 2 --dist loadscope -m "not verify" $(QUICK)

lint: $(READY)             ## Check style, imports, types and lengths of functions
	@$(VENV)/bin/ruff check --quiet .
	@$(VENV)/bin/ruff format --quiet --check .
	@$(VENV)/bin/lint-imports > build/imports.log || { cat build/imports.log; exit 1; }
	@if test -x $(VENV)/bin/mypy; then $(VENV)/bin/mypy --no-error-summary; \
	    else echo "The types are checked with Python 3.11 or later only"; fi
	@$(VENV)/bin/python tests/structure/function_length.py

format: $(READY)           ## Format the code
	@$(VENV)/bin/ruff check --quiet --fix .
	@$(VENV)/bin/ruff format --quiet .

bench: $(READY)            ## Measure the speed of the engines
	@$(VENV)/bin/python -m t3.experiments.bench

verilog: $(READY)          ## Write the Verilog of every block and of the top, manifest and core file; build/verilog/
	@$(T3) export --out build/verilog

area: $(READY)             ## Measure the area of every block and of the whole in a cell library; build/area/
	@$(T3) area --scaling --out build/area

timing: $(READY)           ## Find the critical path of every block, in FO4 and ns; build/timing/
	@$(T3) timing --out build/timing

route: $(READY)            ## Place and route four blocks with the tools of Debian's qflow; build/route/
	@$(T3) route --out build/route

fpga: $(READY)             ## Place and route one channel with a small tracker in a Lattice ECP5; build/fpga/
	@$(T3) fpga --out build/fpga

clean:                     ## Remove everything that was built
	@rm -rf build $(VENV)

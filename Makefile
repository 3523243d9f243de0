# Every target sets up what it needs: the virtual environment is made once and again only when the
# requirements change. Output of the setup is kept back unless it fails.

VENV := .venv
PYTHON ?= python3
READY := $(VENV)/.ready
SITE := $(VENV)/.site
T3 := $(VENV)/bin/t3
# What is shown of the hardware beyond the tests: each writes a page and JSON, and fails if it does not hold.
EVIDENCE := prove exhaust mutate coverage faults
# What must agree cycle by cycle (each block and the top, RTL against golden model), and the pages.
QUICK := tests/lockstep tests/sysmodel/engine/golden tests/docs/test_links.py

.PHONY: run reproduce test loop quick verify lint format bench verilog area timing route fpga docs site clean help

help:                      ## List the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml constraints.txt
	@echo "Setting up $(VENV) (once; about a minute)"
	@mkdir -p build
	@{ $(PYTHON) -m venv $(VENV) \
	    && $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
	        --constraint constraints.txt --editable '.[dev,fpga]'; } > build/setup.log 2>&1 \
	    || { cat build/setup.log; exit 1; }
	@touch $@

$(SITE): $(READY)
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
	    --constraint constraints.txt --editable '.[dev,fpga,site]' > build/setup.log 2>&1 \
	    || { cat build/setup.log; exit 1; }
	@touch $@

run: $(READY)              ## Simulate T-NLG FC-2 on 8 GPUs with the RTL in the loop; results in build/run/
	@$(T3) run --out build/run

reproduce: $(READY)        ## The paper's evaluation, a part with the RTL in the loop; tables, figures and a report in results/
	@$(T3) reproduce --out results

docs: $(READY)             ## Run evaluation, validation, area, timing, routing, evidence; write their pages into docs/
	@$(T3) reproduce --out results --page docs/evaluation.md
	@$(T3) machines --page docs/machines.md
	-@$(T3) validate --out docs/validation  # a bound that is broken is in the page
	@$(T3) area --scaling --out docs/hardware
	@$(T3) timing --out docs/hardware
	-@$(T3) route --out docs/hardware  # its tools may be missing
	@$(T3) fpga --design without_data --design with_data --out docs/hardware
	@$(T3) diagrams --out docs/hardware
	@$(T3) registers --out build/registers && cp build/registers/registers.md docs/hardware/
	-@for check in $(EVIDENCE); do $(T3) $$check --out docs/verification; done  # likewise

site: $(SITE)              ## All pages as a site, with the notebooks executed and every link checked; build/site/
	@echo "Building build/site (the notebooks run; about a quarter of an hour)"
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" sphinx-build --quiet --fresh-env --fail-on-warning --keep-going -c docs/site -b html . build/site
	@$(VENV)/bin/python docs/site/links.py build/site

test: $(READY)             ## Lint, then the tests (about 10 minutes on 2 cores)
	@$(MAKE) --no-print-directory --jobs 2 lint loop
	@$(VENV)/bin/python -m pytest -q -n 2 --dist loadscope -m "not verify"

# The tests' processes would each compile it.
loop: $(READY)
	@$(VENV)/bin/python -m pytest -qq tests/sysmodel/runs/test_conservation.py -k conserves \
	    > build/loop.log 2>&1 || { cat build/loop.log; exit 1; }

verify: loop               ## The long tests; proofs, exhaustive arithmetic, mutants, coverage, faults; build/verification/
	@$(VENV)/bin/python -m pytest -q -n 2 --dist loadscope -m verify
	@failed=; for check in $(EVIDENCE); do \
	    $(T3) $$check --out build/verification || failed="$$failed $$check"; done; \
	test -z "$$failed" || { echo "does not hold:$$failed"; exit 1; }
	@$(MAKE) --no-print-directory site

quick: lint                ## Lint, and the tests of the cycle-exact core and of the pages; under a minute
	@$(VENV)/bin/python -m pytest -q -n 2 --dist loadscope -m "not verify" $(QUICK)

lint: $(READY)             ## Style, imports, types, lengths of functions
	@$(VENV)/bin/ruff check --quiet .
	@$(VENV)/bin/ruff format --quiet --check .
	@$(VENV)/bin/lint-imports > build/imports.log || { cat build/imports.log; exit 1; }
	@$(VENV)/bin/mypy --no-error-summary
	@$(VENV)/bin/python tests/structure/function_length.py

format: $(READY)           ## Format the code
	@$(VENV)/bin/ruff check --quiet --fix .
	@$(VENV)/bin/ruff format --quiet .

bench: $(READY)            ## Speed of the engines
	@$(VENV)/bin/python -m t3.experiments.bench

verilog: $(READY)          ## Verilog of every block and of the top, manifest and core file; build/verilog/
	@$(T3) export --out build/verilog

area: $(READY)             ## Area of every block and of the whole, in a cell library; build/area/
	@$(T3) area --scaling --out build/area

timing: $(READY)           ## Critical path of every block, in FO4 and ns; build/timing/
	@$(T3) timing --out build/timing

route: $(READY)            ## Four blocks placed and routed by the tools of Debian's qflow; build/route/
	@$(T3) route --out build/route

fpga: $(READY)             ## One channel with a small tracker in a Lattice ECP5, placed and routed; build/fpga/
	@$(T3) fpga --out build/fpga

clean:                     ## Remove what was built
	@rm -rf build $(VENV)

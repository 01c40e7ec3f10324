# `make report` and `make test` set up what they need: python3 (3.11+) and make are enough.
PY ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check
NOTEBOOKS = $(wildcard notebooks/*.ipynb)
REPORTS = $(NOTEBOOKS:notebooks/%.ipynb=reports/%.html)
SOURCES = $(filter-out %.pyc,$(wildcard evalkit/*.py evalkit/*.json evalkit/*/*.* evalkit/*/*/*.*))
SAMPLES = $(wildcard data/*/*.* data/*/runs/*)

# What an environment installed names the folder that it was made in: in a clone that was moved it is made again.
ifneq ($(shell cat $(VENV)/.place 2> /dev/null),$(CURDIR))
$(shell rm -f $(VENV)/.ok)
endif

.PHONY: report test test-of test-spark test-page test-wheel night large release distribution docs lint figures lab outputs bench bench-guard trust clean
# One command makes all reports that are older than what they are made from: which is quicker than one each.
report: $(REPORTS)
	@! test -s reports/.stale || { $(BIN)/evalkit report $$(sort -u reports/.stale) -o reports; \
	end=$$?; rm -f reports/.stale; exit $$end; }

reports/%.html: notebooks/%.ipynb $(SOURCES) $(SAMPLES) $(VENV)/.ok
	@echo $* >> reports/.stale

# The workers take all processors, so that threads of BLAS would only wait for each other.
test test-spark test-page test-wheel night: export OPENBLAS_NUM_THREADS = 1

# A worker takes the tests of a module one after another, so that what they share is made once.
test: $(VENV)/.ok
	$(BIN)/python -m pytest -q -n auto --dist worksteal --ignore tests/page --ignore tests/spark tests evalkit

# What a change of a module should run first: make test-of MODULE=metrics.counts
test-of: $(VENV)/.ok
	$(BIN)/python -m pytest -q $$($(BIN)/python tests/of_module.py $(MODULE))

# Spark for real on this machine, in the same environment; brings a Java where there is none.
test-spark: $(VENV)/.spark
	$(BIN)/python -m pytest -q tests/spark

# The sample pages and some others in Chromium: axe on a desk and on a phone, light and dark. Brings Debian's Chromium, and axe from npm.
test-page: .page/.ok $(VENV)/.ok
	$(BIN)/python -m pytest -q -n auto tests/page

# The wheel as a user has it: built, installed into a new environment, used from an empty folder.
test-wheel: $(VENV)/.ok
	$(BIN)/python tests/try_wheel.py

# What takes too long for every change: all bad inputs of all readers, further tables of kinds that are tried by day, 1,000
# examples a property, the notebooks in plain kernels, large tables, four executors of Spark, the wheel with dependencies of
# its own, the commands of the guides, the site and further pages in Chromium with axe, and whether something became slower.
night: $(VENV)/.spark .page/.ok large release distribution docs
	$(BIN)/python -m pytest -q -n auto --hypothesis-profile night -m "slow or hypothesis" --ignore tests/page tests evalkit
	$(BIN)/python -m pytest -q -n auto -m slow tests/page
	$(BIN)/python -m pytest -q -n auto --dist loadfile $(NOTEBOOKS) --nbval --nbval-current-env --nbval-cell-timeout=120
	$(MAKE) bench-guard

# Large tables made from seeds, held and read block by block, against stored numbers: tests/frozen/large.py says how.
large: $(VENV)/.ok
	$(BIN)/python tests/frozen/large.py compare

# The stubs against the code; all reports from the wheel, on each Python from 3.11 of this machine, and with the oldest
# dependencies that are allowed.
release: $(VENV)/.ok
	@! $(BIN)/stubtest evalkit --concise --mypy-config-file tests/stubtest.ini | grep -E "^(evalkit\.\w+|error:) "
	$(BIN)/python tests/try_wheel.py --release

# The documentation as a site, in docs/_site: it needs no network, and a link that leads nowhere is an error.
docs: $(VENV)/.docs
	$(BIN)/python tests/docs_pictures.py tour
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_site

$(VENV)/.docs: pyproject.toml $(VENV)/.ok
	$(PIP) install -q -e '.[docs]'
	touch $@

# Wheel and sdist as they would be published, in dist: built twice, checked. With PUBLISH=1 placeholders are errors.
distribution: .publish/.ok
	.publish/bin/python tests/try_distribution.py $(if $(PUBLISH),--publish)

.publish/.ok: pyproject.toml
	$(PY) -m venv .publish
	.publish/bin/python -m pip --disable-pip-version-check install -q build hatchling pyroma twine
	touch $@

.page/.ok:
	command -v chromium > /dev/null || { apt-get update -qq && apt-get install -y -qq chromium; }
	npm install --silent --no-audit --no-fund --prefix .page axe-core@4.10.3
	touch $@

$(VENV)/.spark: requirements-spark.txt $(VENV)/.ok
	$(PIP) install -q -r requirements-spark.txt
	touch $@

lint: $(VENV)/.ok
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python benchmarks/language.py --check
	@! git log --since=2026-11-25 --format=%s 2> /dev/null | LC_ALL=C.UTF-8 grep -E '.{73}' || { echo "subjects of commits have at most 72 characters" >&2; exit 1; }

# How large the package is and how it reads, from the source alone; nothing fails by it.
figures:
	$(PY) benchmarks/figures.py
	$(PY) benchmarks/language.py

lab: $(VENV)/.ok
	$(BIN)/jupyter lab notebooks

# Runs the notebooks again and stores what they print, and makes the pages of docs, the sample page and the README's
# pictures (that of the page with Chromium); `git diff` then shows what changed.
outputs: $(VENV)/.ok
	$(BIN)/python tests/readme_table.py
	$(BIN)/jupyter-nbconvert --to notebook --execute --inplace --ExecutePreprocessor.record_timing=False $(NOTEBOOKS)
	$(BIN)/python tests/stored_outputs.py $(NOTEBOOKS)
	$(BIN)/jupyter-nbconvert --to evalkit --output-dir docs --output sample notebooks/classification.ipynb
	$(BIN)/python tests/docs_pictures.py
	@if command -v chromium > /dev/null; then \
	chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --window-size=1280,960 \
	--screenshot=docs/sample.png file://$(CURDIR)/docs/sample.html 2> /dev/null; \
	else echo "no chromium: docs/sample.png stays as it was" >&2; fi

# Simulates the intervals and tests that the reports print; batches that are done stay in .trust.
trust: $(VENV)/.ok
	$(BIN)/python benchmarks/trust/run.py
	$(BIN)/python benchmarks/trust/gates.py
	$(BIN)/python benchmarks/trust/gates.py --units
	$(BIN)/python benchmarks/trust/one_sided.py
	$(BIN)/python benchmarks/trust/slices.py

bench: $(VENV)/.ok $(VENV)/.spark .bench/.ok
	$(BIN)/python benchmarks/run.py --write
	$(BIN)/python tests/readme_table.py

# Small workloads against stored ratios to peers; with WRITE=1 stores the ratios of today.
bench-guard: $(VENV)/.ok
	$(BIN)/python benchmarks/guard.py $(if $(WRITE),--write)

.bench/.ok: benchmarks/peers.txt
	$(PY) -m venv .bench
	.bench/bin/python -m pip --disable-pip-version-check install -q --only-binary :all: -r benchmarks/peers.txt
	touch $@

clean:
	rm -rf reports/*.html reports/*.ipynb reports/*.json reports/*.parquet

$(VENV)/.ok: requirements.txt pyproject.toml
	@$(PY) -c 'import sys; sys.exit("evalkit needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@test "$$(cat $(VENV)/.place 2> /dev/null)" = "$$(pwd -P)" || rm -rf $(VENV)
	$(PY) -m venv $(VENV) || { echo "the venv module is missing; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	$(PIP) install -q --only-binary :all: -r requirements.txt
	$(PIP) install -q --no-deps -e .
	mkdir -p $(VENV)/etc/ipython
	printf 'c = get_config()\nc.IPKernelApp.log_level = 40\n' > $(VENV)/etc/ipython/ipython_kernel_config.py
	pwd -P > $(VENV)/.place
	touch $@

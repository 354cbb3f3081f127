# make up         start everything and load the sample
# make test       fast tests with coverage
# make test-long  every test, the slow ones and those with a real model included
# make lint       every static check
# make lock       rewrite the lock files from pyproject.toml

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
INSTALL := $(PIP) install --quiet --no-deps --require-hashes
UP_FLAGS ?=
PYTEST_FLAGS ?=
TEMPLATES = $(shell find holamem workspaces retrieval agents templates -name '*.html' 2>/dev/null)
LOCK = $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes \
	--quiet --no-header --no-annotate --no-emit-index-url --no-emit-find-links

.PHONY: up test test-long lint lock install install-dev install-llm

up: install
	$(BIN)/python manage.py up $(UP_FLAGS)

install: .venv/.runtime
install-dev: .venv/.dev
install-llm: .venv/.llm

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed." >&2; exit 1; }
	$(PYTHON) -m venv .venv

# The stamps are older than a lock file that changed.
.venv/.runtime: requirements.lock | $(BIN)/python
	$(INSTALL) -r requirements.lock
	@printf '#!%s\nimport sys\nsys.path.insert(0, "%s")\nfrom holamem.client.commands import main\nsys.exit(main())\n' \
		"$(CURDIR)/$(BIN)/python" "$(CURDIR)" > $(BIN)/holamem && chmod +x $(BIN)/holamem
	@touch $@

.venv/.dev: requirements-dev.lock .venv/.runtime | $(BIN)/python
	$(INSTALL) -r requirements-dev.lock
	@touch $@

.venv/.llm: requirements-llm.lock .venv/.dev | $(BIN)/python
	$(INSTALL) -r requirements-llm.lock
	@touch $@

# Coverage is held against its floor in a second step: asked for both at once, slipcover 1.1 prints
# a table without the workers.
test: install-dev
	$(BIN)/python -m slipcover --json --out .coverage.json -m pytest -n 2 --dist worksteal $(PYTEST_FLAGS)
	@$(BIN)/python -m slipcover --merge .coverage.json --out .coverage.json --fail-under 90 \
		|| { echo "Less than 90 % of the lines and branches are covered." >&2; exit 1; }

# The packaged model and the crash tests need the machine for themselves: one process.
test-long: test install-llm
	$(BIN)/python -m pytest -m "slow or llm" $(PYTEST_FLAGS)

lint: install-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(BIN)/djade --target-version 5.2 --check $(TEMPLATES)
	@$(BIN)/djhtml --check $(TEMPLATES)
	$(BIN)/lint-imports
	$(BIN)/mypy .
	$(PRODUCTION) $(BIN)/python manage.py check --deploy --fail-level WARNING
	$(BIN)/python -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run

# `check --deploy` looks at the settings that a real installation would have. The key is made up.
PRODUCTION = HOLAMEM_PRODUCTION=true HOLAMEM_HTTPS=true HOLAMEM_ALLOWED_HOSTS=memory.example.org \
	HOLAMEM_SECRET_KEY=$$($(BIN)/python -c 'import secrets; print(secrets.token_urlsafe(64))')

# The last line refuses a lock that names a host or a path of this machine.
lock: install-dev
	$(LOCK) pyproject.toml --output-file requirements.lock
	$(LOCK) pyproject.toml --group dev --constraint requirements.lock \
		--output-file requirements-dev.lock
	$(LOCK) --group pyproject.toml:llm --output-file requirements-llm.lock
	@! grep -nE '://|@ |file:|^-|^/' requirements.lock requirements-dev.lock requirements-llm.lock

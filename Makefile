# The commands that people type: `make app`, `make test`, ...

.PHONY: app test fast style all

app:  ## start the app
	streamlit run app.py

test:  ## all tests on all cores
	python -m pytest

fast:  ## the tests without a browser, in one process, until the first that fails
	python -m pytest -n0 -x -m "not browser"

style:  ## style, types, architecture and spelling
	ruff check . && ruff format . && mypy && lint-imports && codespell

all:  ## everything that runs before a change is taken, in a new environment
	bash .ci/run

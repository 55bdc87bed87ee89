# The short way to everything. Each target installs what it needs first (tools/setup.sh; nothing to do takes no time).

.PHONY: help setup demo test bench lock format lint

# The question as typed: a `$` in it is no variable of make.
override PROMPT := $(value PROMPT)
export PROMPT

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install what a build needs: compiler, Python, Bazel
	@tools/setup.sh

demo: setup ## build SmolLM2 for this CPU and ask it something: make demo PROMPT="Why is the sky blue?"
	@python3 tools/demo.py --prompt "$$PROMPT"

test: setup ## every test
	@python3 tools/run_tests.py

bench: setup ## speed against other runtimes, on this machine
	@bazel run //bench:run

lock: setup ## refresh every lock of third_party/deps.toml and show the difference
	@python3 tools/lock.py

format: setup ## format Python and Starlark in place
	@bazel run //tools/lint -- --fix

lint: setup ## check formatting, imports, sizes
	@bazel run //tools/lint

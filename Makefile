# The short way to everything. Each target installs what it needs first (tools/setup.sh; nothing to do takes no time).

.PHONY: help setup demo test bench bench-build bench-graph lock airgap-kit in-container cache-report format lint

# The question as typed: a `$` in it is no variable of make.
override PROMPT := $(value PROMPT)
export PROMPT
override CMD := $(value CMD)
export CMD

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install what a build needs: compiler, Python, Bazel
	@tools/setup.sh

demo: setup ## build SmolLM2 for this CPU and ask it something: make demo PROMPT="Why is the sky blue?"
	@python3 tools/demo.py --prompt "$$PROMPT"

test: setup ## every test
	@python3 tools/run_tests.py

bench: setup ## speed against other runtimes, on this machine
	@bazel run //bench:run

bench-build: setup ## time and memory to build an engine, beside torch, ONNX and TensorRT's parser
	@bazel run //bench:engines

lock: setup ## refresh every lock of third_party/deps.toml and show the difference
	@python3 tools/lock.py

OUT ?= airgap-kit
EXPECTED = containers/runtime.digests.json families/llama/image.digests.json families/llama/bundle.bundle
airgap-kit: setup ## everything a rebuild without network needs, in a folder or OUT=kit.tar: make airgap-kit OUT=/media/kit OLDER=/media/old-kit
	@bazel build --output_groups=+digests //containers:runtime //families/llama:image //families/llama:bundle
	@bazel run --ui_event_filters=-info //containers/airgap:kit -- --out "$(OUT)" $(foreach kit,$(OLDER),--older "$(kit)") \
	  --bin "$(CURDIR)/bazel-bin" $(foreach file,$(EXPECTED),--expect $(file))

in-container: ## run a command in the image to build in: make in-container CMD="bazel build //families/llama:bundle" IMAGE=… ENGINE=podman NETWORK=none
	@python3 tools/in_container.py $(if $(IMAGE),--image "$(IMAGE)") $(if $(ENGINE),--engine "$(ENGINE)") $(if $(CACHE),--cache "$(CACHE)") \
	  $(if $(NETWORK),--network "$(NETWORK)") -- $${CMD:+"$$CMD"}

cache-report: setup ## build, and say how much came from a cache: make cache-report BUILD="--config=remote-cache //families/llama:image"
	@python3 tools/cache_report.py $(BUILD)

bench-graph: setup ## speed of the build graph: null build, one change, warm and cold caches: make bench-graph BENCH=--cold
	@bazel run --ui_event_filters=-info //bench:graph -- $(BENCH)

format: setup ## format Python and Starlark in place
	@bazel run //tools/lint -- --fix

lint: setup ## check formatting, imports, sizes
	@bazel run //tools/lint

# SPDX-License-Identifier: Apache-2.0
# The only entry point. `make help` lists what there is; module Makefiles do the work.

SHELL := /bin/sh
.DEFAULT_GOAL := help

# Directories with a Makefile of their own, in the order in which they need one another.
MODULES := failure-injector zookeeper-cad zookeeper-cad/testkit zookeeper-cad/client-tests redis-cad protocol ycsb-bindings/bench jepsen geo-deploy
PRESENT := $(patsubst %/Makefile,%,$(wildcard $(addsuffix /Makefile,$(MODULES))))

# $(call waits,<directory>,<what>): stop and say what is missing; never pretend.
waits = @echo "make $@: waits for $(2) ($(1)/ is not in this tree)" >&2; exit 2

# $(call each,<target>): the target in every module that is present and defines it.
each = @set -e; for m in $(PRESENT); do \
	if grep -q '^$(1):' $$m/Makefile; then $(MAKE) --no-print-directory -C $$m $(1); fi; done

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile
	@echo "Parts in this tree: $(PRESENT)"

.PHONY: deps
deps: ## install missing tools (Debian, as root), or say which
	@tools/deps

.PHONY: build
build: deps ## fetch, verify, patch and compile everything
	$(call each,build)

.PHONY: demo
demo: deps ## power loss under load in each mode, side by side
ifneq ($(wildcard ycsb-bindings/bench/Makefile),)
	@$(MAKE) --no-print-directory -C ycsb-bindings/bench demo ARGS="$(ARGS)"
else
	$(call waits,ycsb-bindings/bench,the demo)
endif

.PHONY: check
check: deps ## before each commit, at most 8 minutes
	@tools/budget check $(PARTS)

.PHONY: test
test: deps ## the test suite, at most 55 minutes on 2 cores; PARTS="..." picks parts
	@tools/budget test $(PARTS)

.PHONY: test-full
test-full: deps ## all tests of all parts: hours, resumable
	@tools/budget test-full $(PARTS)

.PHONY: bench
bench: deps ## throughput and latency ratios, side by side
ifneq ($(wildcard ycsb-bindings/bench/Makefile),)
	@$(MAKE) --no-print-directory -C ycsb-bindings/bench bench
else
	$(call waits,ycsb-bindings/bench,the benchmark launcher)
endif

.PHONY: bench-fi
bench-fi: deps ## what the injected faults cost and how exact they are
	@$(MAKE) --no-print-directory -C failure-injector bench ARGS="$(ARGS)"

# bench-zk, bench-zk-quick, bench-redis-quick ... are targets of the launcher.
bench-%: deps
ifneq ($(wildcard ycsb-bindings/bench/Makefile),)
	@$(MAKE) --no-print-directory -C ycsb-bindings/bench $@
else
	$(call waits,ycsb-bindings/bench,the benchmark launcher)
endif

.PHONY: jepsen
jepsen: deps ## correctness runs with faults, seeds and a report
ifneq ($(wildcard jepsen/Makefile),)
	@$(MAKE) --no-print-directory -C jepsen run
else
	$(call waits,jepsen,the correctness suites)
endif

.PHONY: geo
geo: deps ## latency benchmarks over wide-area topologies
ifneq ($(wildcard geo-deploy/Makefile),)
	@$(MAKE) --no-print-directory -C geo-deploy run
else
	$(call waits,geo-deploy,the topologies)
endif

.PHONY: lint
lint: ## house rules, patch headers, exact round trip of the series
	@tools/tidy
	$(call each,lint)

.PHONY: dist
dist: build ## distributions and drop-in archives, with checksums, in out/dist
	$(call each,dist)

.PHONY: clean
clean: ## remove what was built; downloads stay in the package managers' caches
	$(call each,clean)
	rm -rf out

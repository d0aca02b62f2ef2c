# Nacre's front door. `make` alone says what there is.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Swift may live beside the PATH; Scripts/setup looks in the same two places.
export PATH := $(PATH):/opt/swift/usr/bin:/usr/local/swift/usr/bin

# Every build takes its flags from here: `make test BUILD_FLAGS='--sanitize thread'`.
BUILD_FLAGS ?=
# `make run`: where to listen (nacre's own default when empty), where the data lives, and whether to stop after the demo.
LISTEN ?=
DATA ?= ./nacre-data
ONCE ?=

SWIFT_PATHS := Sources Tests Fuzz Samples Package.swift

# `make bench`: QUICK=1 for one short round, QUESTIONS='batches lookups' for some of Benchmarks/*.py.
QUICK ?=
QUESTIONS ?=

# `make soak`: how long, minutes to an hour; PARTS='fuzz kills' for some of what Scripts/soak/run does.
SECONDS ?= 1800
PARTS ?=

# `make browsers` and `make console`: BROWSER=firefox for one of the two, CHECKS='popup pages' for some of Scripts/browsers/checks.py and console.py.
BROWSER ?=
CHECKS ?=

# `make contract`: CONTRACT_SECONDS to share among ASKERS='account-token administrator', or all of Scripts/contract/run.
CONTRACT_SECONDS ?= 60
ASKERS ?=

.PHONY: help setup run test bench soak browsers console cloudkit-js contract push otlp encryption dist dist-check release-check install format coverage docs clean

help: ## say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

setup: ## install the Debian packages that are missing; check Swift
	@Scripts/setup

run: setup ## build, start the server, run the demo, serve until Ctrl-C (LISTEN=host:port DATA=dir ONCE=1)
	@nacre=$$(Scripts/dist/binary $(BUILD_FLAGS)) && LISTEN='$(LISTEN)' DATA='$(DATA)' ONCE='$(ONCE)' exec Scripts/run "$$nacre"

# Suites run in parallel inside one process, a few at a time: many more than there are cores would only starve the ones that talk over sockets.
TEST_FLAGS ?= --experimental-maximum-parallelization-width 6
# What random histories draw from: the same sources draw the same everywhere, so that a failure comes again. `make soak` and `swift test` draw anew.
SEED = $(shell find Sources Tests -name '*.swift' -print0 | LC_ALL=C sort -z | xargs -0 cat | cksum | cut -d ' ' -f 1)
# Optimized, tests take half of the time. A build without it shares nothing with this one: `export NACRE_OPTIMIZED=1` for `swift build` and `swift test`.
test: export NACRE_OPTIMIZED = 1
test: setup ## build and run every test (NACRE_SEED=… draws other histories)
	@Scripts/s3/setup
	@swift build --build-tests $(BUILD_FLAGS)
	@NACRE_SEED="$${NACRE_SEED:-$(SEED)}" Scripts/test $(TEST_FLAGS) $(BUILD_FLAGS)

bench: setup ## measure, beside PocketBase and SQLite; writes docs/performance.md (QUICK=1, QUESTIONS='batches lookups')
	@for product in NacreAuthenticationCost NacreJSONThroughput NacreChunking NacreFrameworkCost NacreTestingCost NacreSmallApp; do \
		NACRE_BENCHMARKS=1 swift build -c release --product $$product --scratch-path .build/bench/tools $(BUILD_FLAGS); done
	@NACRE_BENCHMARKS=1 NACRE_URLSESSION=1 swift build -c release --product NacreSmallApp --scratch-path .build/bench/urlsession $(BUILD_FLAGS)
	@nacre=$$(Scripts/dist/binary $(BUILD_FLAGS)) && Benchmarks/run --nacre "$$nacre" --tools .build/bench/tools/release $(if $(QUICK),--quick) $(QUESTIONS)

soak: setup ## look for faults for a long time: histories, kills, fuzzing, slow clients, races (SECONDS=1800, PARTS='fuzz kills')
	@swift build --build-tests $(BUILD_FLAGS)
	@nacre=$$(Scripts/dist/binary $(BUILD_FLAGS)) && Scripts/soak/run --seconds '$(SECONDS)' --nacre "$$nacre" $(PARTS)

browsers: setup ## sign in with Chromium and Firefox, as apps' pages and as others would (BROWSER=firefox, CHECKS='popup pages')
	@swift build --build-tests $(BUILD_FLAGS)
	@python=$$(Scripts/browsers/setup) && "$$python" Scripts/browsers/run --nacre "$$(swift build $(BUILD_FLAGS) --show-bin-path)/nacre" \
		$(if $(BROWSER),--browser '$(BROWSER)') $(CHECKS)

console: setup ## drive the console's pages in both browsers, and test its modules (BROWSER=firefox CHECKS='pages editor')
	@swift build --product nacre $(BUILD_FLAGS)
	@python=$$(Scripts/browsers/setup) && node --test Web/console/tests/*.mjs > /dev/null && \
		"$$python" Scripts/browsers/console.py --nacre "$$(swift build $(BUILD_FLAGS) --show-bin-path)/nacre" \
		$(if $(BROWSER),--browser '$(BROWSER)') $(CHECKS)

cloudkit-js: setup ## test CloudKit JS in Node, and Deno if it is there, against a server, and check its types
	@swift build --product nacre $(BUILD_FLAGS)
	@NACRE="$$(swift build $(BUILD_FLAGS) --show-bin-path)/nacre" Scripts/cloudkit-js/test

contract: setup ## ask all that openapi.json describes, and more, and hold the answers against it (CONTRACT_SECONDS=60, ASKERS='administrator')
	@swift build --product nacre $(BUILD_FLAGS)
	@commands=$$(Scripts/contract/setup) && Scripts/contract/run --schemathesis "$$commands/schemathesis" \
		--nacre "$$(swift build $(BUILD_FLAGS) --show-bin-path)/nacre" --seconds '$(CONTRACT_SECONDS)' $(ASKERS)

push: setup ## have what push services are sent read by others' implementations, which it installs
	@NACRE_TESTS=require NACRE_PUSH_PYTHON="$$(Scripts/push/setup)" swift test $(BUILD_FLAGS) --filter IndependentPushTests

otlp: setup ## have what OpenTelemetry collectors are sent read by OpenTelemetry's own messages, which it installs
	@NACRE_TESTS=require NACRE_OTLP_PYTHON="$$(Scripts/otlp/setup)" swift test $(BUILD_FLAGS) --filter IndependentOTLPTests

encryption: setup ## compare the parts of encrypted values with PyPI's cryptography, which it installs
	@Scripts/encryption/defences check
	@NACRE_TESTS=require NACRE_ENCRYPTION_RECORDS=10000 NACRE_ENCRYPTION_PYTHON="$$(Scripts/encryption/setup)" \
		swift test $(BUILD_FLAGS) --filter 'IndependentEncryptionTests|RandomRecordTests'

dist: ## build what is handed out into build/dist: a tarball that needs no Swift, a Debian package, a Dockerfile
	@Scripts/setup dist
	@Scripts/dist/build $(BUILD_FLAGS)

# As root: clean roots need it.
dist-check: ## try them in clean roots of Debian 12, without a network
	@Scripts/dist/check

# As root, ten minutes on two cores. CI leaves it out: packaging changes seldom.
release-check: ## before a release, and when packaging changes: make dist and dist-check
	@$(MAKE) --no-print-directory dist
	@$(MAKE) --no-print-directory dist-check

PREFIX ?= /usr/local
DESTDIR ?=
install: setup ## put binary, completions and manual page under PREFIX=/usr/local (DESTDIR=…)
	@Scripts/dist/binary $(BUILD_FLAGS) | xargs -I {} Scripts/dist/install {} '$(DESTDIR)' '$(PREFIX)'

format: setup ## format every Swift file in place
	@swift format -i -r $(SWIFT_PATHS)

coverage: setup ## measure how much of Apple's CloudKit is there; writes docs/coverage.md
	@mkdir -p .build docs
	@BUILD_FLAGS='$(BUILD_FLAGS)' Scripts/api-coverage --markdown > .build/coverage.md
	@mv .build/coverage.md docs/coverage.md
	@grep -E '^(coverage|with)' docs/coverage.md

docs: setup ## write the framework's documentation into .build/docs, as pages for any web server
	@BUILD_FLAGS='$(BUILD_FLAGS)' Scripts/docs

# No setup first: removing files must work on a machine where nothing can be installed.
clean: ## remove what was built (your data stays)
	@rm -rf .build

# `make help` lists the targets. What a target needs that is slow to make (lint
# tools) is kept in bin/; `make clean` removes it.

SHELL      := bash
MODULES    := . $(patsubst %/go.mod,%,$(wildcard */go.mod))
GO_VERSION := $(shell go env GOVERSION)
GO_FILES   := $(shell find . -name '*.go' -not -path './bin/*' -not -path './.cache/*' -not -path './dist/*')
PROFILE    := $(CURDIR)/.cache/cover.out
GATE       := bin/gate
LINTERS    := bin/.linters-$(GO_VERSION)

# The long runs are programs of the bench module, a target each once it is there.
ALL_LONG   := bench crash crash-postgres
LONG       := $(foreach t,$(ALL_LONG),$(if $(wildcard bench/cmd/$t/main.go),$t))

# What CI runs, in this order. A later suite adds its target here, and what it
# needs from the system to tools/debian-packages.txt.
CI_TARGETS := deps lint generate-check test test-browser test-chromium test-postgres test-peers cover mutants scripts corpus crash-quick crash-postgres-quick bench-quick

.DEFAULT_GOAL := help
.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' -v absent=' $(filter-out $(LONG),$(ALL_LONG)) ' \
		'/^[a-z][a-z-]*:.*## / && !index(absent, " "$$1" ") { printf "make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: deps
deps: ## Install what the tests need from Debian or Ubuntu, if that may be done here; else name it.
	@tools/deps.sh tools/debian-packages.txt
	@for m in $(MODULES); do go -C $$m mod download || exit 1; done

.PHONY: build
build: ## Build every module.
	@for m in $(MODULES); do go -C $$m build ./... || exit 1; done

# ARGS go to go test: make test ARGS='-run TestStates -v'. What needs a server or
# a browser of its own is skipped here, and run by a target of its own.
ELSEWHERE := -elsewhere '$(filter test-% scripts,$(CI_TARGETS))'
.PHONY: test
test: $(GATE) ## Run all tests, with the race detector; list what was skipped and why.
	@$(GATE) test $(ELSEWHERE) $(MODULES) $(if $(ARGS),-- $(ARGS))

.PHONY: test-browser
test-browser: $(GATE) ## Run the tests that need real browsers, Firefox ESR and Chromium. ARGS as above.
	@LASTLOOK_TEST_BROWSER=1 $(GATE) test internal/browsertest -- -count=1 $(ARGS)

.PHONY: test-chromium
test-chromium: $(GATE) ## Run the tests of the source that reads pages with a real Chromium. ARGS as above.
	@LASTLOOK_TEST_CHROMIUM=1 $(GATE) test source/browser -- -count=1 $(ARGS)
	@LASTLOOK_TEST_CHROMIUM=1 $(GATE) test internal/server -- -count=1 -run TestBrowserOn

# Tests that need a server skip themselves elsewhere, naming this target. LASTLOOK_TEST_POSTGRES may be
# the address of a server that runs already, as a URL.
.PHONY: test-postgres
test-postgres: export LASTLOOK_TEST_POSTGRES ?= start
test-postgres: export LASTLOOK_TEST_SCRIPTS := 1
test-postgres: $(GATE) ## Run the tests that need PostgreSQL, on a server that it starts in a temporary folder.
	@$(GATE) test store/postgres watch/watchpg device/devicepg access/accesspg internal/pgtest -- -count=1 $(ARGS)
	@$(GATE) test cmd/lastlook internal/server -- -count=1 -run 'Postgres|TestCopy' $(ARGS)

.PHONY: test-peers
test-peers: $(GATE) ## Run the tests that need real mail servers and brokers, which they start in temporary folders.
	@LASTLOOK_TEST_PEERS=1 $(GATE) test channel/email -- -count=1 $(ARGS)

# The test program runs in its own folder, so that it finds its testdata. Without CORPUS it also plays what
# `make test` cuts short under the race detector: all behaviours, and days of a restless shop.
.PHONY: corpus
corpus: ## Run the cases from bug reports of price watchers, or those of CORPUS=file; say what is wrong, and how much is right.
	@mkdir -p bin && go test -c -o bin/corpus.test ./watch
	@cd watch && ../bin/corpus.test -test.run '^TestCorpus$$' -corpus '$(abspath $(or $(CORPUS),watch/testdata/corpus/corpus.jsonl))'
ifndef CORPUS
	@cd watch && ../bin/corpus.test -test.run '^(TestBehaviour|TestSimulation)$$'
endif

.PHONY: mutants
mutants: ## Plant mistakes in the stores; the conformance suite must notice each.
	@go test -count=1 -run 'TestMutants|TestRunMutants|TestHonest' ./store/sqlite ./store/storetest
	@LASTLOOK_TEST_POSTGRES=$${LASTLOOK_TEST_POSTGRES:-start} go test -count=1 -run TestMutants ./store/postgres

.PHONY: scripts
scripts: $(GATE) ## The tests of the command, with the race detector in each process that they start. ARGS as above.
	@LASTLOOK_TEST_SCRIPTS=1 $(GATE) test $(ELSEWHERE) cmd/lastlook -- -count=1 $(ARGS)

# Without the race detector, under which counting what is reached costs several
# times what the tests do.
.PHONY: cover
cover: $(GATE) ## Print coverage by package; the root and the SQLite store have a floor of 85 %.
	@mkdir -p $(dir $(PROFILE))
	@go test -vet=off -covermode=set -coverpkg=./... -coverprofile=$(PROFILE) ./... >$(PROFILE).out 2>&1 || { grep -v 'coverage:' $(PROFILE).out; exit 1; }
	@$(GATE) cover $(PROFILE)

LINTS := lint-format lint-vet lint-staticcheck lint-more lint-fix lint-vuln
.PHONY: lint $(LINTS)
lint: $(LINTS) ## Run every linter on every module.

lint-format: ## gofmt
	@unformatted=$$(gofmt -l $(GO_FILES)) || exit 1; \
	test -z "$$unformatted" || { printf 'gofmt -w these:\n%s\n' "$$unformatted"; exit 1; }

lint-vet: ## go vet
	@for m in $(MODULES); do go -C $$m vet ./... || exit 1; done

lint-staticcheck: $(LINTERS) ## staticcheck; staticcheck.conf says what is left out and why
	@for m in $(MODULES); do (cd $$m && $(CURDIR)/bin/staticcheck ./...) || exit 1; done

lint-more: $(LINTERS) ## errorlint, exhaustive, sqlclosecheck and our own: tools/internal/checks
	@for m in $(MODULES); do go -C $$m vet -vettool=$(CURDIR)/bin/vetcheck ./... || exit 1; done

lint-fix: ## go fix: nothing is written in an older way than it need be
	@for m in $(MODULES); do go -C $$m fix -diff ./... || { echo "To mend: cd $$m && go fix ./..."; exit 1; }; done

lint-vuln: $(GATE) $(LINTERS) ## govulncheck, with the database pinned in tools/vulndb.mod
	@go -C tools mod download -modfile=vulndb.mod golang.org/x/vulndb
	@$(GATE) vuln -tool bin/govulncheck -accepted tools/vuln-accepted.txt \
		-db "$$(go -C tools list -m -modfile=vulndb.mod -f '{{.Dir}}' golang.org/x/vulndb)/data/osv" $(MODULES)

.PHONY: generate-check
generate-check: $(GATE) ## Fail if a generated file is stale.
	@$(GATE) generate $(MODULES)

ifneq ($(filter bench,$(LONG)),)
.PHONY: bench
bench: ## Measure, and write bench/results/.
	@cd bench && go run ./cmd/bench $(ARGS)
endif

.PHONY: bench-peers
bench-peers: ## Measure other queues beside the outbox, on PostgreSQL and SQLite: bench/results/peers.json, docs/peers.svg.
	@cd bench && go run ./cmd/bench -only peers -out results/peers.json -doc ../docs/benchmarks.md $(ARGS)

ifneq ($(filter crash,$(LONG)),)
.PHONY: crash
crash: ## Kill the engine at random moments and at named failpoints, and judge what is left.
	@cd bench && go run ./cmd/crash $(ARGS)
endif

ifneq ($(filter crash-postgres,$(LONG)),)
.PHONY: crash-postgres
crash-postgres: ## Kill and stop dispatchers, crash a PostgreSQL server, lose it for good, and judge what is left.
	@cd bench && go run ./cmd/crash-postgres $(ARGS)
endif

.PHONY: crash-quick crash-postgres-quick bench-quick
crash-postgres-quick: ## The short form of crash-postgres, for CI.
	@cd bench && go run ./cmd/crash-postgres -quick
crash-quick: ## The short form of crash, for CI.
	@cd bench && go run ./cmd/crash -quick
bench-quick: ## The short form of bench, for CI: it shows that all runs, not how fast.
	@cd bench && go run ./cmd/bench -quick

.PHONY: ci
ci: ## Run what CI runs, and print the seconds of each part.
	@MAKE='$(MAKE)' tools/ci.sh $(CI_TARGETS)

.PHONY: clean
clean: ## Remove what was built.
	rm -rf bin dist .cache

$(GATE): $(wildcard tools/cmd/gate/*.go) tools/go.mod
	@go -C tools build -o ../$@ ./cmd/gate

$(LINTERS): tools/go.mod tools/go.sum $(wildcard tools/cmd/vetcheck/*.go tools/internal/checks/*.go)
	@echo 'Building the linters: a minute the first time.'
	@GOBIN=$(CURDIR)/bin go -C tools install tool ./cmd/vetcheck
	@rm -f bin/.linters-* && touch $@

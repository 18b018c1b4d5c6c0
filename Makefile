# Needs Go 1.26, make and git, and Node 20 or newer with npm for web/; anything else
# is fetched by the targets.
.DEFAULT_GOAL := help
.NOTPARALLEL:
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

GO ?= go
export GO
# Without paths of the checkout in programs, all checkouts on a machine share the build cache.
export GOFLAGS := $(shell $(GO) env GOFLAGS) -trimpath
TOOL := $(GO) tool -modfile=internal/devtools/go.mod
# 2.15 does not build from the module proxy.
LINT_VERSION := 2.14.0
LINT := .bin/golangci-lint-$(LINT_VERSION)
FUZZTIME ?= 60s
SOAKTIME ?= 1800
# Flags of make demo-crowd, such as --sessions 200.
CROWD ?=

.PHONY: help
help: ## print this text
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

.PHONY: run
run: ## run the hub with the embedded store, again when it is killed; prints the URL to open
	@scripts/build.sh bin/hub ./cmd/hub
	@# Not with go run, which does not pass SIGTERM on. This hub is for the user who starts it: notebooks run code if
	@# jupyter-server is installed, and MCP servers may be programs. HUB_JUPYTER=off and HUB_USER_MCP_COMMANDS=off prevent it.
	@HUB_JUPYTER="$${HUB_JUPYTER-auto}" HUB_USER_MCP_COMMANDS="$${HUB_USER_MCP_COMMANDS-on}" exec bin/hub supervise

.PHONY: demo-replicas
demo-replicas: ## three hubs, nginx and Redis; the hub that runs a stream is killed
	docs/try-replicas.sh

.PHONY: demo-crowd
demo-crowd: ## three hubs, Redis and 2,000 active sessions, to look at in the admin page
	@scripts/need.sh redis-server
	@scripts/build.sh bin/hub ./cmd/hub
	@scripts/build.sh bin/crowd ./crowd bench
	exec bin/crowd --hub bin/hub $(CROWD)

.PHONY: build
build: ## build bin/hub, static, compiled with the profile of a hub under load
	CGO_ENABLED=0 $(GO) build -pgo cmd/hub/release.pgo -ldflags "-s -w $$(scripts/ldflags.sh)" -o bin/hub ./cmd/hub

.PHONY: profile
profile: ## measure a hub under load and write cmd/hub/release.pgo, the profile of make build
	scripts/need.sh redis-server
	scripts/profile.sh

.PHONY: test
test: ## all tests, with real Redis servers and a real browser; some with PARTS="web go chaos python e2e"
	@scripts/test.sh $(PARTS)

.PHONY: test-fast
test-fast: ## Go tests without the race detector in short form, and the web unit tests; 2 minutes
	@scripts/test.sh --fast $(PARTS)

.PHONY: test-busy
test-busy: ## all tests, with two busy loops beside them
	@scripts/test.sh --busy $(PARTS)

.PHONY: check
check: check-node check-format check-fix check-lint check-generated check-layers check-mod check-bench check-dead check-systems check-scripts check-web ## format, linters, generated files and everything else that needs no tests

.PHONY: check-fast
check-fast: check-format check-vet check-fix check-layers ## the cheap part of check, and the layers

.PHONY: bench
bench: ## benchmarks; figures and commands are in bench/README.md
	scripts/need.sh redis-server
	$(GO) test -p 1 -run '^$$' -bench . -benchmem ./...
	cd bench && $(GO) test -p 1 -run '^$$' -bench . -benchmem ./...

.PHONY: test-bench
test-bench: ## tests of the programs in bench, which is a separate module
	scripts/need.sh gcc redis-server
	cd bench && CGO_ENABLED=1 $(GO) test -race ./...

.PHONY: gen
gen: ## write the generated files
	$(GO) run ./internal/wiregen
	$(GO) run ./internal/docgen
	$(GO) test ./cmd/hub -run TestConfigurationIsFresh -update
	$(GO) test ./desktop -run TestVectorsAreFresh -update
	$(GO) test ./adminview -run TestPageValuesAreFresh -update
	scripts/web.sh build

.PHONY: fmt
fmt: ## format everything
	$(TOOL) gofumpt -w .
	$(GO) fix ./...

.PHONY: test-agents
test-agents: ## install seven agents from npm and run the contract of providers with them (AGENTS="gemini qwen" for some)
	scripts/agents.sh

.PHONY: test-mcp
test-mcp: ## install the MCP SDK and the Inspector from npm and call every tool of the hub with them
	scripts/mcp.sh

.PHONY: test-mcp-apps
test-mcp-apps: ## install MCP servers with views from npm and open the views in a browser
	scripts/mcp-apps.sh
VERSITYGW_VERSION := 1.8.0
.PHONY: test-s3
test-s3: .bin/versitygw-$(VERSITYGW_VERSION) ## build an S3 server from the Go proxy and test the files in it
	VERSITYGW=$(CURDIR)/.bin/versitygw-$(VERSITYGW_VERSION) $(GO) test -race -tags s3server ./files/s3files
	VERSITYGW=$(CURDIR)/.bin/versitygw-$(VERSITYGW_VERSION) $(GO) test -race -tags s3server -run S3 ./apps
	VERSITYGW=$(CURDIR)/.bin/versitygw-$(VERSITYGW_VERSION) $(GO) test -race -tags s3server -run S3 ./cmd/hub

.bin/versitygw-$(VERSITYGW_VERSION):
	GOBIN=$(CURDIR)/.bin $(GO) install github.com/versity/versitygw/cmd/versitygw@v$(VERSITYGW_VERSION)
	mv .bin/versitygw $@

.PHONY: test-mcp-servers
test-mcp-servers: ## install MCP servers from npm and let agents of the hub call their tools
	scripts/mcp-servers.sh

.PHONY: test-checkpoints
test-checkpoints: ## the long proofs of checkpoints: 1,000 saves, 200 killed processes, 100,000 files
	scripts/need.sh git
	CHECKPOINTS_LONG=1 $(GO) test -count=1 -timeout 60m -v -run 'UserRepository|Killed|ManyFiles' ./checkpoints

.PHONY: test-agui
test-agui: ## install the AG-UI clients of npm and let them talk to hubs that are killed
	scripts/agui.sh

.PHONY: test-acp
test-acp: ## install the ACP client of npm and let it use sessions of a hub that is killed
	scripts/acp.sh

.PHONY: test-roo
test-roo: ## install node-ipc and the schemas of Roo-Code, and drive sessions of a hub that is killed
	scripts/roo.sh

.PHONY: test-together
test-together: ## install clients of npm of four protocols and let them use one session of hubs that are killed
	scripts/together.sh

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (60s)
	scripts/fuzz.sh $(FUZZTIME)

.PHONY: soak
soak: ## repeat the tests of stores, histories, contexts, approval rules and plans for SOAKTIME seconds (1800)
	scripts/need.sh gcc redis-server
	scripts/soak.sh $(SOAKTIME)

.PHONY: soak-page
soak-page: ## use the page for SOAK minutes (60) in fast motion; its heap must not grow
	scripts/need.sh chromium
	scripts/web.sh soak

.PHONY: chaos
chaos: ## break hubs and stores with all rounds, or those of FAULTS="F01 F02"
	scripts/need.sh redis-server nginx ip
	scripts/chaos.sh $(FAULTS)

.PHONY: vuln
vuln: ## check for known vulnerabilities; needs vuln.go.dev
	$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.8.0 ./...

.PHONY: clean
clean: ## remove what make built or installed, but not the data of the hub
	rm -rf bin .bin web/node_modules

# The parts of check. They compile with the same flags as tests, so that both share the build cache.
check check-fast: export CGO_ENABLED := 0

.PHONY: check-node check-format check-vet check-fix check-lint check-generated check-layers check-mod check-bench check-dead check-systems check-scripts check-web
check-node: # first, since the others take minutes
	@scripts/need.sh node

check-format:
	@echo '== format'
	@bad=$$($(TOOL) gofumpt -l .); [ -z "$$bad" ] || { echo "$$bad"; echo 'run: make fmt'; exit 1; }

check-vet:
	@echo '== vet'
	@$(GO) vet ./...

check-fix:
	@echo '== go fix'
	@$(GO) fix -diff ./... || { echo 'run: make fmt'; exit 1; }

check-lint: $(LINT) # it vets as well
	@echo '== lint'
	@$(LINT) run ./...

check-generated:
	@echo '== generated files'
	@$(GO) test -count=1 -run Fresh ./internal/wiregen ./internal/docgen ./cmd/hub

check-layers:
	@echo '== layers'
	@$(GO) test ./internal/arch

check-mod:
	@echo '== modules'
	@$(GO) mod tidy -diff
	@for m in internal/devtools bench; do (cd $$m && $(GO) mod tidy -diff); done

check-bench:
	@echo '== bench'
	@cd bench && $(GO) vet ./...

check-dead:
	@echo '== dead code'
	@dead=$$($(TOOL) deadcode -test -tags agents ./...); [ -z "$$dead" ] || { echo "$$dead"; exit 1; }

check-systems: # type-checks the hub for Windows and macOS, see the test
	@echo '== other systems'
	@$(GO) test -count=1 -run TestOtherSystems ./internal/arch

check-scripts:
	@echo '== scripts'
	@for f in .ci/run scripts/*.sh docs/*.sh; do bash -n "$$f"; done

check-web:
	@echo '== web'
	@scripts/web.sh check check-dist

$(LINT):
	GOBIN=$(CURDIR)/.bin $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(LINT_VERSION)
	mv .bin/golangci-lint $@

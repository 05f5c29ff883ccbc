# Image URL to use all building/pushing image targets
IMG ?= controller:latest

# What the programs, the image and the chart say about themselves. A release sets VERSION to
# its tag; otherwise it is derived from the last tag.
VERSION ?= $(or $(shell git describe --tags --dirty --match 'v[0-9]*' 2>/dev/null),v0.0.0-dev)
REVISION ?= $(or $(shell git rev-parse HEAD 2>/dev/null),unknown)

# The URL of the repository. The release workflow sets it to where it runs.
REPOSITORY ?= https://mapcontroller.dev/snapshotschedule

# Where the pages of docs/ are. The runbook_url of every alert begins with it.
DOCS_URL ?= $(REPOSITORY)/docs

# The linker sets the version, as in the Dockerfile and in .goreleaser.yaml.
VERSION_PACKAGE = mapcontroller.dev/snapshotschedule/internal/version
# Without grpc's trace pages, which nothing serves, the linker can drop unused methods: a quarter of the program.
GO_BUILD = go build -trimpath -tags grpcnotrace -ldflags "-s -w -X $(VERSION_PACKAGE).version=$(VERSION) -X $(VERSION_PACKAGE).revision=$(REVISION)"

# Get the currently used golang install path (in GOPATH/bin, unless GOBIN is set)
ifeq (,$(shell go env GOBIN))
GOBIN=$(shell go env GOPATH)/bin
else
GOBIN=$(shell go env GOBIN)
endif

# The container tool that builds images, such as docker or podman.
CONTAINER_TOOL ?= docker

# Recipes are bash scripts that exit when a line or a command of a pipe fails.
SHELL = /usr/bin/env bash -o pipefail
.SHELLFLAGS = -ec

.PHONY: all
all: build

##@ General

# help prints every "##@ category" and every target with a "## description".

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*##"; printf "\nUsage:\n  make \033[36m<target>\033[0m\n"} /^[a-zA-Z_0-9-]+:.*?##/ { printf "  \033[36m%-17s\033[0m %s\n", $$1, $$2 } /^##@/ { printf "\n\033[1m%s\033[0m\n", substr($$0, 5) } ' $(MAKEFILE_LIST)

.PHONY: try
try: ## Try the operator in a shell: a cluster of its own on this machine, with first PVCs and a schedule. Leaving the shell removes all.
	@hack/demo/demo.sh try

.PHONY: demo
demo: ## Watch the operator at work for two minutes, on a cluster of its own on this machine. KEEP=1 leaves it running.
	@hack/demo/demo.sh $(if $(filter-out 0,$(KEEP)),keep)

.PHONY: demo-down
demo-down: ## Stop and remove what 'make demo KEEP=1' left running.
	@hack/demo/demo.sh down

##@ Development

# Go modules besides the product's. Each go.mod says why it is separate.
MODULES = hack/cluster hack/helm test/observe

.PHONY: manifests
manifests: ## Generate the CustomResourceDefinitions and the ClusterRoles.
	$(CONTROLLER_GEN) rbac:roleName=manager-role crd webhook output:crd:artifacts:config=config/crd/bases \
	  $(addprefix paths=./,$(addsuffix /...,api cmd $(filter-out internal/clusterschedules,$(wildcard internal/*))))
	$(CONTROLLER_GEN) rbac:roleName=fleet-manager-role,fileName=fleet_role.yaml paths="./internal/clusterschedules/..."

.PHONY: generate
generate: ## Generate the DeepCopy methods of the API types.
	$(CONTROLLER_GEN) object:headerFile="hack/boilerplate.go.txt" paths="./..."

.PHONY: docs
docs: ## Update the generated parts of docs/reference.
	go run ./hack/docs
	UPDATE_REFERENCE=1 go test ./cmd -run '^TestTheReference'
	UPDATE_REFERENCE=1 go -C hack/helm test ./internal/chart -run '^TestThePage'

SITE ?= dist/site
.PHONY: site
site: ## Build README and docs as a site that needs no server, in SITE.
	HUGO_PARAMS_VERSION="$${SITE_VERSION:-$$(git describe --tags --dirty --match 'v[0-9]*' 2>/dev/null || echo dev)}" \
	$(HUGO) --source hack/site --destination '$(abspath $(SITE))' --cleanDestinationDir --noBuildLock --panicOnWarning >/dev/null

.PHONY: site-diagrams
site-diagrams: ## Draw the diagrams of the pages for the site. Needs npm and chromium.
	go run ./hack/site/diagrams

.PHONY: fmt
fmt: ## Format the code with go fmt.
	go fmt ./...

.PHONY: vet
vet: ## Run go vet.
	go vet ./...

.PHONY: lint
lint: lint-manifests lint-release lint-licenses lint-vulnerabilities ## Run all linters: of the code, the manifests, the release and the dependencies.
	for module in . $(MODULES); do (cd $$module && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml); done

.PHONY: lint-fix
lint-fix: ## Run golangci-lint and fix what it can.
	for module in . $(MODULES); do (cd $$module && $(GOLANGCI_LINT) run --fix --config $(CURDIR)/.golangci.yml); done

.PHONY: lint-manifests
lint-manifests: ## Check the manifests with kube-score. Exceptions are in hack/lint-manifests.sh.
	KUSTOMIZE="$(KUSTOMIZE)" KUBE_SCORE="$(KUBE_SCORE)" hack/lint-manifests.sh

.PHONY: lint-release
lint-release: build-chart ## Check the workflows, GoReleaser's configuration and the chart with their own linters.
	$(ACTIONLINT)
	$(HELM) lint --strict --quiet dist/chart
	for values in dist/chart/ci/*-values.yaml; do $(HELM) lint --strict --quiet dist/chart --values "$$values"; done
	$(GORELEASER_RUN) check --quiet

# Licenses that ask for no more than a notice. 'make licenses' collects the notices.
LICENSES = Apache-2.0,BSD-2-Clause,BSD-3-Clause,ISC,MIT

# quietly shows what a command writes to stderr only if it fails: go-licenses warns of every assembly file.
quietly = log="$$(mktemp)"; trap 'rm -f "$$log"' EXIT; $(1) 2> "$$log" || { cat "$$log" >&2; exit 1; }

.PHONY: lint-licenses
lint-licenses: ## Check that what the programs are linked with has one of LICENSES.
	$(call quietly,$(GO_LICENSES) check ./cmd/... --allowed_licenses='$(LICENSES)')

.PHONY: lint-vulnerabilities
lint-vulnerabilities: ## Run govulncheck (skipped if its database is not reachable; REQUIRE_VULNDB=1 makes that a failure).
	GOVULNCHECK="$(GOVULNCHECK)" hack/verify-vulnerabilities.sh

.PHONY: lint-config
lint-config: ## Check the configuration of golangci-lint.
	$(GOLANGCI_LINT) config verify

.PHONY: verify
verify: ## Check that generated files, formatting and module files are up to date.
	CONTROLLER_GEN="$(CONTROLLER_GEN)" MAKE="$(MAKE)" hack/verify.sh

##@ Test

# But for the race detector, all is built like the released programs, without cgo, so that what programs and tests share is
# compiled once. 'make lint' runs vet, for which 'go test' would read every dependency.
CGO := $(shell go env CGO_ENABLED)
export CGO_ENABLED := 0
export GOFLAGS := $(shell go env GOFLAGS) -vet=off

# The random seed of simulations: the same each time, and another every night.
SEED ?= 1

# GOTEST is 'go test' that prints a line for each package, their sum, and all output of a test that fails. Ginkgo does it for its suites: in
# test-integration, it drops what their processes print beside it, which is client-go's warning at each start of a cache.
GOTEST = $(GOTESTSUM) --format=pkgname --format-hide-empty-pkg --hide-summary=skipped --

# Packages whose tests need no API server.
UNIT_PACKAGES = $$(go list ./... | grep -v -E '/test/(crd|integration|cli|e2e|deploy)(/|$$)|/hack/site$$|/test/faults/internal/simulation$$|/enginetest$$|/internal/controller(/|$$)')

# Simulations, which would take minutes longer with the race detector.
SIMULATED_PACKAGES = ./test/faults/internal/simulation

# Packages whose tests need an API server and etcd, but no other controllers. The suites wait most of their time, and so run in
# several processes, each with an API server.
INTEGRATION_PACKAGES = ./test/crd/... ./test/faults/internal/simulation/kube $(if $(wildcard internal/controller),./internal/controller/...)
INTEGRATION_SUITES = ./internal/mapcontroller/enginetest ./test/cli ./test/integration
INTEGRATION_PROCESSES ?= 6

# The program of the local cluster: compiled once, for all targets and for the shell.
.PHONY: bin/cluster
bin/cluster:
	@go -C hack/cluster build -buildvcs=false -o "$(CURDIR)/bin/cluster" .

# assets sets KUBEBUILDER_ASSETS to what envtest needs, built on first use, unless it is set.
assets = KUBEBUILDER_ASSETS="$${KUBEBUILDER_ASSETS:-$$(bin/cluster assets)}"; export KUBEBUILDER_ASSETS

.PHONY: test
test: test-unit test-integration ## Run what a change needs while it is made: unit tests, a few simulations, and integration tests.

.PHONY: test-all
test-all: test-e2e test-race test-simulations test-deploy test-modules ## Run all other tests.

.PHONY: test-unit
test-unit: ## Run the tests that need no API server.
	@echo "== Unit tests"
	@$(GOTEST) $(UNIT_PACKAGES)
	@echo "== A few simulations, drawn with SEED=$(SEED)"
	@$(GOTEST) $(SIMULATED_PACKAGES) -rapid.seed='$(SEED)'

.PHONY: test-race
test-race: ## Run the unit tests with the race detector (skipped without a C compiler).
	@if [ "$(CGO)" != 1 ]; then echo "== SKIPPED, nothing was tested: the race detector needs cgo, and so a C compiler"; exit 0; fi; \
	echo "== Unit tests, with the race detector"; CGO_ENABLED=1 $(GOTEST) -race -timeout=30m $(UNIT_PACKAGES)

.PHONY: test-simulations
test-simulations: ## Run 100 simulations of weeks or months (minutes), half of them of groups, drawn with SEED.
	@echo "== Simulations, without the race detector, drawn with SEED=$(SEED)"
	@$(GOTEST) -timeout=60m $(SIMULATED_PACKAGES) -run='^TestSimulations' -rapid.checks=50 -rapid.seed='$(SEED)'

.PHONY: test-modules
test-modules: bin/cluster ## Run the tests of the local cluster, of alerts and dashboard, of the Helm chart and of the site, and kubebuilder's scaffolding.
	@echo "== Unit tests of the local cluster"
	@cd hack/cluster && $(GOTEST) ./...
	@echo "== Alerts and dashboard, evaluated by Prometheus, and GitOps by Flux and Argo CD's engines (compiling them takes minutes the first time)"
	@$(assets); \
	cd test/observe && $(GOTEST) -count=1 ./...
	@echo "== Helm chart, rendered by Helm and compared with the output of kustomize"
	@cd hack/helm && $(GOTEST) -count=1 ./...
	@echo "== The site, built by Hugo (compiling it takes minutes the first time)"
	@$(GOTEST) -count=1 ./hack/site
	@echo "== kubebuilder adds an API to a copy of the project"
	@$(assets); \
	KUBEBUILDER="$(KUBEBUILDER)" MAKE="$(MAKE)" hack/verify-scaffold.sh
	@echo "== The engine, copied to another module"
	hack/verify-copy.sh

.PHONY: test-integration
test-integration: bin/cluster ## Run the tests that need a real API server, built on first use (override: KUBEBUILDER_ASSETS).
	@echo "== Integration tests: a real API server and etcd"
	@$(assets); \
	echo "KUBEBUILDER_ASSETS=$$KUBEBUILDER_ASSETS"; \
	$(GOTEST) -count=1 $(INTEGRATION_PACKAGES); \
	$(GINKGO) run --keep-going --procs=$(INTEGRATION_PROCESSES) --timeout=15m --output-interceptor-mode=none $(INTEGRATION_SUITES)

.PHONY: test-e2e
test-e2e: bin/cluster ## Run the end-to-end tests on a new local cluster with a CSI snapshot stack. KUBERNETES=1.33.13 SNAPSHOTTER=8.2.0 chooses releases.
	@echo "== End-to-end tests: a new local cluster with a CSI snapshot stack"
	bin/cluster run $(if $(KUBERNETES),--kubernetes $(KUBERNETES)) $(if $(SNAPSHOTTER),--snapshotter $(SNAPSHOTTER)) -- go test -count=1 -timeout=45m -v ./test/e2e

.PHONY: test-deploy
test-deploy: bin/cluster ## Deploy and upgrade the image and the chart on a real node (skipped without Linux, root, runc and nftables).
	@echo "== Deployment tests: pods on a real node, built on first use"
	@if ! result="$$(bin/cluster node-check 2>&1)"; then \
	  echo "== SKIPPED, nothing was tested: $${result#error: }"; exit 0; fi; echo "$$result"; \
	set -x; bin/cluster run --node -- go test -count=1 -timeout=45m -v ./test/deploy -ginkgo.label-filter='!measured'

.PHONY: bench
bench: bin/cluster ## Measure speed and memory (ten minutes). ARGS="--only fan-out" runs one measurement.
	@$(assets); \
	go run ./test/bench $(ARGS)

# How often each Go benchmark runs. benchstat needs ten.
BENCH_COUNT ?= 10
BENCH_OUT ?= bin/bench.txt

.PHONY: bench-go
bench-go: ## Run the Go benchmarks and write their results for benchstat to BENCH_OUT (bin/bench.txt).
	@mkdir -p $(dir $(BENCH_OUT))
	go test -run='^$$' -bench=. -benchmem -count=$(BENCH_COUNT) ./internal/... | tee $(BENCH_OUT)

.PHONY: test-mutants
test-mutants: bin/cluster ## Check that the tests find seeded bugs (a quarter of an hour), and update the table of test/faults/mutants. MUTANT=<name> tries one, ALL=1 every suite.
	@$(assets); \
	go run ./test/faults/mutants $(if $(MUTANT),--mutant '$(MUTANT)') $(if $(ALL),--all) --write test/faults/mutants/README.md

.PHONY: cluster-up
cluster-up: bin/cluster ## Start the local cluster.
	@bin/cluster up

.PHONY: cluster-env
cluster-env: bin/cluster ## Print the commands that select the local cluster in a shell: eval "$(make -s cluster-env)"
	@bin/cluster env

.PHONY: cluster-down
cluster-down: bin/cluster ## Stop the local cluster.
	@bin/cluster down

##@ Build

.PHONY: build
build: manifests generate fmt vet ## Build the manager.
	go build -o bin/manager ./cmd

.PHONY: run
run: ## Run the manager on this machine, with the current kubeconfig. Its metrics are at http://localhost:8080/metrics.
	go run ./cmd --health-probe-bind-address=localhost:8081 --metrics-bind-address=localhost:8080 --metrics-secure=false

BUILD_ARGS = --build-arg VERSION=$(VERSION) --build-arg REVISION=$(REVISION) --build-arg REPOSITORY=$(REPOSITORY)

.PHONY: docker-build
docker-build: ## Build the image IMG with docker.
	$(CONTAINER_TOOL) build $(BUILD_ARGS) --tag ${IMG} .

.PHONY: docker-push
docker-push: ## Push the image IMG with docker.
	$(CONTAINER_TOOL) push ${IMG}

# An image's name and tag, without the digest that a release adds.
IMAGE_NAME = $(firstword $(subst @, ,$(IMG)))

# The output of 'make image', for docker load, ctr images import and kind load image-archive.
IMAGE_ARCHIVE ?= bin/image.tar
OCI = org.opencontainers.image

ARCH ?= $(shell go env GOARCH)

.PHONY: image
image: bin/cluster ## Build the image IMG for ARCH as an archive IMAGE_ARCHIVE, without a container engine.
	@mkdir -p $(dir $(IMAGE_ARCHIVE))
	dir="$$(mktemp -d)"; trap 'rm -rf "$$dir"' EXIT; \
	CGO_ENABLED=0 GOOS=linux GOARCH=$(ARCH) $(GO_BUILD) -o "$$dir/manager" ./cmd; \
	CGO_ENABLED=0 GOOS=linux GOARCH=$(ARCH) $(GO_BUILD) -o "$$dir/kubectl-snapsched" ./cmd/kubectl-snapsched; \
	bin/cluster image --name "$(IMAGE_NAME)" --arch "$(ARCH)" --out "$(IMAGE_ARCHIVE)" \
	  --label "$(OCI).title=SnapshotSchedule" --label "$(OCI).licenses=Apache-2.0" --label "$(OCI).source=$(REPOSITORY)" \
	  --label "$(OCI).version=$(VERSION)" --label "$(OCI).revision=$(REVISION)" "$$dir/manager" "$$dir/kubectl-snapsched"

# The architectures of 'make image-push', as Go names them.
ARCHS ?= amd64 arm64 ppc64le s390x

# Where 'make image-push' writes the digest of the image.
IMAGE_DIGEST ?= bin/image.digest

.PHONY: image-push
image-push: ## Build the image IMG for ARCHS without a container engine, push it, and write its digest to IMAGE_DIGEST.
	@mkdir -p bin
	images=(); for arch in $(ARCHS); do \
	  $(MAKE) --no-print-directory image ARCH="$$arch" IMAGE_ARCHIVE="bin/image-$$arch.tar"; \
	  pushed="$$($(CRANE) push "bin/image-$$arch.tar" "$(IMG)-$$arch")"; images+=(--manifest "$$pushed"); \
	done; \
	$(CRANE) index append --tag "$(IMG)" "$${images[@]}"; \
	$(CRANE) digest "$(IMG)" > "$(IMAGE_DIGEST)"

.PHONY: build-installer
build-installer: manifests generate ## Generate dist/crds.yaml, dist/install.yaml with image IMG, and dist/monitoring.yaml for Prometheus.
	mkdir -p dist
	KUSTOMIZE="$(KUSTOMIZE)" hack/render.sh config/default '${IMG}' > dist/install.yaml.new
	mv dist/install.yaml.new dist/install.yaml
	KUSTOMIZE="$(KUSTOMIZE)" hack/render.sh config/crd '${IMG}' > dist/crds.yaml.new
	mv dist/crds.yaml.new dist/crds.yaml
	KUSTOMIZE="$(KUSTOMIZE)" DOCS_URL='$(DOCS_URL)' hack/render.sh config/monitoring '${IMG}' > dist/monitoring.yaml.new
	mv dist/monitoring.yaml.new dist/monitoring.yaml

.PHONY: sbom
sbom: image ## Write the SBOM of the image to dist/sbom.spdx.json (compiling syft takes minutes the first time).
	SYFT="$(SYFT)" hack/sbom.sh '$(IMAGE_ARCHIVE)' '$(IMAGE_NAME)' dist/sbom.spdx.json

.PHONY: licenses
licenses: ## Collect the licenses of what the programs are linked with in dist/licenses.tar.gz.
	$(call quietly,$(GO_LICENSES) save ./cmd/... --force --save_path dist/licenses)
	tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -C dist -czf dist/licenses.tar.gz licenses

CHART_VERSION ?= $(VERSION:v%=%)

.PHONY: build-chart
build-chart: manifests generate ## Generate the Helm chart dist/chart, and its package, with version CHART_VERSION and image IMG.
	rm -rf dist/chart
	mkdir -p dist
	$(KUSTOMIZE) build hack/helm/source | go -C hack/helm run . --out '$(CURDIR)/dist/chart' --package '$(CURDIR)/dist' \
	  --version '$(CHART_VERSION)' --image '${IMG}' --repository '$(REPOSITORY)' --docs '$(DOCS_URL)'

##@ Release

# The files of a release besides the plugin's archives. GoReleaser attaches them, and lists them in the
# signed checksums. VERSION and IMG say what is released.
.PHONY: release-files
release-files: build-installer build-chart sbom licenses

# GoReleaser empties its own folder, dist/cli.
GORELEASER_RUN = VERSION='$(VERSION:v%=%)' REPOSITORY='$(REPOSITORY)' IMG='$(IMG)' SYFT_MODFILE='$(CURDIR)/hack/tools/syft.mod' $(GORELEASER)

.PHONY: release-dry-run
release-dry-run: release-files ## Build all files of a release in dist, without publishing or signing anything.
	$(GORELEASER_RUN) release --snapshot --clean --skip=sign
	cd dist/cli && sha256sum --check --quiet --ignore-missing checksums.txt
	cd dist && sha256sum --check --quiet --ignore-missing cli/checksums.txt

.PHONY: release
release: release-files ## Publish the release of the current tag. Needs GITHUB_TOKEN and cosign; see .github/workflows/release.yaml.
	$(GORELEASER_RUN) release --clean

##@ Deployment

ifndef ignore-not-found
  ignore-not-found = false
endif

.PHONY: install
install: manifests ## Install the CRDs in the cluster of the current kubeconfig.
	$(KUSTOMIZE) build config/crd | $(KUBECTL) apply --server-side -f -

.PHONY: uninstall
uninstall: manifests ## Delete the CRDs, and with them all schedules and their snapshots. ignore-not-found=true ignores missing objects.
	$(KUSTOMIZE) build config/crd | $(KUBECTL) delete --ignore-not-found=$(ignore-not-found) -f -

.PHONY: deploy
deploy: install ## Install the CRDs, and deploy the manager with image IMG, which must be set, to the cluster of the current kubeconfig.
	KUSTOMIZE="$(KUSTOMIZE)" hack/render.sh config/default '${IMG}' | $(KUBECTL) apply --server-side -f -

.PHONY: undeploy
undeploy: ## Delete the manager, but not the CRDs (see uninstall). ignore-not-found=true ignores missing objects.
	$(KUSTOMIZE) build config/default | $(KUBECTL) delete --ignore-not-found=$(ignore-not-found) -f -

##@ Dependencies

# Each tool has its own module file, so that tools do not change the product's dependencies or each
# other's: kube-score needs API packages that the Kubernetes modules of controller-gen no longer have.
# Go builds a tool on first use and caches it.
go-tool = go tool -modfile=$(CURDIR)/hack/tools/$(1).mod $(1)

KUBECTL ?= kubectl
KUSTOMIZE ?= $(call go-tool,kustomize)
CONTROLLER_GEN ?= $(call go-tool,controller-gen)
GINKGO ?= $(call go-tool,ginkgo)
GOTESTSUM ?= $(call go-tool,gotestsum)
KUBEBUILDER ?= $(call go-tool,kubebuilder)
GOLANGCI_LINT ?= $(call go-tool,golangci-lint)
GOVULNCHECK ?= $(call go-tool,govulncheck)
KUBE_SCORE ?= $(call go-tool,kube-score)
SYFT ?= $(call go-tool,syft)
GORELEASER ?= $(call go-tool,goreleaser)
GO_LICENSES ?= $(call go-tool,go-licenses)
ACTIONLINT ?= $(call go-tool,actionlint)
CRANE ?= $(call go-tool,crane)
HELM ?= $(call go-tool,helm)
HUGO ?= $(call go-tool,hugo)

.PHONY: dependencies
dependencies: ## Download all modules and build the tools, so that other targets need no network.
	for module in . $(MODULES); do go -C $$module mod download; done
	$(CONTROLLER_GEN) --version
	$(KUSTOMIZE) version
	$(GINKGO) version
	$(GOTESTSUM) --version
	$(KUBEBUILDER) version > /dev/null
	$(GOLANGCI_LINT) version
	$(GOVULNCHECK) -version
	$(KUBE_SCORE) version
	$(ACTIONLINT) -version
	$(CRANE) version > /dev/null
	$(GO_LICENSES) --help > /dev/null
	$(GORELEASER) --version
	$(HELM) version > /dev/null
	$(HUGO) version > /dev/null
	go list -modfile=hack/tools/syft.mod -deps tool > /dev/null

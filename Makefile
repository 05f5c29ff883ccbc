# Image URL to use all building/pushing image targets
IMG ?= controller:latest

# Get the currently used golang install path (in GOPATH/bin, unless GOBIN is set)
ifeq (,$(shell go env GOBIN))
GOBIN=$(shell go env GOPATH)/bin
else
GOBIN=$(shell go env GOBIN)
endif

# CONTAINER_TOOL defines the container tool to be used for building images.
# Be aware that the target commands are only tested with Docker which is
# scaffolded by default. However, you might want to replace it to use other
# tools. (i.e. podman)
CONTAINER_TOOL ?= docker

# Setting SHELL to bash allows bash commands to be executed by recipes.
# Options are set to exit when a recipe line exits non-zero or a piped command fails.
SHELL = /usr/bin/env bash -o pipefail
.SHELLFLAGS = -ec

.PHONY: all
all: build

##@ General

# The help target prints out all targets with their descriptions organized
# beneath their categories. The categories are represented by '##@' and the
# target descriptions by '##'. The awk command is responsible for reading the
# entire set of makefiles included in this invocation, looking for lines of the
# file as xyz: ## something, and then pretty-format the target and help. Then,
# if there's a line with ##@ something, that gets pretty-printed as a category.
# More info on the usage of ANSI control characters for terminal formatting:
# https://en.wikipedia.org/wiki/ANSI_escape_code#SGR_parameters
# More info on the awk command:
# http://linuxcommand.org/lc3_adv_awk.php

.PHONY: help
help: ## Display this help.
	@awk 'BEGIN {FS = ":.*##"; printf "\nUsage:\n  make \033[36m<target>\033[0m\n"} /^[a-zA-Z_0-9-]+:.*?##/ { printf "  \033[36m%-17s\033[0m %s\n", $$1, $$2 } /^##@/ { printf "\n\033[1m%s\033[0m\n", substr($$0, 5) } ' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Watch the operator at work for two minutes, on a cluster of its own on this machine. KEEP=1 leaves it running.
	@hack/demo/demo.sh $(if $(filter-out 0,$(KEEP)),keep)

.PHONY: demo-down
demo-down: ## Stop and remove what 'make demo KEEP=1' left running.
	@hack/demo/demo.sh down

##@ Development

.PHONY: manifests
manifests: ## Generate WebhookConfiguration, ClusterRole and CustomResourceDefinition objects.
	$(CONTROLLER_GEN) rbac:roleName=manager-role crd webhook paths="./..." output:crd:artifacts:config=config/crd/bases

.PHONY: generate
generate: ## Generate code containing DeepCopy, DeepCopyInto, and DeepCopyObject method implementations.
	$(CONTROLLER_GEN) object:headerFile="hack/boilerplate.go.txt" paths="./..."

.PHONY: docs
docs: ## Generate the parts of docs/reference.md that come from the code.
	go run ./hack/docs

.PHONY: fmt
fmt: ## Run go fmt against code.
	go fmt ./...

.PHONY: vet
vet: ## Run go vet against code.
	go vet ./...

.PHONY: lint
lint: lint-manifests ## Run golangci-lint, kube-score, and govulncheck where its database can be reached.
	$(GOLANGCI_LINT) run
	cd hack/cluster && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml
	cd test/observe && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml
	cd hack/helm && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml
	GOVULNCHECK="$(GOVULNCHECK)" hack/verify-vulnerabilities.sh

.PHONY: lint-fix
lint-fix: ## Run golangci-lint linter and perform fixes
	$(GOLANGCI_LINT) run --fix
	cd hack/cluster && $(GOLANGCI_LINT) run --fix --config $(CURDIR)/.golangci.yml
	cd test/observe && $(GOLANGCI_LINT) run --fix --config $(CURDIR)/.golangci.yml
	cd hack/helm && $(GOLANGCI_LINT) run --fix --config $(CURDIR)/.golangci.yml

.PHONY: lint-manifests
lint-manifests: ## Score the manifests with kube-score. Exceptions are in hack/lint-manifests.sh, each with its reason.
	KUSTOMIZE="$(KUSTOMIZE)" KUBE_SCORE="$(KUBE_SCORE)" hack/lint-manifests.sh

.PHONY: lint-config
lint-config: ## Verify golangci-lint linter configuration
	$(GOLANGCI_LINT) config verify

.PHONY: verify
verify: ## Verify that generated files, formatting and module files are current.
	CONTROLLER_GEN="$(CONTROLLER_GEN)" MAKE="$(MAKE)" hack/verify.sh

##@ Test

# The race detector needs a C compiler.
RACE ?= $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)

# What needs no API server: all but these suites.
UNIT_PACKAGES = $$(go list ./... | grep -v -E '/test/(crd|integration|e2e|deploy)(/|$$)|/test/faults$$|/test/faults/internal/(sim|specs)$$|/enginetest$$')

# What lives through simulated time, and runs for minutes under the race detector.
SIMULATED_PACKAGES = ./test/faults/internal/sim ./test/faults/internal/specs

# What needs an API server and etcd, but no controllers beside them.
INTEGRATION_PACKAGES = $$(go list ./... | grep -E '/test/(crd|integration)(/|$$)|/enginetest$$')

.PHONY: test
test: test-unit test-integration test-e2e test-faults-short ## Run all tests: unit, integration, end-to-end and the short fault campaign.

.PHONY: test-unit
test-unit: ## Run the tests that need no API server (minutes: 200 simulated lives of 90 days are among them).
	@echo "== Unit tests$(if $(RACE), with the race detector, without the race detector: no C compiler was found)"
	go test $(RACE) $(UNIT_PACKAGES)
	@echo "== Simulated lives, without the race detector: they have no goroutines of their own"
	go test -timeout=20m $(SIMULATED_PACKAGES)
	@echo "== Unit tests of the local cluster program"
	go -C hack/cluster test ./...
	@echo "== Alerts and dashboard, in Prometheus' own engines (compiling those takes some minutes the first time)"
	go -C test/observe test -count=1 ./...
	@echo "== The Helm chart, rendered by Helm and compared with what kustomize builds"
	go -C hack/helm test -count=1 ./...

.PHONY: test-integration
test-integration: ## Run the tests against a real API server, built on first use (KUBEBUILDER_ASSETS names another one).
	@echo "== Integration tests: a real API server and etcd"
	@assets="$${KUBEBUILDER_ASSETS:-}"; \
	if [ -z "$$assets" ]; then assets="$$(go -C hack/cluster run . assets)"; fi; \
	echo "KUBEBUILDER_ASSETS=$$assets"; \
	KUBEBUILDER_ASSETS="$$assets" go test -count=1 -timeout=20m $(INTEGRATION_PACKAGES)

.PHONY: test-e2e
test-e2e: ## Run the end-to-end tests on a fresh local cluster: API server, controllers and a CSI snapshot stack.
	@echo "== End-to-end tests: a fresh local cluster with the CSI snapshot stack"
	go -C hack/cluster run . run -- go -C "$(CURDIR)" test -count=1 -timeout=30m -p=1 -v ./test/e2e/...

.PHONY: test-deploy
test-deploy: ## Deploy the image on a real node and upgrade it there (Linux, root); says so where the machine does not allow it. With CI=true it gets runc and nftables by apt-get.
	@echo "== Deployment tests: pods on a real node, built on first use"
	@go -C hack/cluster build -o "$(CURDIR)/bin/cluster" .
	@if ! why="$$(bin/cluster node-check $(if $(CI),--install) 2>&1)"; then \
	  echo "== LEFT OUT, nothing was tested: $${why#error: }"; exit 0; fi; echo "$$why"; \
	set -x; bin/cluster run --node -- go test -count=1 -timeout=30m -v ./test/deploy

# Draws the pairs of faults.
SEED ?= 1

.PHONY: test-faults
test-faults: ## Run the fault campaign, about half an hour; writes docs/faults.md. PLAN=<id> runs one plan, verbosely.
	go run ./test/faults --seed '$(SEED)' $(if $(PLAN),--plan '$(PLAN)' --v,--write docs/faults.md)

.PHONY: test-faults-short
test-faults-short: ## Run a fixed selection of the fault campaign (two minutes).
	@echo "== Fault campaign, short form: the operator under faults against a real API server"
	go -C hack/cluster run . run --no-csi -- go -C "$(CURDIR)" test -count=1 -timeout=15m -v ./test/faults

.PHONY: bench
bench: ## Measure speed and size beside a bare client, in about ten minutes. ARGS="--only fan-out" measures one of it.
	go run ./test/bench $(ARGS)

# How often each Go benchmark is run: benchstat wants ten.
BENCH_COUNT ?= 10
BENCH_OUT ?= bin/bench.txt

.PHONY: bench-go
bench-go: ## Run the Go benchmarks, and keep what they say for benchstat in bin/bench.txt (BENCH_OUT).
	@mkdir -p $(dir $(BENCH_OUT))
	go test -run='^$$' -bench=. -benchmem -count=$(BENCH_COUNT) ./internal/... | tee $(BENCH_OUT)

.PHONY: test-mutants
test-mutants: ## Prove that the fault campaign finds seeded defects, about half an hour; writes its part of docs/faults.md. MUTANT=<name> runs one.
	go run ./test/faults/mutants $(if $(MUTANT),--mutant '$(MUTANT)',--write docs/faults.md)

.PHONY: cluster-up
cluster-up: ## Start the local cluster and leave it up.
	go -C hack/cluster run . up

.PHONY: cluster-down
cluster-down: ## Stop the local cluster.
	go -C hack/cluster run . down

##@ Build

.PHONY: build
build: manifests generate fmt vet ## Build manager binary.
	go build -o bin/manager ./cmd

.PHONY: run
run: manifests generate fmt vet ## Run a controller from your host.
	go run ./cmd

# If you wish to build the manager image targeting other platforms you can use the --platform flag.
# (i.e. docker build --platform linux/arm64). However, you must enable docker buildKit for it.
# More info: https://docs.docker.com/develop/develop-images/build_enhancements/
.PHONY: docker-build
docker-build: ## Build docker image with the manager.
	$(CONTAINER_TOOL) build -t ${IMG} .

.PHONY: docker-push
docker-push: ## Push docker image with the manager.
	$(CONTAINER_TOOL) push ${IMG}

# Where 'make image' writes to: for docker load, ctr images import and kind load image-archive.
IMAGE_ARCHIVE ?= bin/image.tar

.PHONY: image
image: ## Build the image of the manager without a container engine, as an archive (IMAGE_ARCHIVE).
	@mkdir -p $(dir $(IMAGE_ARCHIVE))
	dir="$$(mktemp -d)"; trap 'rm -rf "$$dir"' EXIT; \
	CGO_ENABLED=0 GOOS=linux go build -trimpath -o "$$dir/manager" ./cmd; \
	go -C hack/cluster run . image --name "$(IMG)" --out "$(IMAGE_ARCHIVE)" \
	  --label "org.opencontainers.image.version=$(lastword $(subst :, ,$(IMG)))" "$$dir/manager"

# PLATFORMS defines the target platforms for the manager image be built to provide support to multiple
# architectures. (i.e. make docker-buildx IMG=myregistry/mypoperator:0.0.1). To use this option you need to:
# - be able to use docker buildx. More info: https://docs.docker.com/build/buildx/
# - have enabled BuildKit. More info: https://docs.docker.com/develop/develop-images/build_enhancements/
# - be able to push the image to your registry (i.e. if you do not set a valid value via IMG=<myregistry/image:<tag>> then the export will fail)
# To adequately provide solutions that are compatible with multiple platforms, you should consider using this option.
PLATFORMS ?= linux/arm64,linux/amd64,linux/s390x,linux/ppc64le
.PHONY: docker-buildx
docker-buildx: ## Build and push docker image for the manager for cross-platform support
	# copy existing Dockerfile and insert --platform=${BUILDPLATFORM} into Dockerfile.cross, and preserve the original Dockerfile
	sed -e '1 s/\(^FROM\)/FROM --platform=\$$\{BUILDPLATFORM\}/; t' -e ' 1,// s//FROM --platform=\$$\{BUILDPLATFORM\}/' Dockerfile > Dockerfile.cross
	- $(CONTAINER_TOOL) buildx create --name snapshotschedule-builder
	$(CONTAINER_TOOL) buildx use snapshotschedule-builder
	- $(CONTAINER_TOOL) buildx build --push --platform=$(PLATFORMS) --tag ${IMG} -f Dockerfile.cross .
	- $(CONTAINER_TOOL) buildx rm snapshotschedule-builder
	rm Dockerfile.cross

.PHONY: build-installer
build-installer: manifests generate ## Generate a consolidated YAML with CRDs and deployment: dist/install.yaml, with image IMG.
	mkdir -p dist
	KUSTOMIZE="$(KUSTOMIZE)" hack/render.sh config/default '${IMG}' > dist/install.yaml.new
	mv dist/install.yaml.new dist/install.yaml

.PHONY: sbom
sbom: image ## Write the SBOM of the image, dist/sbom.spdx.json. Compiling syft takes some minutes the first time.
	SYFT="$(SYFT)" hack/sbom.sh '$(IMAGE_ARCHIVE)' '$(IMG)' dist/sbom.spdx.json

CHART_VERSION ?= 0.1.0

.PHONY: build-chart
build-chart: manifests generate ## Generate the Helm chart dist/chart, version CHART_VERSION, with image IMG.
	mkdir -p dist
	$(KUSTOMIZE) build hack/helm/source | go -C hack/helm run . --out '$(CURDIR)/dist/chart' --version '$(CHART_VERSION)' --image '${IMG}'

##@ Deployment

ifndef ignore-not-found
  ignore-not-found = false
endif

.PHONY: install
install: manifests ## Install CRDs into the K8s cluster specified in ~/.kube/config.
	$(KUSTOMIZE) build config/crd | $(KUBECTL) apply -f -

.PHONY: uninstall
uninstall: manifests ## Uninstall CRDs from the K8s cluster specified in ~/.kube/config. Call with ignore-not-found=true to ignore resource not found errors during deletion.
	$(KUSTOMIZE) build config/crd | $(KUBECTL) delete --ignore-not-found=$(ignore-not-found) -f -

.PHONY: deploy
deploy: manifests ## Deploy controller to the K8s cluster specified in ~/.kube/config.
	cd config/manager && $(KUSTOMIZE) edit set image controller=${IMG}
	$(KUSTOMIZE) build config/default | $(KUBECTL) apply -f -

.PHONY: undeploy
undeploy: ## Undeploy controller from the K8s cluster specified in ~/.kube/config. Call with ignore-not-found=true to ignore resource not found errors during deletion.
	$(KUSTOMIZE) build config/default | $(KUBECTL) delete --ignore-not-found=$(ignore-not-found) -f -

##@ Dependencies

# Every tool is pinned in a module file of its own under hack/tools, apart from the product's
# go.mod. Go builds it on first use and caches it.
go-tool = go tool -modfile=$(CURDIR)/hack/tools/$(1).mod $(1)

## Tool Binaries
KUBECTL ?= kubectl
KUSTOMIZE ?= $(call go-tool,kustomize)
CONTROLLER_GEN ?= $(call go-tool,controller-gen)
GOLANGCI_LINT ?= $(call go-tool,golangci-lint)
GOVULNCHECK ?= $(call go-tool,govulncheck)
KUBE_SCORE ?= $(call go-tool,kube-score)
SYFT ?= $(call go-tool,syft)

.PHONY: dependencies
dependencies: ## Download the modules and build the tools, so that the other targets need no network.
	go mod download
	go -C hack/cluster mod download
	go -C test/observe mod download
	go -C hack/helm mod download
	$(CONTROLLER_GEN) --version
	$(KUSTOMIZE) version
	$(GOLANGCI_LINT) version
	$(GOVULNCHECK) -version
	$(KUBE_SCORE) version
	go list -modfile=hack/tools/syft.mod -deps tool > /dev/null

#!/usr/bin/env bash
# Checks that kubebuilder can still add an API to this project: 'kubebuilder create api' runs on a copy, and after 'make manifests generate
# build' the new controller has its role and its CRD, its suite passes, and 'make undeploy' would still delete no CRD. Needs
# KUBEBUILDER_ASSETS for the suite.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

copy="$(mktemp -d)"
trap 'rm -rf "$copy"' EXIT
mkdir "$copy/project"
git ls-files -z --cached --others --exclude-standard | tar --create --null --files-from=- --ignore-failed-read | tar --extract --directory="$copy/project"
cd "$copy/project"

echo "== kubebuilder create api"
cp config/default/kustomization.yaml "$copy/default.yaml"
$KUBEBUILDER create api --group snapshots --version v1alpha1 --kind Probe --resource --controller --make=false
echo "== make manifests generate build"
"${MAKE:-make}" --no-print-directory manifests generate build

failed=0
expect() {
  local what="$1"
  shift
  "$@" || { echo "FAILED: $what" >&2; failed=1; }
}
expect "config/default was changed" diff --unified "$copy/default.yaml" config/default/kustomization.yaml
expect "the scaffolded controller was overlooked: the operator's role does not name probes" grep --quiet -- '- probes$' config/rbac/role.yaml
expect "the CRD of probes was not generated" test -s config/crd/bases/snapshots.mapcontroller.dev_probes.yaml
expect "cmd does not start the controller" grep --quiet 'ProbeReconciler' cmd/main.go
expect "the linter would refuse that cmd imports the controller" grep --quiet -- '- mapcontroller.dev/snapshotschedule/internal/controller' .golangci.yml
"${MAKE:-make}" --no-print-directory --dry-run test-integration KUBEBUILDER_ASSETS=assets > "$copy/integration"
expect "make test-integration does not run the controller's suite" grep --quiet 'gotestsum .* ./internal/controller/' "$copy/integration"
echo "== the suite of the new controller"
expect "the suite of the new controller fails" go test ./internal/controller/...
exit "$failed"

#!/usr/bin/env bash
# Checks the shipped manifests with kube-score. Warnings and unneeded exceptions are failures.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

kube_score=(${KUBE_SCORE:-go tool -modfile=hack/tools/kube-score.mod kube-score})

# Checks that the manifests do not pass on purpose.
exceptions=(
  # The metrics endpoint requires authentication and authorization, and only the probes listen
  # besides it. A policy that is on by default would block a Prometheus whose namespace lacks the
  # label, or an API server with another port. Users can enable it: see SECURITY.md.
  pod-networkpolicy
  # The image sets user and group 65532, and runAsNonRoot rejects root. A user in the Deployment would
  # be rejected by clusters that assign users, such as OpenShift.
  container-security-context-user-group-id
  # Our tags are immutable. With Always, the operator could not restart while the registry is down.
  container-image-pull-policy
  # A drain that evicts all replicas causes a delay of seconds, and missed slots are caught up. A
  # budget would block the drain of a single-node cluster.
  deployment-has-poddisruptionbudget
)

# score MANIFESTS [EXCEPTION…] checks a file, ignoring the exceptions.
score() {
  local flags=() manifests="$1" exception
  shift
  for exception in "$@"; do
    flags+=(--ignore-test "$exception")
  done
  "${kube_score[@]}" score --exit-one-on-warning --kubernetes-version v1.37 "${flags[@]}" "$manifests"
}

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
# kube-score has no checks for ValidatingAdmissionPolicies; test/crd/guardrails tests them.
for folder in config/default config/namespaced; do
  echo "kube-score of $folder"
  # An image as in a release, not the Makefile's default.
  hack/render.sh "$folder" example.com/snapshotschedule:v1.2.3 >"$scratch/manifests.yaml"
  score "$scratch/manifests.yaml" "${exceptions[@]}"
  for exception in "${exceptions[@]}"; do
    others=()
    for other in "${exceptions[@]}"; do
      [ "$other" = "$exception" ] || others+=("$other")
    done
    if score "$scratch/manifests.yaml" "${others[@]}" >"$scratch/score" 2>&1; then
      echo "FAILED: $folder does not need the exception $exception; remove it from $0" >&2
      exit 1
    fi
    grep -q -E '\[(CRITICAL|WARNING)\]' "$scratch/score" || { cat "$scratch/score" >&2; exit 1; }
  done
done

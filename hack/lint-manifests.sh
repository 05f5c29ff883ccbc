#!/usr/bin/env bash
# Scores the manifests as they are shipped with kube-score. Warnings fail too, and so does an
# exception that is no longer needed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

kube_score=(${KUBE_SCORE:-go tool -modfile=hack/tools/kube-score.mod kube-score})

# What kube-score asks for and the manifests don't do.
exceptions=(
  # Metrics are behind authentication and authorization as it is, and nothing else listens but the
  # probes. A policy that is on by default would cut off a Prometheus whose namespace lacks the
  # label. It is there to be turned on: [NETWORK POLICY] in config/default.
  pod-networkpolicy
  # The image brings user and group 65532 along, and runAsNonRoot refuses root. A number in the
  # Deployment would have it refused where the cluster assigns the numbers, as OpenShift does.
  container-security-context-user-group-id
  # A tag of ours never changes what it stands for. With Always, the operator could not start again
  # while the registry is down, and that is no time to be without backups.
  container-image-pull-policy
  # A drain that takes both away costs some seconds of delay: correctness does not depend on one
  # being there, and missed slots are made up for. A budget would hold up draining a single node.
  deployment-has-poddisruptionbudget
)

# score FOLDER [EXCEPTION…] scores a folder without those exceptions.
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
for folder in config/default config/namespaced; do
  echo "kube-score of $folder"
  # An image such as a release has: no default of the Makefile's is scored.
  hack/render.sh "$folder" example.com/snapshotschedule:v1.2.3 >"$scratch/manifests.yaml"
  score "$scratch/manifests.yaml" "${exceptions[@]}"
  for exception in "${exceptions[@]}"; do
    others=()
    for other in "${exceptions[@]}"; do
      [ "$other" = "$exception" ] || others+=("$other")
    done
    if score "$scratch/manifests.yaml" "${others[@]}" >"$scratch/score" 2>&1; then
      echo "FAILED: the exception $exception is not needed for $folder: take it out of $0" >&2
      exit 1
    fi
    grep -q -E '\[(CRITICAL|WARNING)\]' "$scratch/score" || { cat "$scratch/score" >&2; exit 1; }
  done
done

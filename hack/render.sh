#!/usr/bin/env bash
# Writes what a kustomize folder builds to standard output, with the manager's image set. Nothing in
# the tree is changed, as 'kustomize edit set image' would.
#
#   hack/render.sh config/default example.com/snapshotschedule:v1.2.3
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder="$1" image="$2"
if [[ ! "$image" =~ ^[A-Za-z0-9][A-Za-z0-9._/:@-]*$ ]]; then
  echo "'$image' is no image: write it as in IMG=example.com/snapshotschedule:v1.2.3" >&2
  exit 1
fi

# kustomize takes folders by relative path only.
mkdir -p dist
overlay="$(mktemp -d dist/overlay.XXXXXX)"
trap 'rm -rf "$overlay"' EXIT
cat >"$overlay/kustomization.yaml" <<EOF
resources:
- ../../$folder
patches:
- target:
    kind: Deployment
    name: .*controller-manager
  patch: |-
    - op: replace
      path: /spec/template/spec/containers/0/image
      value: "$image"
EOF
${KUSTOMIZE:-go tool -modfile=hack/tools/kustomize.mod kustomize} build "$overlay"

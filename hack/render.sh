#!/usr/bin/env bash
# Builds a kustomize folder with the given image of the manager, and writes the result to standard
# output. Unlike 'kustomize edit set image', it does not change the folder.
#
#   hack/render.sh config/default example.com/snapshotschedule:v1.2.3
#
# If DOCS_URL is set, the alerts' runbook_url begins with it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder="$1" image="$2"
if [[ ! "$image" =~ ^[A-Za-z0-9][A-Za-z0-9._/:@-]*$ ]]; then
  echo "invalid image '$image'; set it as in IMG=example.com/snapshotschedule:v1.2.3" >&2
  exit 1
fi

# kustomize accepts relative paths only.
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
${KUSTOMIZE:-go tool -modfile=hack/tools/kustomize.mod kustomize} build "$overlay" |
  sed -E "s|(runbook_url: )https://.*/(runbooks/[a-z]+\.md)|\1${DOCS_URL:-https://mapcontroller.dev/snapshotschedule/docs}/\2|"

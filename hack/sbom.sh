#!/usr/bin/env bash
# Writes the SBOM of an image archive in SPDX format, and checks that it has all modules that the
# programs' build information lists.
#
#   hack/sbom.sh bin/image.tar example.com/snapshotschedule:v1.2.3 dist/sbom.spdx.json
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

archive="$1" name="$2" out="$3"
syft=(${SYFT:-go tool -modfile=hack/tools/syft.mod syft})

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

# The tag follows a colon after the last slash.
image="${name##*/}"
version="${image#*:}"
[ "$version" != "$image" ] || version=latest

export SYFT_CHECK_FOR_APP_UPDATE=false SYFT_FORMAT_PRETTY=true
"${syft[@]}" scan --quiet "docker-archive:$archive" --source-name "${name%":$version"}" --source-version "$version" \
  --output "spdx-json=$scratch/sbom.json"

# The image contains two programs; its layer is the only tar file in the archive.
layer="$(tar -tf "$archive" | grep '\.tar$')"
tar -xOf "$archive" "$layer" | tar -xf - -C "$scratch" manager kubectl-snapsched
modules=0 missing=0
while read -r module version; do
  modules=$((modules + 1))
  # In the SBOM, the version follows the name within a few lines.
  if ! grep -A4 -F "\"name\": \"$module\"," "$scratch/sbom.json" | grep -q -F "\"versionInfo\": \"$version\","; then
    echo "missing in the SBOM: $module $version" >&2
    missing=$((missing + 1))
  fi
done < <(go version -m "$scratch/manager" "$scratch/kubectl-snapsched" | awk '$1 == "dep" { print $2, $3 }' | sort -u)
if [ "$modules" = 0 ] || [ "$missing" != 0 ]; then
  echo "FAILED: $missing of the programs' $modules modules are missing in the SBOM" >&2
  exit 1
fi
mkdir -p "$(dirname "$out")"
mv "$scratch/sbom.json" "$out"
echo "wrote $out: $modules modules of $name and Go's standard library"

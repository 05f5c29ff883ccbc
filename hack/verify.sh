#!/usr/bin/env bash
# Checks that generated files are up to date, Go files are formatted, module files are tidy, and shell
# scripts parse. Outdated generated files are updated in place, and the check fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

failed=0
fail() {
  echo "FAILED: $1" >&2
  failed=1
}

generated() {
  git ls-files --cached --others --exclude-standard -- \
    'config/crd/bases/*.yaml' config/rbac/role.yaml config/rbac/fleet_role.yaml config/webhook '*zz_generated*.go' | sort
}

echo "== Generated files"
before="$(mktemp -d)"
trap 'rm -rf "$before"' EXIT
while read -r file; do
  [ -f "$file" ] || continue
  mkdir -p "$before/$(dirname "$file")"
  cp "$file" "$before/$file"
done < <(generated)
"${MAKE:-make}" --no-print-directory manifests generate
stale=0
while read -r file; do
  diff --unified --new-file "$before/$file" "$file" || stale=1
done < <(generated)
if [ "$stale" = 1 ]; then
  fail "generated files were outdated and have been updated; commit them"
fi

echo "== Formatting"
unformatted="$(git ls-files --cached --others --exclude-standard -- '*.go' | xargs -r gofmt -l)"
if [ -n "$unformatted" ]; then
  echo "$unformatted"
  fail "run gofmt -w on the files above"
fi

echo "== Module files"
while read -r file; do
  dir="$(dirname "$file")"
  echo "go -C $dir mod tidy -diff"
  go -C "$dir" mod tidy -diff || fail "run go mod tidy in $dir"
done < <(git ls-files --cached --others --exclude-standard -- go.mod '**/go.mod' | sort)
for file in hack/tools/*.mod; do
  echo "go list -modfile=$file tool"
  go list -modfile="$file" -deps tool >/dev/null || fail "run go get -modfile=$file -tool <module>@<version>"
done

echo "== Shell scripts"
while read -r file; do
  echo "bash -n $file"
  bash -n "$file" || fail "$file does not parse"
done < <(git ls-files --cached --others --exclude-standard -- '*.sh' .ci/run | sort)

if [ "$failed" = 1 ]; then
  exit 1
fi
echo "Everything is up to date."

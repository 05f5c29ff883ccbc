#!/usr/bin/env bash
# Looks for known vulnerabilities in what the product calls. Where the vulnerability database
# can't be reached, this says so and is left out. Set GOVULNDB to use a copy of it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scan=(${GOVULNCHECK:-go tool -modfile=hack/tools/govulncheck.mod govulncheck})
if [ -n "${GOVULNDB:-}" ]; then
  scan+=(-db "$GOVULNDB")
fi

for dir in . hack/cluster; do
  echo "govulncheck -C $dir ./..."
  status=0
  output="$("${scan[@]}" -C "$dir" ./... 2>&1)" || status=$?
  if [ "$status" != 0 ] && grep -q 'fetching vulnerabilities' <<<"$output"; then
    echo "govulncheck was left out: its database can't be reached."
    exit 0
  fi
  echo "$output"
  [ "$status" = 0 ] || exit "$status"
done

#!/usr/bin/env bash
# Checks the code for known vulnerabilities in its dependencies. If the vulnerability database is not
# reachable, the check is skipped, unless somebody relies on it: it fails if REQUIRE_VULNDB is 1, as in the
# workflows, or if GOVULNDB names a mirror of the database.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scan=(${GOVULNCHECK:-go tool -modfile=hack/tools/govulncheck.mod govulncheck})
required="${REQUIRE_VULNDB:-}"
if [ -n "${GOVULNDB:-}" ]; then
  scan+=(-db "$GOVULNDB")
  required=1
fi

for dir in . hack/cluster; do
  echo "govulncheck -C $dir ./..."
  status=0
  output="$("${scan[@]}" -C "$dir" ./... 2>&1)" || status=$?
  if [ "$status" != 0 ] && grep -q 'fetching vulnerabilities' <<<"$output"; then
    if [ "$required" = 1 ]; then
      echo "$output" >&2
      echo "FAILED: the vulnerability database is not reachable, so nothing was checked." >&2
      exit 1
    fi
    echo "govulncheck was skipped: its database is not reachable. With REQUIRE_VULNDB=1, this is a failure."
    exit 0
  fi
  echo "$output"
  [ "$status" = 0 ] || exit "$status"
done

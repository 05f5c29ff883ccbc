#!/usr/bin/env bash
# Checks that what docs/contribute/mapcontroller.md says about copying the engine is true: its commands run in another module, which then builds, and
# the example passes there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

other="$(mktemp -d)"
trap 'rm -rf "$other"' EXIT
sed 's|^module .*|module example.com/other|' go.mod >"$other/go.mod"
cp go.sum "$other"
commands="$(sed -n '/^<!-- copy -->$/,/^```$/p' docs/contribute/mapcontroller.md | sed '/^<!--\|^```/d')"
[ -n "$commands" ] || { echo "FAILED: docs/contribute/mapcontroller.md has no commands after <!-- copy -->" >&2; exit 1; }
export SNAPSHOTSCHEDULE="$PWD"
cd "$other"
echo "$commands"
bash -euo pipefail -c "$commands"
go build ./...
go test -count=1 -run '^Example$' ./internal/mapcontroller

#!/usr/bin/env bash
# Builds and plays the demo, whose steps are in steps.sh.
#
#   hack/demo/demo.sh         on a cluster of its own, which is removed at the end
#   hack/demo/demo.sh keep    the same, but cluster and operator stay up
#   hack/demo/demo.sh down    stops and removes what keep has left
#   hack/demo/demo.sh try     instead of the demo, a shell to try the operator in, with first PVCs and a schedule
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

kept=bin/demo-cluster
down() {
  # The operator is stopped only if the process is still the manager: pids are used again.
  pid="$(cat "$kept/operator.pid" 2>/dev/null || true)"
  if [ -n "$pid" ] && ps -p "$pid" -o args= | grep -q '^bin/manager '; then kill -KILL "$pid"; fi
  bin/cluster down --dir "$kept" >/dev/null
  rm -rf "$kept"
}

if [ "${1:-}" = down ] && [ ! -d "$kept" ]; then
  echo "No demo is running here."
  exit
fi

echo "Building (the first time, 10 minutes on two cores for the cluster's parts)"
# Without -buildvcs=false, Go refuses to build in a checkout that belongs to another user.
export CGO_ENABLED="${CGO_ENABLED:-0}" # as make sets it, or all is compiled twice
go build -buildvcs=false -o bin/manager ./cmd
go build -buildvcs=false -o bin/kubectl-snapsched ./cmd/kubectl-snapsched
go -C hack/cluster build -buildvcs=false -o "$PWD/bin/cluster" .
export PATH="$PWD/bin:$PATH" # kubectl finds its plugin there

case "${1:-}" in
down)
  down
  echo "The demo's operator and cluster are stopped and removed."
  ;;
keep)
  mkdir "$kept" 2>/dev/null || { echo "A demo is already running here. Stop it first: make demo-down" >&2; exit 1; }
  trap down EXIT
  trap 'exit 130' INT TERM HUP
  bin/cluster up --dir "$kept" >/dev/null
  eval "$(bin/cluster env --dir "$kept")"
  hack/demo/steps.sh keep
  trap - EXIT
  cat <<END

The cluster and the operator keep running. In this folder:

  eval "\$(bin/cluster env --dir $kept)"
  export PATH="\$PWD/bin:\$PATH"
  kubectl snapsched status
  kubectl explain snapsched.spec

To stop and remove everything:

  make demo-down
END
  ;;
try)
  exec bin/cluster run -- hack/demo/try.sh
  ;;
*)
  exec bin/cluster run -- hack/demo/steps.sh
  ;;
esac

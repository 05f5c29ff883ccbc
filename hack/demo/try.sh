#!/usr/bin/env bash
# Installs the operator, two PVCs and a schedule on the cluster that hack/cluster has put into the environment, says what to type, and starts
# a shell if there is a terminal. demo.sh starts it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

keep=''
. hack/demo/operator.sh
trap 'kill_operator "$operator"' EXIT
trap 'exit 130' INT TERM HUP

quietly() { "$@" >/dev/null || { echo "failed: $*" >&2; tail -n 15 "$log" >&2; exit 1; }; }
quietly kubectl apply -f config/crd/bases
quietly kubectl wait crd --for=condition=Established --all
quietly kubectl create namespace demo
quietly kubectl config set-context --current --namespace=demo
start_operator
quietly kubectl apply -f hack/demo/pvcs.yaml -f hack/demo/try.yaml
quietly kubectl wait snapsched my-app --for=condition=Protected --timeout=90s

cat <<'END'

A Kubernetes API server, a CSI driver and the operator run on this machine. The
schedule my-app takes a snapshot of each PVC labeled app=my-app every minute.
That is db, which has its first snapshot. web has no label yet. Type:

  kubectl snapsched coverage             what is protected, and what is not
  kubectl label pvc web app=my-app       and web has a snapshot at once
  kubectl snapsched status               the schedule and its PVCs
  kubectl snapsched timeline             the snapshots of each PVC
  kubectl snapsched restore --pvc db --to db-restored --wait
  kubectl explain snapsched.spec         what a schedule can say
  exit                                   stop and remove everything
END
if [ -t 0 ] && [ -t 1 ]; then
  echo
  # Without the user's own settings, which may select another cluster or plugin. Its exit code is that of the last command that was typed.
  PS1='try$ ' bash --noprofile --norc -i || true
fi

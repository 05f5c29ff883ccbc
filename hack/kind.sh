#!/usr/bin/env bash
# Creates a kind cluster with a CSI driver that takes snapshots, and installs the operator from this
# checkout. Needs docker, kind, kubectl, curl, Go and access to GitHub and to registries.
#
# external-snapshotter comes as Go modules, whose checksums are below. For the archive of csi-driver-host-path, GitHub publishes no
# checksum: set HOSTPATH_SHA256 to verify it, else its digest is only printed. Its own script downloads more, and images are pulled by
# tag. So use this for clusters that hold nothing of value.
#
#   hack/kind.sh up     creates the cluster and installs everything
#   hack/kind.sh down   deletes the cluster
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

name=snapshotschedule
snapshotter=v8.7.0
snapshotter_sum=h1:sYxyBXffG+pc2QfvFkP6uJqtYVFVRvkrxAHi8WjD5fU=
snapshotter_client_sum=h1:HVaSUeRRHPu49aSiL8eXOjS9Re9G6pM0NzdTGI7mM14=
hostpath=v1.17.0
hostpath_sha256="${HOSTPATH_SHA256:-}"
image=snapshotschedule:kind
github=https://github.com/kubernetes-csi

# module PATH@VERSION CHECKSUM prints the folder of a Go module, whose content has the checksum.
module() {
  local info
  info="$(cd / && GOFLAGS='' go mod download -json "$1")" || { echo "$info" >&2; return 1; }
  grep -qF "\"Sum\": \"$2\"" <<<"$info" || { echo "$1 does not have the checksum $2: $info" >&2; return 1; }
  sed -n 's/^\t"Dir": "\(.*\)",$/\1/p' <<<"$info"
}

# verify FILE SHA256 fails if a file has another digest. Without one, it prints the file's.
verify() {
  local digest
  digest="$(sha256sum "$1")"
  digest="${digest%% *}"
  if [ -z "$2" ]; then
    echo "not verified: $1 has the SHA-256 $digest" >&2
  elif [ "$digest" != "$2" ]; then
    echo "$1 has the SHA-256 $digest, want $2" >&2
    return 1
  fi
}

up() {
  local crds controller
  crds="$(module "github.com/kubernetes-csi/external-snapshotter/client/v8@$snapshotter" "$snapshotter_client_sum")"
  controller="$(module "github.com/kubernetes-csi/external-snapshotter/v8@$snapshotter" "$snapshotter_sum")"

  kind create cluster --name "$name"
  kubectl config use-context "kind-$name"

  echo "== VolumeSnapshot CRDs and snapshot controller $snapshotter"
  kubectl apply -k "$crds/config/crd"
  kubectl apply -k "$controller/deploy/kubernetes/snapshot-controller"

  echo "== CSI driver: csi-driver-host-path $hostpath"
  driver="$(mktemp -d)"
  trap 'rm -rf "$driver" "$driver.tar.gz"' EXIT
  curl --fail --silent --show-error --location --proto '=https' --output "$driver.tar.gz" \
    "$github/csi-driver-host-path/archive/refs/tags/$hostpath.tar.gz"
  verify "$driver.tar.gz" "$hostpath_sha256"
  tar -xzf "$driver.tar.gz" -C "$driver" --strip-components=1
  "$driver/deploy/kubernetes-latest/deploy.sh"
  kubectl apply -f "$driver/examples/csi-storageclass.yaml"
  kubectl annotate --overwrite volumesnapshotclass csi-hostpath-snapclass snapshot.storage.kubernetes.io/is-default-class=true

  echo "== The operator"
  make image build-installer IMG="$image"
  kind load image-archive bin/image.tar --name "$name"
  kubectl apply --server-side -f dist/crds.yaml -f dist/install.yaml
  kubectl -n snapshotschedule-system rollout status deployment/snapshotschedule-controller-manager --timeout=3m
  cat <<'EOT'
Next:
  kubectl apply -f hack/kind/first.yaml     # a PVC, and a schedule that takes a snapshot of it every minute
  kubectl get pvc,snapsched,volumesnapshots
  hack/kind.sh down
EOT
}

case "${1:-}" in
  up) up ;;
  down) kind delete cluster --name "$name" ;;
  *) sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

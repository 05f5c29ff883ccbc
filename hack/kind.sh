#!/usr/bin/env bash
# Creates a kind cluster with a CSI driver that takes snapshots, and installs the operator from this
# checkout. Needs docker, kind, kubectl, curl, Go and access to GitHub and to registries.
#
#   hack/kind.sh up     creates the cluster and installs everything
#   hack/kind.sh down   deletes the cluster
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

name=snapshotschedule
snapshotter=v8.7.0
hostpath=v1.17.0
image=snapshotschedule:kind
github=https://github.com/kubernetes-csi

up() {
  kind create cluster --name "$name"
  kubectl config use-context "kind-$name"

  echo "== VolumeSnapshot CRDs and snapshot controller $snapshotter"
  kubectl apply -k "$github/external-snapshotter/client/config/crd?ref=$snapshotter"
  kubectl apply -k "$github/external-snapshotter/deploy/kubernetes/snapshot-controller?ref=$snapshotter"

  echo "== CSI driver: csi-driver-host-path $hostpath"
  driver="$(mktemp -d)"
  trap 'rm -rf "$driver"' EXIT
  curl --fail --silent --show-error --location "$github/csi-driver-host-path/archive/refs/tags/$hostpath.tar.gz" |
    tar -xz -C "$driver" --strip-components=1
  "$driver/deploy/kubernetes-latest/deploy.sh"
  kubectl apply -f "$driver/examples/csi-storageclass.yaml"
  kubectl annotate --overwrite volumesnapshotclass csi-hostpath-snapclass snapshot.storage.kubernetes.io/is-default-class=true

  echo "== The operator"
  make image build-installer IMG="$image"
  kind load image-archive bin/image.tar --name "$name"
  kubectl apply --server-side -f dist/crds.yaml -f dist/install.yaml
  kubectl -n snapshotschedule-system rollout status deployment/snapshotschedule-controller-manager --timeout=3m
}

case "${1:-}" in
  up) up ;;
  down) kind delete cluster --name "$name" ;;
  *) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

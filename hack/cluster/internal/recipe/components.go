// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"path"
	"strings"
)

// Names of the components. They are also the file names in the bin folder.
const (
	Etcd                  = "etcd"
	KubeAPIServer         = "kube-apiserver"
	Kubectl               = "kubectl"
	KubeControllerManager = "kube-controller-manager"
	SnapshotController    = "snapshot-controller"
	CSISnapshotter        = "csi-snapshotter"
	CSIProvisioner        = "csi-provisioner"
	MockCSI               = "mock-csi"
	CRDs                  = "crds"
	Kubelet               = "kubelet"
	KubeProxy             = "kube-proxy"
	KubeScheduler         = "kube-scheduler"
	Containerd            = "containerd"
	Ctr                   = "ctr"
	Shim                  = "containerd-shim-runc-v2"
	Pause                 = "pause"
)

// Component is one thing to build: a program, or the folder of snapshot CRDs. It is part of the cache key: renaming a
// field rebuilds everything.
type Component struct {
	Name string
	// Module names the generated build module (see GoMod). The CRDs have none: they are copied and not compiled.
	Module string
	// Package is the argument of go build, if there is a module.
	Package string
	// Envtest marks the programs that envtest starts.
	Envtest bool
	// CSI marks what only the snapshot stack needs.
	CSI bool
	// Node marks what only a cluster with a node needs. It builds on Linux only.
	Node bool
	// Tags are comma-separated build tags.
	Tags string
}

// Program returns the name that go build gives to a component.
func (c Component) Program() string { return path.Base(strings.TrimSuffix(c.Package, "/v3")) }

// Components returns every component in build order.
func (v Versions) Components() []Component {
	snap, prov := v.snapshotterModule("")+"/cmd/", provisionerModule+"/cmd/"
	const (
		k8s  = "k8s.io/kubernetes/cmd/"
		ctrd = "github.com/containerd/containerd/v2/cmd/"
		cni  = "github.com/containernetworking/plugins/plugins/"
		// Storage drivers that need C libraries or that no test needs.
		noDrivers = "no_btrfs,no_devmapper,no_zfs,no_aufs"
	)
	return []Component{
		{Name: Etcd, Module: v.graph("etcd"), Package: "go.etcd.io/etcd/server/v3", Envtest: true},
		{Name: KubeAPIServer, Module: "kubernetes", Package: k8s + "kube-apiserver", Envtest: true},
		{Name: Kubectl, Module: "kubernetes", Package: k8s + "kubectl", Envtest: true},
		{Name: KubeControllerManager, Module: "kubernetes", Package: k8s + "kube-controller-manager"},
		{Name: SnapshotController, Module: v.graph("snapshotter"), Package: snap + "snapshot-controller", CSI: true},
		{Name: CSISnapshotter, Module: v.graph("snapshotter"), Package: snap + "csi-snapshotter", CSI: true},
		{Name: CSIProvisioner, Module: v.graph("provisioner"), Package: prov + "csi-provisioner", CSI: true},
		{Name: MockCSI, Module: "kubernetes", Package: "./" + MockCSI, CSI: true},
		{Name: CRDs, Package: CRDs, CSI: true},
		{Name: Kubelet, Module: "kubernetes", Package: k8s + "kubelet", Node: true},
		{Name: KubeProxy, Module: "kubernetes", Package: k8s + "kube-proxy", Node: true},
		{Name: KubeScheduler, Module: "kubernetes", Package: k8s + "kube-scheduler", CSI: true}, // which e2e starts without a node
		{Name: Containerd, Module: "containerd", Package: ctrd + "containerd", Node: true, Tags: noDrivers},
		{Name: Ctr, Module: "containerd", Package: ctrd + "ctr", Node: true, Tags: noDrivers},
		{Name: Shim, Module: "containerd", Package: ctrd + "containerd-shim-runc-v2", Node: true, Tags: noDrivers},
		{Name: "ptp", Module: "cni", Package: cni + "main/ptp", Node: true},
		{Name: "host-local", Module: "cni", Package: cni + "ipam/host-local", Node: true},
		{Name: "loopback", Module: "cni", Package: cni + "main/loopback", Node: true},
		{Name: Pause, Module: "kubernetes", Package: "./" + Pause, Node: true},
	}
}

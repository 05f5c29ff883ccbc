// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"fmt"
	"strings"
)

// The names of the parts are also their file names in the bin folder.
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
	CNIPtp                = "ptp"
	CNIHostLocal          = "host-local"
	CNILoopback           = "loopback"
	Pause                 = "pause"
)

// Part is one thing to build: a program, or the folder of snapshot CRDs.
type Part struct {
	Name string
	// Module names the generated build module (see GoMod); empty for CRDs,
	// which are copied and not compiled.
	Module string
	// Package is what go build is asked for.
	Package string
	// Envtest marks what setup-envtest ships, which can be had prebuilt.
	Envtest bool
	// CSI marks what a cluster without snapshots does without.
	CSI bool
	// Node marks what only a cluster with a node needs: one that runs pods.
	// It builds on Linux only.
	Node bool
	// Tags are build tags, separated by commas.
	Tags string
}

// Parts lists everything, in the order of building.
func Parts() []Part { return append(withoutNode(), forNode()...) }

func withoutNode() []Part {
	const (
		k8s  = "k8s.io/kubernetes/cmd/"
		snap = "github.com/kubernetes-csi/external-snapshotter/v8/cmd/"
		prov = "github.com/kubernetes-csi/external-provisioner/v6/cmd/"
	)
	return []Part{
		{Name: Etcd, Module: "etcd", Package: "go.etcd.io/etcd/server/v3", Envtest: true},
		{Name: KubeAPIServer, Module: "kubernetes", Package: k8s + "kube-apiserver", Envtest: true},
		{Name: Kubectl, Module: "kubernetes", Package: k8s + "kubectl", Envtest: true},
		{Name: KubeControllerManager, Module: "kubernetes", Package: k8s + "kube-controller-manager"},
		{Name: SnapshotController, Module: "snapshotter", Package: snap + "snapshot-controller", CSI: true},
		{Name: CSISnapshotter, Module: "snapshotter", Package: snap + "csi-snapshotter", CSI: true},
		{Name: CSIProvisioner, Module: "provisioner", Package: prov + "csi-provisioner", CSI: true},
		{Name: MockCSI, Module: "kubernetes", Package: "./mockcsi", CSI: true},
		{Name: CRDs, CSI: true},
	}
}

func forNode() []Part {
	const (
		k8s  = "k8s.io/kubernetes/cmd/"
		ctrd = "github.com/containerd/containerd/v2/cmd/"
		cni  = "github.com/containernetworking/plugins/plugins/"
		// Ways to store images that need C libraries or that no test needs.
		less = "no_btrfs,no_devmapper,no_zfs,no_aufs"
	)
	return []Part{
		{Name: Kubelet, Module: "kubernetes", Package: k8s + "kubelet", Node: true},
		{Name: KubeProxy, Module: "kubernetes", Package: k8s + "kube-proxy", Node: true},
		{Name: KubeScheduler, Module: "kubernetes", Package: k8s + "kube-scheduler", Node: true},
		{Name: Containerd, Module: "containerd", Package: ctrd + "containerd", Node: true, Tags: less},
		{Name: Ctr, Module: "containerd", Package: ctrd + "ctr", Node: true, Tags: less},
		{Name: Shim, Module: "containerd", Package: ctrd + "containerd-shim-runc-v2", Node: true, Tags: less},
		{Name: CNIPtp, Module: "cni", Package: cni + "main/ptp", Node: true},
		{Name: CNIHostLocal, Module: "cni", Package: cni + "ipam/host-local", Node: true},
		{Name: CNILoopback, Module: "cni", Package: cni + "main/loopback", Node: true},
		{Name: Pause, Module: "kubernetes", Package: "./pause", Node: true},
	}
}

// Assets are the parts that envtest needs: its three binaries and the CRDs.
func Assets() []Part {
	return filter(func(p Part) bool { return p.Envtest || p.Name == CRDs })
}

// ForCluster are the parts that a running cluster needs.
func ForCluster(csi, node bool) []Part {
	return filter(func(p Part) bool { return (csi || !p.CSI) && (node || !p.Node) })
}

// Named picks parts by name, keeping the order of building.
func Named(names []string) ([]Part, error) {
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[strings.TrimSpace(n)] = true
	}
	picked := filter(func(p Part) bool {
		hit := wanted[p.Name]
		delete(wanted, p.Name)
		return hit
	})
	for n := range wanted {
		var all []string
		for _, p := range Parts() {
			all = append(all, p.Name)
		}
		return nil, fmt.Errorf("there is no part %q; the parts are %s", n, strings.Join(all, ", "))
	}
	return picked, nil
}

func filter(keep func(Part) bool) []Part {
	var out []Part
	for _, p := range Parts() {
		if keep(p) {
			out = append(out, p)
		}
	}
	return out
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package node is the machine of a one-node cluster: mount, network and pid
// namespaces and a cgroup of its own on this machine, in which kubelet,
// containerd and kube-proxy run as on any node. When the first process in it
// ends the kernel ends all others, and nothing is left but a folder and a
// cgroup.
package node

// What the node is called and where it is, in a network that nobody outside sees.
const (
	Name        = "local"
	IP          = "172.31.0.2"
	ServiceIP   = "10.0.0.1"
	DNSIP       = "10.0.0.10"
	ServiceCIDR = "10.0.0.0/24"
	PodCIDR     = "10.244.0.0/24"
)

// masked are folders of the machine in whose place the node sees empty ones:
// the programs of a node write there and don't take another folder.
var masked = []string{"/run", "/var/log", "/var/lib"}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package node isolates a one-node cluster from the machine: kubelet, containerd
// and kube-proxy run in their own mount, network and pid namespaces and in their
// own cgroup. When the init process of the pid namespace exits, the kernel kills
// all other processes. Only a folder and a cgroup are left to remove.
package node

// The node's name and addresses, in a network that is not visible from outside.
const (
	Name        = "local"
	IP          = "172.31.0.2"
	ServiceIP   = "10.0.0.1"
	DNSIP       = "10.0.0.10"
	ServiceCIDR = "10.0.0.0/24"
	PodCIDR     = "10.244.0.0/24"
)

// masked are folders that appear empty inside the node, because its programs
// write to them and cannot be configured to use others.
var masked = []string{"/run", "/var/log", "/var/lib"}

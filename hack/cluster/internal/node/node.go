/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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

// hidden are folders of the machine in whose place the node sees empty ones:
// the programs of a node write there and don't take another folder.
var hidden = []string{"/run", "/var/log", "/var/lib"}

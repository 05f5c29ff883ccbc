// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recipe says what a local cluster is made of: which versions, which
// programs, and how each is built from Go modules.
package recipe

import "strings"

// Versions are what a version bump changes. They go into the cache key, so a
// change here rebuilds and never mixes with what was built before.
type Versions struct {
	Kubernetes  string
	Etcd        string
	Snapshotter string
	// SnapshotCRDs is the client module of the external-snapshotter, whose
	// releases need not follow those of the controllers.
	SnapshotCRDs string
	Provisioner  string
	// Containerd and CNI are what runs pods on a node, beside Kubernetes' own
	// programs.
	Containerd string
	CNI        string
}

// Current is what is built today. Versions are written without the leading v.
func Current() Versions {
	return Versions{
		Kubernetes:   "1.37.1",
		Etcd:         "3.6.8",
		Snapshotter:  "8.7.0",
		SnapshotCRDs: "8.7.0",
		Provisioner:  "6.3.0",
		Containerd:   "2.4.2",
		CNI:          "1.9.1",
	}
}

// SetupEnvtest is the tool that downloads prebuilt etcd, kube-apiserver and
// kubectl. It isn't part of the cache key: it changes where a binary comes
// from, not which one it is.
const SetupEnvtest = "sigs.k8s.io/controller-runtime/tools/setup-envtest@v0.25.1"

// KubernetesMinor is the minor version, as 1.37, that prebuilt binaries must have.
func (v Versions) KubernetesMinor() string {
	parts := strings.SplitN(v.Kubernetes, ".", 3)
	if len(parts) < 2 {
		return v.Kubernetes
	}
	return parts[0] + "." + parts[1]
}

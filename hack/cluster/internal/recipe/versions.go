// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recipe defines what a local cluster consists of: the versions, the
// components, and how each component is built from Go modules.
package recipe

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"golang.org/x/mod/semver"
)

// Versions are the versions of everything that is built, without the leading v. They are part of the cache key, so each
// set of versions has its own cache folder. A cluster of another release needs another value of this type and nothing else.
type Versions struct {
	Kubernetes  string
	Etcd        string
	Snapshotter string
	// SnapshotCRDs is the version of external-snapshotter's client module, with the same major and minor version.
	SnapshotCRDs string
	Provisioner  string
	// Containerd and CNI run the pods of a node.
	Containerd, CNI string
}

// Current returns the versions that are built by default.
func Current() Versions {
	return Versions{
		Kubernetes:   "1.37.1",
		Etcd:         "3.7.0",
		Snapshotter:  "8.7.0",
		SnapshotCRDs: "8.7.0",
		Provisioner:  "6.4.0",
		Containerd:   "2.4.2",
		CNI:          "1.9.1",
	}
}

// With returns the versions with another release of Kubernetes and of external-snapshotter, unless the text is empty.
func (v Versions) With(kubernetes, snapshotter string) (Versions, error) {
	for _, version := range []string{kubernetes, snapshotter} {
		if version != "" && !semver.IsValid("v"+version) {
			return v, fmt.Errorf("invalid version %q: want one such as %s", version, v.Kubernetes)
		}
	}
	v.Kubernetes = cmp.Or(kubernetes, v.Kubernetes)
	if snapshotter != "" {
		// The client module has no patch releases.
		v.Snapshotter, v.SnapshotCRDs = snapshotter, strings.TrimPrefix(semver.MajorMinor("v"+snapshotter), "v")+".0"
	}
	if v != Current() {
		v.Etcd, v.Provisioner = "3.6.8", "6.3.0" // those above build only in the default graph
	}
	return v, nil
}

const provisionerModule = "github.com/kubernetes-csi/external-provisioner/v6"

// snapshotterModule returns the path of external-snapshotter's module, or of a module in it, with the major version.
func (v Versions) snapshotterModule(name string) string {
	return "github.com/kubernetes-csi/external-snapshotter/" + name + semver.Major("v"+v.Snapshotter)
}

// buildScheme is increased when the build itself changes in a way that the other fields of the cache key do not show.
const buildScheme = 3

// Hash returns the cache key of everything built from these versions for one platform, except for Sources (see File).
func (v Versions) Hash(goos, goarch string) string {
	var flags []string
	for _, c := range v.Components() {
		flags = append(flags, v.LDFlags(c))
	}
	// Marshalling plain structs and strings cannot fail.
	b, _ := json.Marshal(struct {
		Scheme       int
		Versions     Versions
		Parts        []Component
		Flags        []string
		GOOS, GOARCH string
	}{buildScheme, v, v.Components(), flags, goos, goarch})
	return hash(b)
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])[:12]
}

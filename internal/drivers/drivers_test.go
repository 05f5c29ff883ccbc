// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package drivers

import (
	"slices"
	"strings"
	"testing"
)

func TestEachDriverHasAFactAndItsSource(t *testing.T) {
	names := map[string]bool{}
	for _, d := range All {
		if d.Source == "" || d.Storage == "" || names[d.Name] ||
			len(d.Annotate) == 0 != d.NoSnapshots {
			t.Errorf("%+v", d)
		}
		names[d.Name] = true
	}
	if !slices.IsSortedFunc(All, func(a, b Driver) int { return strings.Compare(strings.ToLower(a.Storage), strings.ToLower(b.Storage)) }) {
		t.Error("not in the order of the storage")
	}
}

func TestFind(t *testing.T) {
	for name, want := range map[string]string{
		"csi.vsphere.vmware.com":     "vSphere",
		"rook-ceph.rbd.csi.ceph.com": "Ceph RBD",
		"notrbd.csi.ceph.com.local":  "",
		"xrbd.csi.ceph.com":          "",
		"hostpath.csi.k8s.io":        "",
	} {
		d, found := Find(name)
		if d.Storage != want || found != (want != "") || found && d.Name != name {
			t.Errorf("%s: %+v, %v; want %q", name, d, found, want)
		}
	}
}

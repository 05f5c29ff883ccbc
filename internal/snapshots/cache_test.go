// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"slices"
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// Contract: RET-1.
func TestRestoringFrom(t *testing.T) {
	pending := func() claimBuilder { return claim("new").phase(corev1.ClaimPending) }
	group := snapshotv1.GroupName
	tests := map[string]struct {
		claim         claimBuilder
		wantNamespace string
		wantName      string
	}{
		"dataSource":                     {pending().from(group, "VolumeSnapshot", "s"), "shop", "s"},
		"dataSourceRef":                  {pending().fromRef(group, "VolumeSnapshot", "", "s"), "shop", "s"},
		"of another namespace":           {pending().fromRef(group, "VolumeSnapshot", "other", "s"), "other", "s"},
		"both":                           {pending().from(group, "VolumeSnapshot", "s").fromRef(group, "VolumeSnapshot", "other", "s"), "other", "s"},
		"Bound":                          {claim("new").from(group, "VolumeSnapshot", "s"), "", ""},
		"Lost":                           {pending().phase(corev1.ClaimLost).from(group, "VolumeSnapshot", "s"), "", ""},
		"without a source":               {pending(), "", ""},
		"clone of a PVC":                 {pending().from("", "PersistentVolumeClaim", "s"), "", ""},
		"another group's VolumeSnapshot": {pending().from("example.com", "VolumeSnapshot", "s"), "", ""},
		"ref of another kind":            {pending().fromRef("example.com", "Backup", "", "s"), "", ""},
		"after the transform":            {claimBuilder{strip(t, stripClaim, pending().from(group, "VolumeSnapshot", "s").PersistentVolumeClaim)}, "shop", "s"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			namespace, name, ok := restoringFrom(tc.claim.PersistentVolumeClaim)
			if namespace != tc.wantNamespace || name != tc.wantName || ok != (tc.wantName != "") {
				t.Errorf("got %s/%s, %v, want %s/%s", namespace, name, ok, tc.wantNamespace, tc.wantName)
			}
		})
	}
}

// Contract: RET-1.
func TestRelatedAreRestoresFromTheNamespaceOfTheSchedule(t *testing.T) {
	p := newPopulation(t)
	for name, c := range map[string]claimBuilder{
		"restore": claim("").phase(corev1.ClaimPending).from(snapshotv1.GroupName, "VolumeSnapshot", "s"),
		"other":   claim("").phase(corev1.ClaimPending).fromRef(snapshotv1.GroupName, "VolumeSnapshot", "other", "s"),
		"done":    claim("").from(snapshotv1.GroupName, "VolumeSnapshot", "s"),
	} {
		c.Name = name
		must(t, p.claims.Add(c.PersistentVolumeClaim))
	}
	if got := p.related(every("6h").SnapshotSchedule, mapcontroller.Observation{MapKey: "data-uid"}); len(got) != 1 || got[0].GetName() != "restore" {
		t.Errorf("got %v, want the restore", got)
	}
}

func TestCacheOptionsRestrictTheCache(t *testing.T) {
	if all := CacheOptions(NewStores()).DefaultNamespaces; all != nil {
		t.Errorf("without a namespace: %v", all)
	}
	if two := CacheOptions(NewStores(), "a", "b").DefaultNamespaces; len(two) != 2 {
		t.Errorf("with two namespaces: %v", two)
	}
	if period := CacheOptions(NewStores()).SyncPeriod; period == nil || *period != 0 {
		t.Error("informers deliver all objects again from time to time")
	}
	for o, by := range CacheOptions(NewStores()).ByObject {
		switch o.(type) {
		case *snapshotv1.VolumeSnapshot:
			if by.Label.String() != v1alpha1.LabelMapKey || by.Transform == nil {
				t.Errorf("snapshots: selector %v", by.Label)
			}
		case *corev1.PersistentVolumeClaim:
			if by.Label != nil || by.Transform == nil {
				t.Errorf("PVCs: selector %v", by.Label)
			}
		}
	}
}

func TestClaimChanged(t *testing.T) {
	for name, tc := range map[string]struct {
		after claimBuilder
		want  bool
	}{
		"nothing":              {claim("data"), false},
		"phase":                {claim("data").phase(corev1.ClaimLost), true},
		"requested-at":         {claim("data").requested(rfc3339(noon)), false},
		"driver":               {claim("data").of("csi.example.com"), true},
		"driver, as of old":    {claim("data").with(func(c *corev1.PersistentVolumeClaim) { annotate(c, annotationBetaProvisioner, "x") }), true},
		"storage class":        {claim("data").with(func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = ptr.To("fast") }), true},
		"exclude":              {claim("data").with(func(c *corev1.PersistentVolumeClaim) { annotate(c, v1alpha1.AnnotationExclude, "") }), true},
		"a finalizer is added": {claim("data").with(func(c *corev1.PersistentVolumeClaim) { c.Finalizers = []string{"x"} }), false},
		"a field in its status": {claim("data").with(func(c *corev1.PersistentVolumeClaim) {
			c.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: "Resizing"}}
		}), false},
	} {
		if got := claimChanged(claim("data").PersistentVolumeClaim, tc.after.PersistentVolumeClaim); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// Contract: MAP-11.
func TestSkipsReadWhatTheCacheKeeps(t *testing.T) {
	examples := map[SkipReason]claimBuilder{
		"being deleted":      claim("data").deleting(),
		"its volume is lost": claim("data").phase(corev1.ClaimLost),
		"not Bound":          claim("data").phase(corev1.ClaimPending),
	}
	for _, rule := range Skips {
		example, exists := examples[rule.Reason]
		switch {
		case !exists:
			t.Errorf("the test has no PVC that is skipped because it is %q", rule.Reason)
		case skip(strip(t, stripClaim, example.DeepCopy())) != rule.Reason:
			t.Errorf("in the cache, a PVC is not skipped that is %q: see stripClaim", rule.Reason)
		case rule.Problem != "" && !slices.ContainsFunc(reasons, func(r reason) bool { return r.name == rule.Problem }):
			t.Errorf("reasons in problem.go does not have %s", rule.Problem)
		}
	}
}

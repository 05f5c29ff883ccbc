// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cached

import (
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Sharing and packing must not change what is read, whatever differs between the
// snapshots of a PVC.
func TestInterningDoesNotChangeSnapshots(t *testing.T) {
	for name, change := range map[string]func(*snapshotv1.VolumeSnapshot){
		"equal":        func(*snapshotv1.VolumeSnapshot) {},
		"no status":    func(v *snapshotv1.VolumeSnapshot) { v.Status = nil },
		"empty status": func(v *snapshotv1.VolumeSnapshot) { v.Status = &snapshotv1.VolumeSnapshotStatus{} },
		"not ready":    func(v *snapshotv1.VolumeSnapshot) { v.Status.ReadyToUse = ptr.To(false) },
		"not cut":      func(v *snapshotv1.VolumeSnapshot) { v.Status.CreationTime = nil },
		"in error":     func(v *snapshotv1.VolumeSnapshot) { v.Status.Error = &snapshotv1.VolumeSnapshotError{} },
		"held":         func(v *snapshotv1.VolumeSnapshot) { v.Annotations[v1alpha1.AnnotationHold] = "yes" },
		"drilled": func(v *snapshotv1.VolumeSnapshot) {
			v.Annotations[v1alpha1.AnnotationVerifiedAt] = "2026-06-15T12:00:00Z"
		},
		"an orphan": func(v *snapshotv1.VolumeSnapshot) { v.OwnerReferences = nil },
		"two owners": func(v *snapshotv1.VolumeSnapshot) {
			v.OwnerReferences = append(v.OwnerReferences, metav1.OwnerReference{UID: "x"})
		},
		"another owner":     func(v *snapshotv1.VolumeSnapshot) { v.OwnerReferences[0].UID = "another" },
		"another namespace": func(v *snapshotv1.VolumeSnapshot) { v.Namespace = "other" },
		"another schedule":  func(v *snapshotv1.VolumeSnapshot) { v.Labels[v1alpha1.LabelSchedule] = "other" },
		"no labels":         func(v *snapshotv1.VolumeSnapshot) { v.Labels = nil },
		"no PVC":            func(v *snapshotv1.VolumeSnapshot) { v.Spec.Source.PersistentVolumeClaimName = nil },
		"of a content":      func(v *snapshotv1.VolumeSnapshot) { v.Spec.Source.VolumeSnapshotContentName = ptr.To("content") },
	} {
		t.Run(name, func(t *testing.T) {
			for _, first := range []bool{true, false} {
				shared := Snapshots()
				one, other := full(), full()
				other.Name = "other"
				if first {
					change(one)
				} else {
					change(other)
				}
				for _, v := range []*snapshotv1.VolumeSnapshot{one, other} {
					alone := v.DeepCopy()
					stripSnapshot(alone)
					if got, want := toJSON(strip(t, shared, v)), toJSON(alone); got != want {
						t.Errorf("got  %s\nwant %s", got, want)
					}
				}
			}
		})
	}
}

func TestSnapshotsOfAPVCShareValues(t *testing.T) {
	shared := Snapshots()
	one, other := strip(t, shared, full()), strip(t, shared, full())
	if &one.OwnerReferences[0] != &other.OwnerReferences[0] ||
		one.Spec.Source.PersistentVolumeClaimName != other.Spec.Source.PersistentVolumeClaimName {
		t.Error("each holds its own values")
	}
}

// The class tells whose limit an uncut snapshot counts towards, and whether the data of a deleted one stays.
func TestStripKeepsTheClassAndSharesItsName(t *testing.T) {
	shared := Snapshots()
	cached := func(v *snapshotv1.VolumeSnapshot) *string {
		v.Spec.VolumeSnapshotClassName = ptr.To("fast")
		return strip(t, shared, v).Spec.VolumeSnapshotClassName
	}
	first, imported := cached(uncut()), uncut()
	imported.Spec.Source = snapshotv1.VolumeSnapshotSource{VolumeSnapshotContentName: ptr.To("content")}
	for _, v := range []*snapshotv1.VolumeSnapshot{uncut(), full(), imported} {
		if got := cached(v); got != first || *got != "fast" {
			t.Errorf("%v, want the name of the first, %v", got, first)
		}
	}
}

// PVCs of one driver and storage class share what they have in common; none of them
// gets what is another's.
func TestClaimsShareTheirStorage(t *testing.T) {
	shared := claims()
	cached := func(change func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{provisioner: testDriver}}}
		c.Spec.StorageClassName = ptr.To("fast")
		if change != nil {
			change(c)
		}
		want := toJSON(strip(t, claims(), c.DeepCopy()))
		got := strip(t, shared, c)
		if toJSON(got) != want {
			t.Errorf("cached as %s, want %s", toJSON(got), want)
		}
		return got
	}
	excluded := cached(func(c *corev1.PersistentVolumeClaim) { c.Annotations[v1alpha1.AnnotationExclude] = "yes" })
	first, second := cached(nil), cached(nil)
	other := cached(func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = ptr.To("slow") })
	cached(func(c *corev1.PersistentVolumeClaim) { c.Annotations[provisioner] = "other.example.com" })
	cached(func(c *corev1.PersistentVolumeClaim) { c.Annotations = nil })
	cached(func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = nil })
	// Without a driver: the first has an empty one, the second has as many annotations.
	cached(func(c *corev1.PersistentVolumeClaim) {
		c.Spec.StorageClassName, c.Annotations = ptr.To("manual"), map[string]string{provisioner: ""}
	})
	cached(func(c *corev1.PersistentVolumeClaim) {
		c.Spec.StorageClassName, c.Annotations = ptr.To("manual"), map[string]string{v1alpha1.AnnotationExclude: "true"}
	})
	if first.Spec.StorageClassName != second.Spec.StorageClassName || first.Spec.StorageClassName != excluded.Spec.StorageClassName {
		t.Error("the storage class is not shared")
	}
	if first.Spec.StorageClassName == other.Spec.StorageClassName {
		t.Error("different storage classes are shared")
	}
	first.Annotations["shared"] = "yes"
	if second.Annotations["shared"] != "yes" || excluded.Annotations["shared"] != "" {
		t.Error("annotations are not shared with those that have the same, and only with them")
	}
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"encoding/json"
	"strings"
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// request is a restore that succeeds, for tests to change.
type request struct {
	s       Source
	cluster Cluster
	o       Options
}

func newRequest() *request {
	v := snapshot("data", "data1", at(2, 0))
	return &request{
		s: Source{Snapshot: v, Content: content(v), Claim: claim("data", "data1", at(0, 0))},
		cluster: Cluster{
			StorageClasses: []storagev1.StorageClass{storageClass("other", "other.csi"), storageClass("fast", driver)},
			Claims:         map[string]bool{"data": true},
		},
	}
}

func TestClaimTakesSizeClassAndModesFromSnapshotAndPVC(t *testing.T) {
	r := newRequest()
	plan, err := Claim(r.s, r.cluster, r.o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(plan.Claim)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "PVC", string(text), `{"kind":"PersistentVolumeClaim","apiVersion":"v1","metadata":{"name":"data-0200","namespace":"shop"},`+
		`"spec":{"accessModes":["ReadWriteMany"],"resources":{"requests":{"storage":"2Gi"}},"storageClassName":"fast","volumeMode":"Block",`+
		`"dataSource":{"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot","name":"data-0200"}},"status":{}}`)
	if len(plan.Notes) > 0 || plan.WaitsForConsumer {
		t.Errorf("got %+v, want no notes and no wait", plan)
	}
}

// Contract: CLI-7.
func TestClaim(t *testing.T) {
	gone := func(r *request) { r.s.Claim = nil }
	for name, c := range map[string]struct {
		change func(*request)
		want   string // name, class, size, access modes, volume mode
		notes  string
	}{
		"the PVC's size, if it is larger": {
			func(r *request) {
				r.s.Claim.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("5Gi")
			},
			"data-0200 fast 5Gi ReadWriteMany Block", "",
		},
		"the size that the PVC has, if it asked for less": {
			func(r *request) {
				r.s.Claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("5Gi")}
			},
			"data-0200 fast 5Gi ReadWriteMany Block", "",
		},
		"the size that the PVC has, if the driver reports the data in use": {
			func(r *request) {
				r.s.Claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("5Gi")}
				r.s.Snapshot.Status.RestoreSize = ptr.To(resource.MustParse("61743560"))
			},
			"data-0200 fast 5Gi ReadWriteMany Block", "",
		},
		"the size that the PVC asks for, if it is being expanded": {
			func(r *request) {
				r.s.Claim.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("9Gi")
				r.s.Claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("5Gi")}
			},
			"data-0200 fast 9Gi ReadWriteMany Block", "",
		},
		"a size that is smaller than the PVC's": {
			func(r *request) {
				r.s.Claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("5Gi")}
				r.o.Size = ptr.To(resource.MustParse("3Gi"))
			},
			"data-0200 fast 3Gi ReadWriteMany Block", "data-0200: size 3Gi is less than the 5Gi of its PVC: the driver may refuse it",
		},
		"what the user asks for": {
			func(r *request) {
				r.cluster.StorageClasses = append(r.cluster.StorageClasses, storageClass("slow", driver))
				r.o = Options{
					Name: "new", StorageClass: "slow", Size: ptr.To(resource.MustParse("9Gi")),
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod},
				}
			},
			"new slow 9Gi ReadWriteOncePod Block", "",
		},
		"placeholders": {
			func(r *request) { r.o.Name = "{pvc}-from-{snapshot}" },
			"data-from-data-0200 fast 2Gi ReadWriteMany Block", "",
		},
		"the PVC's name, if it is free": {
			func(r *request) { gone(r); r.cluster.Claims, r.o.Name = nil, "{pvc}" },
			"data fast 2Gi ReadWriteOnce Block", "data-0200: its PVC is gone, so the access mode is ReadWriteOnce",
		},
		"the only class of the driver": {
			gone, "data-0200 fast 2Gi ReadWriteOnce Block", "data-0200: its PVC is gone, so the access mode is ReadWriteOnce",
		},
		"the default class of the driver": {
			func(r *request) {
				gone(r)
				r.o.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
				r.cluster.StorageClasses = []storagev1.StorageClass{storageClass("a", driver), isDefault(storageClass("b", driver)), isDefault(storageClass("c", "other.csi"))}
			},
			"data-0200 b 2Gi ReadWriteMany Block", "",
		},
		"another class of the driver, if the PVC's is gone": {
			func(r *request) { r.s.Claim.Spec.StorageClassName = ptr.To("removed") },
			"data-0200 fast 2Gi ReadWriteMany Block", "",
		},
		"the snapshot's volume mode, not the PVC's": {
			func(r *request) { r.s.Content.Spec.SourceVolumeMode = ptr.To(corev1.PersistentVolumeFilesystem) },
			"data-0200 fast 2Gi ReadWriteMany Filesystem", "",
		},
		"the class of the snapshot names the driver, if the content can't be read": {
			func(r *request) { r.s.Content, r.s.Class = nil, &snapshotv1.VolumeSnapshotClass{Driver: driver} },
			"data-0200 fast 2Gi ReadWriteMany Block", "",
		},
		"an unknown driver is not checked": {
			func(r *request) { r.s.Content = nil },
			"data-0200 fast 2Gi ReadWriteMany Block", "data-0200: whether StorageClass fast belongs to the snapshot's driver was not checked",
		},
		"unknown classes are not checked": {
			func(r *request) { r.cluster.ClassesUnknown, r.cluster.StorageClasses = true, nil },
			"data-0200 fast 2Gi ReadWriteMany Block", "data-0200: whether StorageClass fast belongs to the snapshot's driver was not checked",
		},
		"an unknown volume mode": {
			func(r *request) {
				gone(r)
				r.s.Content.Spec.SourceVolumeMode = nil
				r.o.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
			},
			"data-0200 fast 2Gi ReadWriteMany ", "data-0200: its volume mode is unknown, so it is Filesystem",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRequest()
			c.change(r)
			plan, err := Claim(r.s, r.cluster, r.o)
			if err != nil {
				t.Fatal(err)
			}
			spec := &plan.Claim.Spec
			got := []string{plan.Claim.Name, *spec.StorageClassName, spec.Resources.Requests.Storage().String(), string(spec.AccessModes[0]),
				string(ptr.Deref(spec.VolumeMode, ""))}
			expect(t, "PVC", strings.Join(got, " "), c.want)
			expect(t, "notes", strings.Join(plan.Notes, "; "), c.notes)
		})
	}
}

func TestClaimKeepsVolumeAttributesOfTheSameClassOnly(t *testing.T) {
	r := newRequest()
	r.s.Claim.Spec.VolumeAttributesClassName = ptr.To("gold")
	r.cluster.StorageClasses = append(r.cluster.StorageClasses, storageClass("slow", driver))
	for class, want := range map[string]string{"": "gold", "fast": "gold", "slow": ""} {
		plan, err := Claim(r.s, r.cluster, Options{StorageClass: class})
		if err != nil {
			t.Fatal(err)
		}
		expect(t, "with class "+class, ptr.Deref(plan.Claim.Spec.VolumeAttributesClassName, ""), want)
	}
}

func TestClaimKnowsWhatWaitsForAConsumer(t *testing.T) {
	r := newRequest()
	r.cluster.StorageClasses[1].VolumeBindingMode = ptr.To(storagev1.VolumeBindingWaitForFirstConsumer)
	plan, err := Claim(r.s, r.cluster, r.o)
	if err != nil || !plan.WaitsForConsumer {
		t.Errorf("got %+v, %v, want a plan that waits", plan, err)
	}
}

func TestClaimRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*request)
		want   string
	}{
		"a snapshot that is being deleted": {
			func(r *request) { r.s.Snapshot.DeletionTimestamp = &metav1.Time{Time: noon} }, "it is being deleted",
		},
		"one that is not ready": {func(r *request) { unready(r.s.Snapshot) }, "it is not ready to use"},
		"one without status":    {func(r *request) { r.s.Snapshot.Status = nil }, "it is not ready to use"},
		"one with an error": {
			func(r *request) {
				unready(r.s.Snapshot)
				r.s.Snapshot.Status.Error = &snapshotv1.VolumeSnapshotError{Message: ptr.To("quota")}
			}, "it is not ready to use: quota",
		},
		"one without a content": {
			func(r *request) { r.s.Content, r.s.ContentGone = nil, true }, "its VolumeSnapshotContent content does not exist, so its data is lost",
		},
		"one that is bound to nothing": {
			func(r *request) { r.s.Snapshot.Status.BoundVolumeSnapshotContentName = nil }, "it is bound to no VolumeSnapshotContent, so",
		},
		"one whose content is being deleted": {
			func(r *request) { r.s.Content.DeletionTimestamp = &metav1.Time{Time: noon} }, "is being deleted",
		},
		"one whose content is another's": {
			func(r *request) { r.s.Content.Spec.VolumeSnapshotRef.UID = "another" }, "belongs to another VolumeSnapshot",
		},
		"the name of another one": {
			func(r *request) { r.o.Name, r.cluster.Planned = "new", map[string]bool{"new": true} }, "another snapshot is restored to PersistentVolumeClaim new",
		},
		"an existing PVC": {func(r *request) { r.o.Name = "data" }, "PersistentVolumeClaim data already exists"},
		"an existing PVC, by placeholder": {
			func(r *request) { r.o.Name = "{pvc}" }, "PersistentVolumeClaim data already exists",
		},
		"an invalid name": {func(r *request) { r.o.Name = "Data_1" }, `"Data_1" is not a valid name of a PersistentVolumeClaim`},
		"a placeholder of an imported snapshot": {
			func(r *request) { fromContent(at(1, 0))(r.s.Snapshot); r.s.Claim, r.o.Name = nil, "{pvc}-new" }, "the name of its PVC is unknown",
		},
		"a size below restoreSize": {
			func(r *request) { r.o.Size = ptr.To(resource.MustParse("1Gi")) }, "size 1Gi is less than its restoreSize 2Gi",
		},
		"a size of zero": {func(r *request) { r.o.Size = ptr.To(resource.MustParse("0")) }, "size 0 is not positive"},
		"an unknown size": {
			func(r *request) { r.s.Claim, r.s.Snapshot.Status.RestoreSize = nil, nil }, "its size is unknown: set one with --size",
		},
		"a size of zero from the driver": {
			func(r *request) { r.s.Claim, r.s.Snapshot.Status.RestoreSize = nil, ptr.To(resource.MustParse("0")) }, "its size is unknown",
		},
		"a class of another driver": {
			func(r *request) { r.o.StorageClass = "other" }, "it belongs to driver mock.csi, but StorageClass other to other.csi",
		},
		"a class that does not exist": {func(r *request) { r.o.StorageClass = "none" }, "StorageClass none does not exist"},
		"no class of the driver": {
			func(r *request) { r.s.Claim, r.cluster.StorageClasses = nil, r.cluster.StorageClasses[:1] }, "no StorageClass of its driver mock.csi",
		},
		"several classes of the driver": {
			func(r *request) { r.s.Claim = nil; r.cluster.StorageClasses[0].Provisioner = driver }, "several StorageClasses: name one with --storage-class: [other fast]",
		},
		"an unknown driver without a class": {func(r *request) { r.s.Claim, r.s.Content = nil, nil }, "its driver is unknown"},
		"unknown classes without a class": {
			func(r *request) { r.s.Claim, r.cluster.ClassesUnknown = nil, true }, "its storage class is unknown",
		},
		"several reasons at once": {
			func(r *request) { r.o.Name, r.o.StorageClass = "data", "none" }, "choose another name with --to; StorageClass none does not exist",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRequest()
			c.change(r)
			plan, err := Claim(r.s, r.cluster, r.o)
			if err == nil {
				t.Fatalf("got %+v, want an error", plan)
			}
			if !strings.HasPrefix(err.Error(), "VolumeSnapshot data-0200 cannot be restored: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, want %q", err, c.want)
			}
		})
	}
}

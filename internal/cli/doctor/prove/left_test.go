// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package prove

import (
	"slices"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mapcontroller.dev/snapshotschedule/internal/cli/doctor/prove/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
)

// Contract: DOC-5.
func TestTheNextRunRemovesWhatIsLeft(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	marked := func(o client.Object, id string, age time.Duration) client.Object {
		o.SetCreationTimestamp(metav1.NewTime(now.Add(-time.Hour)))
		core.Mark(o, id, now.Add(-age))
		return o
	}
	namespace := func(name, id string, age time.Duration) client.Object {
		return marked(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, id, age)
	}
	content := func(name, id string, age time.Duration, policy snapshotv1.DeletionPolicy) client.Object {
		return marked(&snapshotv1.VolumeSnapshotContent{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: snapshotv1.VolumeSnapshotContentSpec{
				DeletionPolicy: policy, VolumeSnapshotRef: corev1.ObjectReference{Namespace: core.Namespace(id)},
				Source: snapshotv1.VolumeSnapshotContentSource{SnapshotHandle: ptr.To("h")},
			},
		}, id, age)
	}
	const retain, old = snapshotv1.VolumeSnapshotContentRetain, 10 * time.Minute
	kept := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain, ClaimRef: &corev1.ObjectReference{Namespace: "snapsched-proof-abcde"},
	}}
	for name, tc := range map[string]struct {
		objects []client.Object
		stays   []string
		wantErr string
		says    string
	}{
		"nothing": {},
		"a dead run": {objects: []client.Object{
			namespace("snapsched-proof-abcde", "abcde", old), content("copy-1", "abcde", old, retain),
		}},
		"a content whose namespace is gone": {objects: []client.Object{content("copy-1", "abcde", old, retain)}},
		"a run that lives": {
			objects: []client.Object{namespace("snapsched-proof-abcde", "abcde", old-time.Second), namespace("snapsched-proof-fghij", "fghij", old)},
			stays:   []string{"snapsched-proof-abcde", "snapsched-proof-fghij"}, wantErr: "another proof runs in namespace snapsched-proof-abcde",
		},
		"a content that was renewed": {
			objects: []client.Object{namespace("snapsched-proof-abcde", "abcde", old), content("copy-1", "abcde", 0, retain)},
			stays:   []string{"copy-1", "snapsched-proof-abcde"}, wantErr: "another proof runs",
		},
		"a namespace that somebody labeled": {
			objects: []client.Object{namespace("shop", "abcde", old)}, stays: []string{"shop"}, says: "shop has the label of a proof",
		},
		"a content that somebody labeled": {
			objects: []client.Object{content("data", "abcde", old, snapshotv1.VolumeSnapshotContentDelete)}, stays: []string{"data"},
			says: "data has the label of a proof",
		},
		"a mark of the future keeps nobody out": {objects: []client.Object{namespace("snapsched-proof-abcde", "abcde", -time.Hour)}},
		"a volume that is kept is named": {
			objects: []client.Object{namespace("snapsched-proof-abcde", "abcde", old), kept}, stays: []string{"pv"},
			says: "it could not be removed: PersistentVolume pv, with the policy Retain",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var all []client.Object
			for _, o := range tc.objects {
				all = append(all, o.DeepCopyObject().(client.Object))
			}
			f, said := factoryOf(t, func() time.Time { return now }, interceptor.Funcs{}, all...)
			err := removeDead(t.Context(), &removal{f: f, goes: goes})
			if (err == nil) != (tc.wantErr == "") || err != nil && !strings.Contains(err.Error(), tc.wantErr) {
				t.Fatal(err)
			}
			var stays []string
			for _, list := range []client.ObjectList{&corev1.NamespaceList{}, &snapshotv1.VolumeSnapshotContentList{}, &corev1.PersistentVolumeList{}} {
				if err := f.Client.List(t.Context(), list); err != nil {
					t.Fatal(err)
				}
				for _, o := range view.Items(list) {
					stays = append(stays, o.GetName())
				}
			}
			slices.Sort(stays)
			if !slices.Equal(stays, tc.stays) || !strings.Contains(said.String(), tc.says) {
				t.Errorf("%v stay: %s", stays, said.String())
			}
		})
	}
}

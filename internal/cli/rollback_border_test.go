// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/rollback"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// Contract: BACK-7.
func TestAPVCThatOnlyARollbackExcludesIsAGap(t *testing.T) {
	now := start.Add(time.Hour)
	s, claim := testSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}), testClaim("data", nil)
	claim.Annotations = map[string]string{v1alpha1.AnnotationExclude: rollback.ExcludedBy("0123abcd")}
	inv := &inventory{classes: anyClass, claims: map[string][]client.Object{"shop": {claim}}}
	got := coverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, now)
	if c := got.Claims[0]; !c.Gap || c.Protection != unprotected || !strings.Contains(c.Reason, "rollback 0123abcd is unfinished") || got.gaps() != 1 {
		t.Errorf("got %+v", c)
	}
}

// Whoever creates a PVC writes the name of a volume into it, which may be no name, or that of another namespace's.
//
// Contract: BACK-5.
func TestVolumesThatUnboundPVCsNameAreNotRead(t *testing.T) {
	victim := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "victim"}}
	victim.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "victims", Name: "data"}
	pvcs := map[string]*corev1.PersistentVolumeClaim{}
	for name, of := range map[string]string{"lure": "victim", "odd": "a/b"} {
		c := testClaim(name, nil)
		c.Spec.VolumeName, c.Status.Phase = of, corev1.ClaimPending
		pvcs[name] = c
	}
	bound := testClaim("bound", nil)
	bound.Spec.VolumeName, bound.Status.Phase = "a/b", corev1.ClaimBound
	pvcs["bound"] = bound
	r := &rollbackRun{Factory: &term.Factory{
		IOStreams: genericiooptions.NewTestIOStreamsDiscard(), Namespace: "shop", Client: fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(victim).Build(),
	}, seen: map[string]bool{}}
	s := &rollback.State{Namespace: "shop", PVCs: pvcs}
	if err := r.readVolumes(t.Context(), s); err != nil || len(s.Volumes) != 0 || r.seen["a/b"] {
		t.Errorf("read %v, looked for %v: %v", s.Volumes, r.seen, err)
	}
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/rollback/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// Whoever creates a PVC writes the name of a volume into it, which may be no name, or that of another namespace's.
//
// Contract: BACK-5.
func TestVolumesThatUnboundPVCsNameAreNotRead(t *testing.T) {
	victim := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "victim"}}
	victim.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "victims", Name: "data"}
	pvcs := map[string]*corev1.PersistentVolumeClaim{}
	for name, of := range map[string]string{"lure": "victim", "odd": "a/b"} {
		c := clitest.Claim(name, nil)
		c.Spec.VolumeName, c.Status.Phase = of, corev1.ClaimPending
		pvcs[name] = c
	}
	bound := clitest.Claim("bound", nil)
	bound.Spec.VolumeName, bound.Status.Phase = "a/b", corev1.ClaimBound
	pvcs["bound"] = bound
	r := &rollbackRun{f: &term.Factory{
		IOStreams: genericiooptions.NewTestIOStreamsDiscard(), Namespace: "shop", Client: fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(victim).Build(),
	}, seen: map[string]bool{}}
	s := &core.State{Namespace: "shop", PVCs: pvcs}
	if err := r.readVolumes(t.Context(), s); err != nil || len(s.Volumes) != 0 || r.seen["a/b"] {
		t.Errorf("read %v, looked for %v: %v", s.Volumes, r.seen, err)
	}
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"context"
	"io"
	"strings"
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/rollback/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// The lock is the first write. Who sees nothing after it leaves a workload that nobody else can roll back.
//
// Contract: BACK-1.
func TestARollbackIsUnfinishedOnceItsLockMayBeWritten(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "persistentvolumeclaims"}, "a", nil)
	for name, tc := range map[string]struct {
		answers        map[string]error // by PVC
		wantUnfinished bool
	}{
		"both are written":          {nil, true},
		"refused":                   {map[string]error{"a": forbidden, "b": forbidden}, false},
		"refused after another one": {map[string]error{"b": forbidden}, true},
		"there is no answer":        {map[string]error{"a": io.EOF}, true},
		"the API server has failed": {map[string]error{"a": apierrors.NewInternalError(io.EOF)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := clitest.Claim("a", nil), clitest.Claim("b", nil)
			volumes := map[string]*corev1.PersistentVolume{}
			for _, claim := range []*corev1.PersistentVolumeClaim{a, b} {
				claim.Spec.VolumeName, claim.Status.Phase = "pv-"+claim.Name, corev1.ClaimBound
				volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName}}
				volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
				volumes[volume.Name] = volume
			}
			schedule := clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{})
			of := func(claim *corev1.PersistentVolumeClaim) *core.Claim {
				target := clitest.Snapshot(schedule, claim, clitest.Start)
				return &core.Claim{Name: claim.Name, Target: target, Manifest: claim, Snapshots: []*snapshotv1.VolumeSnapshot{target}}
			}
			state := &core.State{
				Namespace: a.Namespace, Now: clitest.Start, NewID: "0123abcd", Claims: []*core.Claim{of(a), of(b)},
				PVCs: map[string]*corev1.PersistentVolumeClaim{"a": a, "b": b}, Volumes: volumes,
			}
			step, err := core.Next(state)
			if err != nil || step.Number != 1 || len(step.Changes) != 2 {
				t.Fatalf("got %+v, %v", step, err)
			}
			c := fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(a, b).WithInterceptorFuncs(interceptor.Funcs{
				Patch: func(_ context.Context, _ client.WithWatch, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
					return tc.answers[o.GetName()]
				},
			}).Build()
			r := &rollbackRun{f: &term.Factory{
				IOStreams: genericiooptions.IOStreams{Out: io.Discard}, Namespace: a.Namespace, Client: c,
			}, printed: steps.Printed{}}
			err = r.Unfinished(t.Context(), state, r.Sent(state, step, (&steps.Runner{Factory: r.f}).Send(t.Context(), step)))
			if got := err != nil && strings.Contains(err.Error(), "The rollback is unfinished"); got != tc.wantUnfinished {
				t.Errorf("unfinished = %t, want %t: %v", got, tc.wantUnfinished, err)
			}
		})
	}
}

// A run that takes a workload for scaled stops when it has replicas. After a conflict it was not scaled, though a lock may be renewed.
func TestOnlyAWorkloadThatWasScaledIsScaledUpByAnother(t *testing.T) {
	for name, tc := range map[string]struct {
		outcome steps.Outcome
		want    bool
	}{
		"it was scaled":                          {steps.Outcome{Some: true, All: true}, true},
		"a lock was renewed, and it has changed": {steps.Outcome{Some: true}, false},
	} {
		state := &core.State{Own: &core.Lock{ID: "0123abcd"}, Released: true}
		if _, err := core.Next(state); err != nil {
			t.Fatal(err)
		}
		r := &rollbackRun{f: &term.Factory{}}
		if err := r.Sent(state, core.Step{Scales: true}, tc.outcome); err != nil || r.scaled != tc.want {
			t.Errorf("%s: scaled = %t, %v", name, r.scaled, err)
		}
	}
}

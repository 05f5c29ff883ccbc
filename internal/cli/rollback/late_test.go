// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/rollback/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// The timeout is of the whole command, and an outage that begins when it is almost up stays.
//
// Contract: CLI-52.
func TestARollbackThatIsLateBeginsNoOutage(t *testing.T) {
	for name, tc := range map[string]struct {
		timeout, takes time.Duration // of the command, and of its safety snapshots
		late           bool
	}{
		"more than half is left": {time.Hour, 14 * time.Minute, false},
		"less than half is left": {time.Hour, 16 * time.Minute, true},
		"there is no timeout":    {0, 5 * time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			set, all := hourly()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := clitest.Start.Add(10*time.Hour + 50*time.Minute)
			clock := testclock.NewFakePassiveClock(began)
			scaled := false
			c := fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(append(all, set)...).
				WithIndex(&corev1.Event{}, "involvedObject.uid", func(client.Object) []string { return nil }).WithInterceptorFuncs(interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					switch o := o.(type) {
					case *authorizationv1.SelfSubjectAccessReview:
						o.Status.Allowed = true
						return nil
					case *snapshotv1.VolumeSnapshot:
						clock.SetTime(clock.Now().Add(tc.takes))
						cut := metav1.NewTime(clock.Now())
						o.CreationTimestamp = cut
						o.Status = &snapshotv1.VolumeSnapshotStatus{
							CreationTime: &cut, ReadyToUse: ptr.To(true), BoundVolumeSnapshotContentName: ptr.To("of-" + o.Name),
						}
					case *corev1.PersistentVolumeClaim: // is bound at once
						o.UID, o.Spec.VolumeName, o.Status.Phase = types.UID(o.Name), "pv-"+o.Name, corev1.ClaimBound
						volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: o.Spec.VolumeName, UID: types.UID(o.Spec.VolumeName)}}
						volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: o.Namespace, Name: o.Name, UID: o.UID}
						volume.Spec.Capacity, volume.Status.Phase = o.Spec.Resources.Requests, corev1.VolumeBound
						if err := c.Create(ctx, volume); err != nil {
							return err
						}
					}
					return c.Create(ctx, o, opts...)
				},
				Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
					data, err := patch.Data(o)
					if err != nil {
						return err
					}
					if _, is := o.(*appsv1.StatefulSet); is && strings.Contains(string(data), `"replicas":0`) {
						scaled = true
						cancel() // the outage has begun
					}
					return c.Patch(ctx, o, patch, opts...)
				},
			}).Build()
			r := testRollback(c, began, "2h")
			r.f.Clock, r.timeout, r.workloadName, r.yes = clock, tc.timeout, "statefulset/db", true
			var said bytes.Buffer
			r.f.Out, r.f.ErrOut = &said, &said
			err := r.run(ctx)
			if late := errors.Is(err, term.ErrTimeout); late != tc.late || scaled == tc.late {
				t.Fatalf("scaled down: %t, and ends with %v: %s", scaled, err, &said)
			}
			if want := "The rollback is unfinished, and nothing was scaled down. Run the command again"; tc.late && !strings.Contains(err.Error(), want) {
				t.Errorf("it says %v", err)
			}
		})
	}
}

// A rollback that may not start the pod for which a storage class waits would stop half way.
//
// Contract: CLI-57.
func TestARollbackAsksForThePermissionsOfItsPod(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(term.NewScheme()).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			review := o.(*authorizationv1.SelfSubjectAccessReview)
			review.Status.Allowed = review.Spec.ResourceAttributes.Resource != "pods"
			return nil
		},
	}).Build()
	for waits, want := range map[bool]string{false: "", true: "kubectl auth can-i create pods -n shop\nkubectl auth can-i delete pods -n shop"} {
		err := testRollback(c, clitest.Start, "").checkRights(t.Context(), &core.State{Claims: []*core.Claim{{Name: "data", WaitsForConsumer: waits}}})
		if (err != nil) != waits || waits && !strings.HasSuffix(err.Error(), want) {
			t.Errorf("waits for a pod: %t; it ends with %v", waits, err)
		}
	}
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/migrate/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// scene is a schedule of snapscheduler, a PVC, and what makes a snapshot of it.
func scene() (peer *unstructured.Unstructured, claim client.Object, of func(name, pvc string) *snapshotv1.VolumeSnapshot) {
	peer = &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"schedule": "@daily", "disabled": false}}}
	peer.SetGroupVersionKind(core.PeerKind)
	peer.SetNamespace("shop")
	peer.SetName("nightly")
	data := clitest.Claim("data", nil)
	data.CreationTimestamp = metav1.NewTime(clitest.Start)
	return peer, data, func(name, pvc string) *snapshotv1.VolumeSnapshot {
		v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: clitest.Claim(name, nil).UID, CreationTimestamp: metav1.NewTime(clitest.Start.Add(time.Hour)),
			Labels: map[string]string{core.LabelPeerSchedule: "nightly", "snapscheduler.backube/when": "202601010100"},
		}}
		v.Spec.Source.PersistentVolumeClaimName = ptr.To(pvc)
		return v
	}
}

// migrating returns a run of the command against a cluster.
func migrating(t *testing.T, c client.WithWatch) func(apply bool) (out, errOut string, err error) {
	return func(apply bool) (out, errOut string, err error) {
		var o, e bytes.Buffer
		m := &migration{f: &term.Factory{
			IOStreams: genericiooptions.IOStreams{Out: &o, ErrOut: &e}, Namespace: "shop", Client: c, Clock: clocktesting.NewFakePassiveClock(clitest.Start),
		}, timeZone: "UTC", apply: apply, yes: true}
		err = m.run(t.Context(), &term.Scope{})
		return o.String(), e.String(), err
	}
}

// Whoever may only read the schedules of snapscheduler in a list can print what would be done.
func TestMigratePrintsWithoutReadingASchedule(t *testing.T) {
	peer, claim, of := scene()
	c := fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(peer, claim, of("a", "data")).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, isPeer := o.(*unstructured.Unstructured); isPeer {
				return apierrors.NewForbidden(schema.GroupResource{Resource: core.PeerResource}, key.Name, nil)
			}
			return c.Get(ctx, key, o, opts...)
		},
	}).Build()
	if out, errOut, err := migrating(t, c)(false); err != nil || !strings.Contains(out, "volumesnapshots.snapshot.storage.k8s.io a -n shop") {
		t.Errorf("printed %q, %q: %v", out, errOut, err)
	}
}

// A schedule of the name that appears meanwhile applies its own retention to the snapshots that were handed over.
func TestMigrateEndsIfAScheduleOfTheNameAppears(t *testing.T) {
	for name, when := range map[string]func(o client.Object) bool{
		"while snapshots are handed over": func(o client.Object) bool { return o.GetName() == "a" },
		"before it is created":            func(o client.Object) bool { _, is := o.(*v1alpha1.SnapshotSchedule); return is },
	} {
		t.Run(name, func(t *testing.T) {
			peer, claim, of := scene()
			appear := func(ctx context.Context, c client.WithWatch, o client.Object) error {
				if !when(o) {
					return nil
				}
				other := clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h", SnapshotTTL: "1h"})
				return client.IgnoreAlreadyExists(c.Create(ctx, other))
			}
			c := fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(peer, claim, of("a", "data")).WithInterceptorFuncs(interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
					if err := appear(ctx, c, o); err != nil {
						return err
					}
					return c.Patch(ctx, o, patch, opts...)
				},
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					if o.GetName() != "" {
						if err := appear(ctx, c, o); err != nil {
							return err
						}
					}
					return c.Create(ctx, o, opts...)
				},
			}).Build()
			out, errOut, err := migrating(t, c)(true)
			if err == nil || strings.Contains(out, "created") || !strings.Contains(errOut, "exists") {
				t.Errorf("printed %q, %q: %v", out, errOut, err)
			}
		})
	}
}

// snapscheduler goes on until it has seen that its schedule is disabled.
func TestMigrateHandsOverWhatAppearsMeanwhileAndDecidesAgainAfterAConflict(t *testing.T) {
	peer, claim, of := scene()
	conflicts := 1
	c := fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(peer, claim, of("a", "data"), of("b", "gone"), of("c", "data")).
		WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
				switch {
				case o.GetName() == "nightly":
					if err := c.Create(ctx, of("late", "data")); err != nil {
						return err
					}
				case o.GetName() == "c" && conflicts > 0:
					conflicts--
					return apierrors.NewConflict(schema.GroupResource{Resource: "volumesnapshots"}, "c", nil)
				}
				return c.Patch(ctx, o, patch, opts...)
			},
		}).Build()
	migrate := migrating(t, c)
	run := func(apply bool) (out, errOut string) {
		out, errOut, err := migrate(apply)
		if err != nil {
			t.Fatal(err, errOut)
		}
		return out, errOut
	}
	warnings := "Warning: VolumeSnapshot shop/b stays with snapscheduler: its PVC gone is gone, and with it the UID that would be the map key\n"
	out, _ := run(false)
	for _, want := range []string{
		"#   VolumeSnapshot b stays with snapscheduler: its PVC gone is gone", "kubectl patch snapshotschedules.snapscheduler.backube nightly -n shop",
		"kubectl patch volumesnapshots.snapshot.storage.k8s.io a -n shop", "kubectl create -f - <<'EOF'\napiVersion: snapshots.mapcontroller.dev/",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("without %q:\n%s", want, out)
		}
	}
	out, errOut := run(true)
	handed := func(name string) string {
		return fmt.Sprintf("volumesnapshot.snapshot.storage.k8s.io/%s handed over\n", name)
	}
	want := "snapshotschedule.snapscheduler.backube/nightly disabled\n" + handed("a") + handed("c") + handed("late") +
		"snapshotschedule.snapshots.mapcontroller.dev/nightly created\n"
	if out != want || !strings.Contains(errOut, warnings) || strings.Count(errOut, "stays with") != 1 {
		t.Errorf("printed %q, want %q; %q", out, want, errOut)
	}
	if out, _ = run(true); out != "snapshotschedule.snapshots.mapcontroller.dev/nightly unchanged\n" {
		t.Errorf("once more: %q", out)
	}
}

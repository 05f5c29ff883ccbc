// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
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

// allowing answers reviews of access, but for one verb. Whatever else happens meanwhile happens then: all is decided, and nothing is done.
func allowing(c client.WithWatch, meanwhile func(), denied string) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			review, asks := o.(*authorizationv1.SelfSubjectAccessReview)
			if !asks {
				return c.Create(ctx, o, opts...)
			}
			of := review.Spec.ResourceAttributes
			review.Status.Allowed = of.Verb+" "+of.Group != denied
			meanwhile()
			return nil
		},
	})
}

// migrating returns a run of the command against a cluster.
func migrating(t *testing.T, c client.WithWatch) func(apply bool) (out, errOut string, err error) {
	allowed := allowing(c, func() {}, "")
	return func(apply bool) (out, errOut string, err error) { return runOf(t, allowed, apply, true, &term.Scope{}) }
}

func runOf(t *testing.T, c client.WithWatch, apply, yes bool, scope *term.Scope) (out, errOut string, err error) {
	var o, e bytes.Buffer
	m := &migration{f: &term.Factory{
		IOStreams: genericiooptions.IOStreams{Out: &o, ErrOut: &e}, Namespace: "shop", Client: c, Clock: clocktesting.NewFakePassiveClock(clitest.Start),
	}, timeZone: "UTC", apply: apply, yes: yes}
	cmd := New(m.f)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return m.run(cmd.Context(), scope) }
	m.f.NameRights(cmd)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"snapscheduler", "--all-namespaces=" + strconv.FormatBool(scope.AllNamespaces)})
	err = cmd.ExecuteContext(t.Context())
	return o.String(), e.String(), err
}

// One that may not go on leaves the schedule disabled, and no other one.
//
// Contract: CLI-57.
func TestMigrateAsksForItsPermissionsFirst(t *testing.T) {
	for denied, resource := range map[string]string{
		"get " + core.PeerKind.Group: core.PeerResource, "patch " + core.PeerKind.Group: core.PeerResource,
		"list " + snapshotv1.GroupName: "volumesnapshots." + snapshotv1.GroupName, "patch " + snapshotv1.GroupName: "volumesnapshots." + snapshotv1.GroupName,
		"get " + v1alpha1.GroupName: "snapshotschedules." + v1alpha1.GroupName, "create " + v1alpha1.GroupName: "snapshotschedules." + v1alpha1.GroupName,
	} {
		for _, scope := range []term.Scope{{}, {AllNamespaces: true}} {
			peer, claim, of := scene()
			c := fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(peer, claim, of("a", "data")).Build()
			out, errOut, err := runOf(t, allowing(c, func() {}, denied), true, true, &scope)
			verb, _, _ := strings.Cut(denied, " ")
			want := "needs permissions that you do not have:\nkubectl auth can-i " + verb + " " + resource
			if !scope.AllNamespaces {
				want += " -n shop"
			}
			if err == nil || !strings.HasSuffix(err.Error(), want) || out != "" {
				t.Errorf("without %s: %q, %q: %v", denied, out, errOut, err)
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(peer), peer); err != nil || core.Disable(peer) == nil {
				t.Errorf("without %s, it is disabled: %v", denied, err)
			}
		}
	}
}

// What is answered is what was shown: an answer may take hours.
func TestMigrateDoesNotGoOnWithWhatWasEditedMeanwhile(t *testing.T) {
	for name, tc := range map[string]struct {
		edit    func(peer *unstructured.Unstructured)
		refused bool
	}{
		"its times":         {func(peer *unstructured.Unstructured) { set(peer, "@hourly", "schedule") }, true},
		"its retention":     {func(peer *unstructured.Unstructured) { set(peer, "1h", "retention", "expires") }, true},
		"it is disabled":    {func(peer *unstructured.Unstructured) { set(peer, true, "disabled") }, true},
		"its labels":        {func(peer *unstructured.Unstructured) { peer.SetLabels(map[string]string{"app": "other"}) }, true},
		"it is invalid":     {func(peer *unstructured.Unstructured) { set(peer, "never", "schedule") }, true},
		"a label beside it": {func(peer *unstructured.Unstructured) { peer.SetLabels(map[string]string{"app": "shop", "added": "x"}) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			peer, claim, of := scene()
			peer.SetLabels(map[string]string{"app": "shop"})
			c := fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(peer, claim, of("a", "data")).Build()
			edited := false
			_, errOut, err := runOf(t, allowing(c, func() {
				if edited {
					return
				}
				edited = true
				now := peer.DeepCopy()
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(peer), now); err != nil {
					t.Fatal(err)
				}
				tc.edit(now)
				if err := c.Update(t.Context(), now); err != nil {
					t.Fatal(err)
				}
			}, ""), true, true, &term.Scope{Selector: "app=shop"})
			if refused := strings.Contains(errOut, "edited meanwhile: nothing was done"); refused != tc.refused || (err != nil) != tc.refused {
				t.Errorf("%q: %v", errOut, err)
			}
			v := of("a", "data")
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(v), v); err != nil || (v.Labels[v1alpha1.LabelMapKey] == "") != tc.refused {
				t.Errorf("labels of the snapshot: %v, %v", v.Labels, err)
			}
		})
	}
}

func set(peer *unstructured.Unstructured, value any, path ...string) {
	if err := unstructured.SetNestedField(peer.Object, value, append([]string{"spec"}, path...)...); err != nil {
		panic(err)
	}
}

// The PVC of the name that is there by then has another UID, and is no PVC of the snapshot.
func TestMigrateReadsPVCsAgain(t *testing.T) {
	peer, claim, of := scene()
	c := fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(peer, claim, of("a", "data")).Build()
	out, errOut, err := runOf(t, allowing(c, func() {
		if err := client.IgnoreNotFound(c.Delete(t.Context(), claim)); err != nil {
			t.Fatal(err)
		}
	}, ""), true, true, &term.Scope{})
	if err != nil || strings.Contains(out, "handed over") || !strings.Contains(errOut, "shop/a stays with snapscheduler: its PVC data is gone") {
		t.Errorf("%q, %q: %v", out, errOut, err)
	}
}

// A yes is to all of it.
func TestMigrateSaysWhatMayBeLostBeforeItAsks(t *testing.T) {
	peer, claim, of := scene()
	set(peer, "never", "retention", "expires")
	c := fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(peer, claim, of("a", "data"), of("b", "gone")).Build()
	out, errOut, err := runOf(t, allowing(c, func() {}, ""), true, false, &term.Scope{})
	if err == nil || !strings.Contains(err.Error(), "cannot ask without a terminal") || !strings.Contains(out, "disable it, create SnapshotSchedule nightly, hand over 1 snapshot\n") {
		t.Errorf("%q: %v", out, err)
	}
	for _, want := range []string{
		"Warning: shop/nightly: retention.expires: no equivalent, so snapshots never expire by age",
		"Warning: VolumeSnapshot shop/b stays with snapscheduler: its PVC gone is gone",
	} {
		if strings.Count(errOut, want) != 1 {
			t.Errorf("without %q: %q", want, errOut)
		}
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

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// original is a ready snapshot of the namespace shop, with what its restore reads.
func original() (*snapshotv1.VolumeSnapshot, []client.Object) {
	claim := clitest.Claim("data", nil)
	claim.Spec.StorageClassName = ptr.To("fast")
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	v := clitest.Snapshot(clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{}), claim, clitest.Start)
	v.Status.BoundVolumeSnapshotContentName = ptr.To("of-data")
	content := &snapshotv1.VolumeSnapshotContent{ObjectMeta: metav1.ObjectMeta{Name: "of-data"}}
	content.Spec = snapshotv1.VolumeSnapshotContentSpec{
		Driver: "hostpath.csi.k8s.io", DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete,
		VolumeSnapshotRef: corev1.ObjectReference{Namespace: v.Namespace, Name: v.Name, UID: v.UID},
	}
	content.Status = &snapshotv1.VolumeSnapshotContentStatus{SnapshotHandle: ptr.To("handle"), ReadyToUse: ptr.To(true)}
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: content.Spec.Driver}
	return v, []client.Object{claim, v, content, class, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "staging"}}}
}

// deadCopy is what an interrupted copy has left whose original is gone, with somebody's finalizer.
func deadCopy() []client.Object {
	content := &snapshotv1.VolumeSnapshotContent{ObjectMeta: metav1.ObjectMeta{
		Name: "snapsched-copy-dead", Labels: map[string]string{v1alpha1.LabelCopyTo: "staging"},
		Annotations: map[string]string{v1alpha1.AnnotationCopyOf: "shop/gone/uid-gone"},
	}}
	content.Spec.DeletionPolicy = snapshotv1.VolumeSnapshotContentRetain
	content.Spec.VolumeSnapshotRef = corev1.ObjectReference{Namespace: "staging", Name: content.Name}
	v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{
		Namespace: "staging", Name: content.Name, Finalizers: []string{"example.com/stays"}, DeletionTimestamp: ptr.To(metav1.NewTime(clitest.Start)),
	}}
	v.Spec.Source.VolumeSnapshotContentName = &content.Name
	return []client.Object{content, v}
}

// cutting returns a restore whose context ends, for lack of time, with the create of an object of a kind and a name, which is carried out.
// The storage makes snapshots ready and PVCs bound at once.
func cutting(t *testing.T, of client.Object, all ...client.Object) (context.Context, *restoration, *bytes.Buffer) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	c := fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(all...).
		WithIndex(&corev1.Event{}, "involvedObject.uid", func(client.Object) []string { return nil }).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			switch o := o.(type) {
			case *authorizationv1.SelfSubjectAccessReview:
				o.Status.Allowed = true
				return nil
			case *snapshotv1.VolumeSnapshot:
				o.UID = "uid-copy"
				o.Status = &snapshotv1.VolumeSnapshotStatus{
					ReadyToUse: ptr.To(true), CreationTime: ptr.To(metav1.NewTime(clitest.Start)), BoundVolumeSnapshotContentName: &o.Name,
				}
			case *corev1.PersistentVolumeClaim:
				o.Status.Phase = corev1.ClaimBound
			}
			dry := len((&client.CreateOptions{}).ApplyOptions(opts).DryRun) > 0
			if err := c.Create(ctx, o, opts...); err != nil || dry || fmt.Sprintf("%T", o) != fmt.Sprintf("%T", of) || !strings.HasPrefix(o.GetName(), of.GetName()) {
				return err
			}
			cancel(fmt.Errorf("%w after 1m", term.ErrTimeout))
			return ctx.Err()
		},
	}).Build()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})) // which answers with its time
	t.Cleanup(server.Close)
	config := genericclioptions.NewConfigFlags(false)
	config.APIServer = &server.URL
	var said bytes.Buffer
	f := &term.Factory{
		IOStreams: genericiooptions.IOStreams{Out: &said, ErrOut: &said}, Config: config, Namespace: "shop", Client: c,
		Clock: clocktesting.NewFakePassiveClock(clitest.Start),
	}
	r := &restoration{f: f, choice: &steps.Choice{Factory: f, Doing: "Restoring"}}
	r.choice.Options.Name = "restored"
	return ctx, r, &said
}

// Contract: CLI-52.
func TestACopyThatIsCutOffSaysWhatThereMayBe(t *testing.T) {
	v, all := original()
	ctx, r, said := cutting(t, &snapshotv1.VolumeSnapshotContent{}, all...)
	r.choice.Snapshot, r.toNamespace = v.Name, "staging"
	err := r.run(ctx)
	if term.ExitCode(err) != term.ExitTimeout {
		t.Fatalf("%v; %s", err, said)
	}
	for _, want := range []string{
		"timed out after 1m: context canceled\nVolumeSnapshotContent snapsched-copy-", " may have been created: the answer has not come\n",
		"A copy is unfinished, and VolumeSnapshot " + v.Name + " is held for it, for up to 24 h. Run the same command again",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	if err := r.f.Client.Get(t.Context(), client.ObjectKeyFromObject(v), v); err != nil || len(v.Annotations) < 2 {
		t.Errorf("it is not held: %v, %v", v.Annotations, err)
	}
}

// Contract: CLI-52.
func TestARestoreThatIsCutOffNamesThePVCThatMayExist(t *testing.T) {
	v, all := original()
	for name, before := range map[string]string{"the only one": "", "the second of a set": "first"} {
		t.Run(name, func(t *testing.T) {
			ctx, r, _ := cutting(t, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "second"}}, all...)
			var plans []steps.Restored
			for _, name := range []string{before, "second"} {
				if r.choice.Options.Name = name; name == "" {
					continue
				}
				plan, err := r.choice.Plan(t.Context(), []*snapshotv1.VolumeSnapshot{v}, "")
				if err != nil {
					t.Fatal(err)
				}
				plans = append(plans, plan...)
			}
			err := r.create(ctx, plans)
			want := "timed out after 1m: context canceled\nPersistentVolumeClaim second may have been created: the answer has not come"
			if before != "" {
				want += "\nThe set is incomplete. These PVCs were created: first"
			}
			if term.ExitCode(err) != term.ExitTimeout || err.Error() != want {
				t.Errorf("ends with %v", err)
			}
		})
	}
}

// What somebody's finalizer keeps must not take the time of what is asked for.
func TestACopyDoesNotWaitForDeadOnes(t *testing.T) {
	v, all := original()
	ctx, r, said := cutting(t, &corev1.Pod{}, append(all, deadCopy()...)...)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.f.ErrOut = writer(func(p []byte) (int, error) {
		if strings.Contains(string(p), "snapsched-copy-dead in namespace staging is deleted; it has finalizers: example.com/stays") {
			cancel()
		}
		return said.Write(p)
	})
	r.choice.Snapshot, r.toNamespace, r.choice.Waiting.Enabled = v.Name, "staging", true
	if err := r.run(ctx); err != nil || !strings.Contains(said.String(), "persistentvolumeclaim/restored is in namespace staging\n") {
		t.Fatalf("%v; %s", err, said)
	}
	if ctx.Err() == nil {
		t.Errorf("it does not remove what is dead: %s", said)
	}
	if r.choice.Waiting.Enabled { // which needs permissions
		t.Error("it watches")
	}
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

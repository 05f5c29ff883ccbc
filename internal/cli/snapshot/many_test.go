// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

func TestAScheduleThatIsGoneEndsNoWaitForOthers(t *testing.T) {
	gone, _ := clitest.GoldIn("evil")
	s, claim := clitest.GoldIn("shop")
	c := fake.NewClientBuilder().WithScheme(term.Scheme).WithObjects(s).Build()
	var out bytes.Buffer
	r := &request{f: &term.Factory{IOStreams: genericiooptions.IOStreams{ErrOut: &out}, Client: c}, printed: steps.Printed{}}
	for _, of := range []*v1alpha1.SnapshotSchedule{gone, s} {
		r.targets = append(r.targets, &target{schedule: of, claim: claim.(*corev1.PersistentVolumeClaim)})
	}
	if err := r.explain(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"SnapshotSchedule evil/gold is gone", "SnapshotSchedule shop/gold has no status"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %q", want, out.String())
		}
	}
}

// Contract: CLI-52.
func TestARequestForManyThatIsCutOffSaysWhatIsRequested(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	claim := clitest.Claim("data", nil)
	all := []client.Object{claim}
	for _, name := range []string{"a", "b", "c"} {
		s := clitest.Schedule(name, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h", SnapshotTTL: "3d"})
		s.Labels = map[string]string{"app": "db"}
		all = append(all, s)
	}
	patches := 0
	c := fake.NewClientBuilder().WithScheme(term.Scheme).WithObjects(all...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, is := list.(*snapshotv1.VolumeSnapshotClassList); is {
				return apierrors.NewForbidden(schema.GroupResource{}, "", nil)
			}
			return c.List(ctx, list, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if patches++; patches == 2 {
				cancel(fmt.Errorf("%w after 1m", term.ErrTimeout))
				return ctx.Err()
			}
			return c.Patch(ctx, o, patch, opts...)
		},
	}).Build()
	f := &term.Factory{IOStreams: genericiooptions.NewTestIOStreamsDiscard(), Client: c, Namespace: "shop", Clock: clock.RealClock{}}
	r := &request{f: f, output: &term.Output{}, now: clitest.Start, printed: steps.Printed{}, namespace: "shop"}
	err := r.ofSelected(ctx, &term.Scope{Selector: "app=db"})
	want := "timed out after 1m: context canceled\nSnapshotSchedule b may have been changed: the answer has not come\n" +
		"If so, the snapshots are taken, but nobody waits for them, marks or holds them\n" +
		"The requests of 1 SnapshotSchedule stay: their snapshots are still taken"
	if term.ExitCode(err) != term.ExitTimeout || err.Error() != want || patches != 2 {
		t.Errorf("%d patches: %v", patches, err)
	}
}

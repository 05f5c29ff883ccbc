// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// Contract: CLI-51.
func TestATriedOutChangeIsNotWrittenAndShowsWhatItWouldMake(t *testing.T) {
	for _, test := range []struct {
		dryRun term.DryRun
		stored string
	}{{term.DryRunNone, "b"}, {term.DryRunServer, ""}, {term.DryRunClient, ""}} {
		claim := clitest.Claim("data", nil)
		f := &term.Factory{Client: fake.NewClientBuilder().WithScheme(term.Scheme).WithObjects(claim).Build(), DryRun: test.dryRun}
		read := func() *corev1.PersistentVolumeClaim {
			o := &corev1.PersistentVolumeClaim{}
			if err := f.Client.Get(t.Context(), client.ObjectKeyFromObject(claim), o); err != nil {
				t.Fatal(err)
			}
			return o
		}
		o := read()
		changed, err := Update(t.Context(), f, o, func() ([]byte, error) { return change.Annotate(o, map[string]any{"a": "b"}).Patch, nil })
		shown := o.Annotations["a"] == "b" || test.dryRun == term.DryRunServer // whose answer the fake leaves empty
		if err != nil || !changed || !shown || read().Annotations["a"] != test.stored {
			t.Errorf("%s: %t %v, shows %q, stored %q", test.dryRun, changed, err, o.Annotations["a"], read().Annotations["a"])
		}
		err = Send(t.Context(), f, change.Change{Delete: read()})
		gone := f.Client.Get(t.Context(), client.ObjectKeyFromObject(claim), &corev1.PersistentVolumeClaim{}) != nil
		if err != nil || gone == test.dryRun.On() {
			t.Errorf("%s: delete: %v, gone: %t", test.dryRun, err, gone)
		}
	}
}

// Contract: CLI-52.
func TestAWriteThatIsCutOffSaysThatItMayHaveBeenCarriedOut(t *testing.T) {
	late := fmt.Errorf("%w after 1m", term.ErrTimeout)
	const cut = "timed out after 1m: context canceled\nPersistentVolumeClaim data may have been "
	claim := clitest.Claim("data", nil)
	patch := change.Annotate(claim, map[string]any{"a": "b"})
	for name, tc := range map[string]struct {
		change change.Change
		dryRun term.DryRun
		answer error
		want   string
	}{
		"a create":          {change.Change{Create: claim}, term.DryRunNone, context.Canceled, cut + "created: the answer has not come"},
		"a patch":           {patch, term.DryRunNone, context.Canceled, cut + "changed: the answer has not come"},
		"a delete":          {change.Change{Delete: claim}, term.DryRunNone, context.Canceled, cut + "deleted: the answer has not come"},
		"one that is tried": {patch, term.DryRunServer, context.Canceled, "context canceled"},
		"one that is refused at the last moment": {
			patch, term.DryRunNone, apierrors.NewConflict(schema.GroupResource{}, "data", nil), `Operation cannot be fulfilled on  "data": <nil>`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			sent := 0
			answer := func() error { sent++; cancel(late); return tc.answer }
			f := &term.Factory{DryRun: tc.dryRun, Client: fake.NewClientBuilder().WithScheme(term.Scheme).WithInterceptorFuncs(interceptor.Funcs{
				Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return answer() },
				Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return answer() },
				Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
					return answer()
				},
			}).Build()}
			if err := Send(ctx, f, tc.change); err == nil || err.Error() != tc.want {
				t.Errorf("ends with %v", err)
			}
			if err := Send(ctx, f, tc.change); sent != 1 || !errors.Is(err, term.ErrTimeout) || errors.As(err, &UnansweredError{}) {
				t.Errorf("%d were sent; the next one ends with %v", sent, err)
			}
		})
	}
}

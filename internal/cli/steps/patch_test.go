// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

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

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

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

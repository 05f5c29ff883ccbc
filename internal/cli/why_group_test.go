// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// The PVC has left the group: what its new group has of it is what keeps it safe.
//
// Contract: GRP-9.
func TestWhyOfAGroupCountsWhatOtherGroupsHaveOfItsPVCs(t *testing.T) {
	now := start.Add(20 * term.Day)
	s := testSchedule("groups", v1alpha1.SnapshotScheduleSpec{
		Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}},
		Group:    &v1alpha1.Group{ByLabel: "db"}, SnapshotInterval: "24h", SnapshotTTL: "10d",
	})
	claim := func(db string) *corev1.PersistentVolumeClaim {
		return testClaim("data", map[string]string{"app": "db", "db": db})
	}
	old, members := testGroup(t, s, "old", start, claim("one"))
	for name, tc := range map[string]struct {
		newer []client.Object
		want  string
	}{
		"the new group has none": {nil, "Floor"},
		"the new group has one": {func() []client.Object {
			v, members := testGroup(t, s, "new", start.Add(15*term.Day), claim("two"))
			return append(members, v)
		}(), "Expired"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := append([]client.Object{s, claim("two"), old.DeepCopy()}, tc.newer...)
			for _, m := range members {
				objects = append(objects, m.DeepCopyObject().(client.Object))
			}
			f := &term.Factory{
				IOStreams: genericiooptions.NewTestIOStreamsDiscard(), Clock: clock.RealClock{}, Namespace: "shop",
				Client: fake.NewClientBuilder().WithScheme(term.Scheme).WithObjects(objects...).Build(),
			}
			r, err := why(t.Context(), f, "old", now)
			if err != nil || len(r.Verdicts) == 0 || r.Verdicts[0].Verdict != tc.want {
				t.Errorf("%+v, %v; want %s", r, err, tc.want)
			}
		})
	}
}

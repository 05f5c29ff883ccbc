// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/ahead"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// The PVC has left the group: what its new group has of it is what keeps it safe.
//
// Contract: GRP-9.
func TestWhyOfAGroupCountsWhatOtherGroupsHaveOfItsPVCs(t *testing.T) {
	now := clitest.Start.Add(20 * term.Day)
	s := clitest.Schedule("groups", v1alpha1.SnapshotScheduleSpec{
		Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}},
		Group:    &v1alpha1.Group{ByLabel: "db"}, SnapshotInterval: "24h", SnapshotTTL: "10d",
	})
	claim := func(db string) *corev1.PersistentVolumeClaim {
		return clitest.Claim("data", map[string]string{"app": "db", "db": db})
	}
	old, members := clitest.Group(t, s, "old", clitest.Start, claim("one"))
	for name, tc := range map[string]struct {
		newer []client.Object
		want  string
	}{
		"the new group has none": {nil, "Floor"},
		"the new group has one": {func() []client.Object {
			v, members := clitest.Group(t, s, "new", clitest.Start.Add(15*term.Day), claim("two"))
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
			if err != nil || len(r.Verdicts) == 0 || r.Verdicts[0].Verdict != tc.want || r.SimulatedUntil != nil {
				t.Errorf("%+v, %v; want %s, simulated to its end", r, err, tc.want)
			}
		})
	}
}

// Contract: EDIT-1.
func TestWhyNamesTheDelay(t *testing.T) {
	s := clitest.NewScenario()
	_, stricter := clitest.Delayed(s)
	judge, err := snapshots.NewJudge(term.Scheme, stricter, clitest.AnyClass)
	if err != nil {
		t.Fatal(err)
	}
	o := s.Inv.SeriesOf(stricter, judge)[0].Snapshots[10]
	why := func() *whyResult {
		r := &whyResult{Namespace: "shop", Name: o.GetName(), Schedule: "tiers"}
		r.judgeUnder(stricter, s.Inv, o.GetLabels()[v1alpha1.LabelMapKey], s.Now)
		return r
	}
	r := why()
	clitest.Golden(t, func(b *bytes.Buffer) error { return printWhy(b, &term.Output{}, r, s.Now) }, `
shop/db-0-20260128120000
  Schedule tiers, PVC db-0
  Taken for 2026-01-28T12:00:00Z, 2d12h ago; Ready

FROM                   IN     VERDICT   RULE          BECAUSE
2026-01-31T00:20:00Z   now    kept      SpecChanged   the spec changed, and spec.retention.editDelay has not passed; otherwise NotSelected: no tier selects it
2026-01-31T02:20:00Z   120m   deleted   NotSelected   no tier selects it
`)
	for _, c := range s.Inv.Claims["shop"] {
		c.SetLabels(nil)
	}
	if r := why(); len(r.Verdicts) != 2 || r.Verdicts[0].Delete || !r.Verdicts[1].Delete {
		t.Errorf("not selected: %+v, want that it is kept, and then deleted", r.Verdicts)
	}
}

func TestPrintWhy(t *testing.T) {
	s := clitest.NewScenario()
	s.Tiers.Spec.Retention.MinVerified = 1
	judge, err := snapshots.NewJudge(term.Scheme, s.Tiers, clitest.AnyClass)
	if err != nil {
		t.Fatal(err)
	}
	all := s.Inv.SeriesOf(s.Tiers, judge)
	all[0].Snapshots[4].GetAnnotations()[v1alpha1.AnnotationVerifiedAt] = term.Timestamp(s.Now)
	all[0].Snapshots[39].SetAnnotations(map[string]string{
		v1alpha1.AnnotationScheduledAt: all[0].Snapshots[39].GetAnnotations()[v1alpha1.AnnotationScheduledAt], v1alpha1.AnnotationHold: "2026-02-01T12:00:00Z",
	})
	for name, test := range map[string]struct {
		series, snapshot int
		want             string
	}{
		"a snapshot that tiers keep in turn": {0, 1, `
shop/db-0-20260130180000
  Schedule tiers, PVC db-0
  Taken for 2026-01-30T18:00:00Z, 6h20m ago; Ready

FROM                   IN      VERDICT   RULE          BECAUSE
2026-01-31T00:20:00Z   now     kept      KeptLast      keep.last selects it
2026-01-31T06:00:00Z   5h40m   kept      KeptDaily     keep.daily selects it
2026-02-06T00:00:00Z   6d      deleted   NotSelected   no tier selects it
`},
		"a held snapshot": {0, 40, `
shop/db-0-20260113120000
  Schedule tiers, PVC db-0
  Taken for 2026-01-13T12:00:00Z, 18d ago; Ready

FROM                   IN    VERDICT   RULE               BECAUSE
2026-01-31T00:20:00Z   now   kept      HeldByAnnotation   it is held: audit

The passing of time alone does not delete it.
`},
		"a snapshot that is held until a time": {0, 39, `
shop/db-0-20260121060000
  Schedule tiers, PVC db-0
  Taken for 2026-01-21T06:00:00Z, 10d ago; Ready

FROM                   IN    VERDICT   RULE               BECAUSE
2026-01-31T00:20:00Z   now   kept      HeldByAnnotation   it is held until 2026-02-01T12:00:00Z
2026-02-01T12:00:00Z   36h   deleted   NotSelected        no tier selects it
`},
		"a verified snapshot": {0, 4, `
shop/db-0-20260130000000
  Schedule tiers, PVC db-0
  Taken for 2026-01-30T00:00:00Z, 24h ago; Ready

FROM                   IN    VERDICT   RULE       BECAUSE
2026-01-31T00:20:00Z   now   kept      Verified   it is one of the newest minVerified snapshots whose last drill succeeded

The passing of time alone does not delete it.
`},
		"a failed snapshot": {1, 1, `
shop/db-1-20260130120000
  Schedule tiers, PVC db-1
  Taken for 2026-01-30T12:00:00Z, 12h ago; Failed

FROM                   IN    VERDICT   RULE         BECAUSE
2026-01-31T00:20:00Z   now   kept      Unready      it is not ready, and no TTL is set
2026-02-06T00:00:00Z   6d    deleted   Superseded   it is not ready, and every ready snapshot that is kept is newer, or the next one has no other place
`},
		"the last one of a PVC that is gone": {3, 0, `
shop/db-9-20260129000000
  Schedule tiers, PVC db-9
  Taken for 2026-01-29T00:00:00Z, 2d ago; Ready

FROM                   IN    VERDICT   RULE       BECAUSE
2026-01-31T00:20:00Z   now   kept      KeptLast   keep.last selects it

The passing of time alone does not delete it.
`},
	} {
		t.Run(name, func(t *testing.T) {
			o := all[test.series].Snapshots[test.snapshot]
			r := &whyResult{Namespace: "shop", Name: o.GetName(), Schedule: "tiers"}
			r.judge(judge, all[test.series], s.Now, s.Now.Add(ahead.MaxAhead), true)
			clitest.Golden(t, func(b *bytes.Buffer) error { return printWhy(b, &term.Output{}, r, s.Now) }, test.want)
		})
	}
}

// The detached series has a TTL of its own. One in progress is taken to be ready in the next moment, which is no second "now".
func TestWhyNamesTheTTLAndWhatFollowsAtOnce(t *testing.T) {
	s := clitest.NewScenario()
	s.Tiers.Spec.SnapshotTTL, s.Tiers.Spec.Retention = "20d", v1alpha1.Retention{Detached: v1alpha1.DetachedRetention{SnapshotTTL: "4d"}}
	judge, err := snapshots.NewJudge(term.Scheme, s.Tiers, clitest.AnyClass)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]string{
		1: `
FROM                   IN     VERDICT   RULE             BECAUSE
2026-01-31T00:20:00Z   now    kept      HeldInProgress   it is in progress
2026-01-31T00:20:00Z   then   kept      WithinTTL        it is younger than the TTL, 20d
2026-02-20T00:00:00Z   20d    deleted   Expired          it is older than the TTL, 20d
`,
		3: `
FROM                   IN    VERDICT   RULE        BECAUSE
2026-01-31T00:20:00Z   now   kept      WithinTTL   it is younger than the TTL, 4d
2026-02-02T00:00:00Z   2d    deleted   Expired     it is older than the TTL, 4d
`,
	} {
		of := s.Inv.SeriesOf(s.Tiers, judge)[i]
		r := &whyResult{Namespace: "shop", Name: of.Snapshots[0].GetName(), Schedule: "tiers"}
		r.judgeUnder(s.Tiers, s.Inv, of.MapKey, s.Now)
		var b bytes.Buffer
		if err := printWhy(&b, &term.Output{}, r, s.Now); err != nil {
			t.Fatal(err)
		}
		if _, table, _ := strings.Cut(b.String(), "\n\n"); "\n"+table != want {
			t.Errorf("got %s\nwant %s", table, want)
		}
	}
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/holders"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
)

// seeing is a request for a snapshot of one PVC at noon, in a cluster with some objects.
func seeing(t *testing.T, s *v1alpha1.SnapshotSchedule, key, until string, objects ...client.Object) (*request, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	f := &term.Factory{
		IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}, Namespace: "shop",
		Client: fake.NewClientBuilder().WithScheme(term.Scheme).WithObjects(objects...).Build(),
	}
	return &request{
		f: f, namespace: "shop", until: until, members: map[types.UID]sets.Set[string]{}, printed: steps.Printed{}, groups: s.Spec.Group != nil,
		targets: []*target{{schedule: s, claim: clitest.Claim("data", nil), key: key, at: clitest.Start}},
	}, &out
}

// Contract: CLI-6.
func TestCutAt1970IsNeverMarked(t *testing.T) {
	for name, c := range map[string]struct {
		cut     time.Time
		until   string
		marked  bool
		message string
	}{
		"cut now":                 {clitest.Start, untilCut, true, ""},
		"cut in 1970":             {time.Unix(0, 0), untilCut, false, "reports 1970-01-01T00:00:00Z as the time of its data"},
		"cut in 1970, and a zone": {time.Unix(0, 0).In(time.FixedZone("", -3600)), untilCut, false, "1970-01-01T00:00:00Z"},
		"ready since 1970":        {time.Unix(3600, 0), untilReady, false, "1970-01-01T01:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			s := clitest.Schedule("app", v1alpha1.SnapshotScheduleSpec{})
			v := clitest.Snapshot(s, clitest.Claim("data", nil), clitest.Start)
			v.Status = view.ReadyStatus(metav1.NewTime(c.cut))
			v.Status.ReadyToUse = ptr.To(c.until == untilReady)
			r, _ := seeing(t, s, "uid-data", c.until, v)
			r.mark = requestMark{"example.com/quiesced", "true"}
			r.see(t.Context(), v, false)
			if len(r.waiting()) > 0 {
				t.Fatalf("it waits for %v", r.waiting())
			}
			marked := &snapshotv1.VolumeSnapshot{}
			if err := r.f.Client.Get(t.Context(), client.ObjectKeyFromObject(v), marked); err != nil {
				t.Fatal(err)
			}
			if got := marked.Annotations["example.com/quiesced"] == "true"; got != c.marked {
				t.Errorf("marked: %v", got)
			}
			if err := errors.Join(r.unmarked...); c.marked != (err == nil) ||
				err != nil && (term.ExitCode(err) != term.ExitTimeout || !strings.Contains(err.Error(), c.message)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Contract: CLI-6.
func TestAPVCThatTheRecordLacksIsNotCut(t *testing.T) {
	for name, c := range map[string]struct {
		record string
		done   bool
	}{
		"in the record":                         {`{"data":"uid-data"}`, true},
		"it joined a moment ago":                {`{"log":"uid-log"}`, false},
		"another PVC of its name in the record": {`{"data":"uid-before"}`, false},
		"no record":                             {``, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := clitest.Schedule("app", v1alpha1.SnapshotScheduleSpec{Group: &v1alpha1.Group{}})
			group := &groupv1.VolumeGroupSnapshot{ObjectMeta: clitest.Snapshot(s, clitest.Claim("data", nil), clitest.Start).ObjectMeta}
			group.Labels[v1alpha1.LabelMapKey] = "g-key"
			group.Annotations[v1alpha1.AnnotationClaims] = c.record
			group.Status = &groupv1.VolumeGroupSnapshotStatus{CreationTime: ptr.To(metav1.NewTime(clitest.Start))}
			r, out := seeing(t, s, "g-key", untilCut, group)
			r.mark = requestMark{"example.com/quiesced", "true"}
			r.see(t.Context(), group, false)
			if done := len(r.waiting()) == 0; done != c.done || strings.Contains(out.String(), "holds no data of it") == c.done {
				t.Errorf("done: %v; it says %s", done, out)
			}
			marked := &groupv1.VolumeGroupSnapshot{}
			if err := r.f.Client.Get(t.Context(), client.ObjectKeyFromObject(group), marked); err != nil {
				t.Fatal(err)
			}
			if got := marked.Annotations["example.com/quiesced"] == "true"; got != c.done {
				t.Errorf("marked: %v", got)
			}
		})
	}
}

// Contract: CLI-3.
func TestASnapshotOnRequestIsHeldOnceItIsCut(t *testing.T) {
	s := clitest.Schedule("app", v1alpha1.SnapshotScheduleSpec{})
	v := clitest.Snapshot(s, clitest.Claim("data", nil), clitest.Start)
	earlier := clitest.Snapshot(s, clitest.Claim("data", nil), clitest.Start.Add(-time.Hour))
	v.Status = nil
	r, out := seeing(t, s, "uid-data", untilReady, v, earlier)
	r.holding, r.held = &steps.Holding{Factory: r.f, Reason: heldOnRequest, Named: true, Now: clitest.Start, End: clitest.Start.Add(7 * 24 * time.Hour)}, sets.New[types.UID]()
	hold := func(of *snapshotv1.VolumeSnapshot) string {
		fresh := &snapshotv1.VolumeSnapshot{}
		if err := r.f.Client.Get(t.Context(), client.ObjectKeyFromObject(of), fresh); err != nil {
			t.Fatal(err)
		}
		*of = *fresh
		return holders.Of(fresh).Until(heldOnRequest).UTC().Format(time.DateOnly)
	}
	hold(v)
	r.see(t.Context(), v, false)
	if got := hold(v); got != "0001-01-01" {
		t.Errorf("held until %s before it was cut", got)
	}
	v.Status = &snapshotv1.VolumeSnapshotStatus{CreationTime: ptr.To(metav1.NewTime(clitest.Start)), ReadyToUse: ptr.To(false)}
	if err := r.f.Client.Update(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r.see(t.Context(), v, false)
		r.see(t.Context(), earlier, false)
	}
	if got := hold(v); got != "2026-01-08" {
		t.Errorf("held until %s", got)
	}
	if got := hold(earlier); got != "0001-01-01" {
		t.Errorf("the earlier one is held until %s", got)
	}
	if n := strings.Count(out.String(), " held until 2026-01-08T00:00:00Z\n"); n != 1 || len(r.unmarked) > 0 {
		t.Errorf("it says %s; %v", out, r.unmarked)
	}
}

// Contract: CLI-3.
func TestWhatIsPrintedOfAHoldIsNotInAnOutputFormat(t *testing.T) {
	for _, format := range []string{"", term.Names, term.JSON, "jsonpath={.metadata.name}"} {
		s := clitest.Schedule("app", v1alpha1.SnapshotScheduleSpec{})
		v := clitest.Snapshot(s, clitest.Claim("data", nil), clitest.Start)
		r, _ := seeing(t, s, "uid-data", untilReady, v)
		var out, errOut bytes.Buffer
		r.f.IOStreams, r.output = genericiooptions.IOStreams{Out: &out, ErrOut: &errOut}, &term.Output{Format: format}
		r.now = clitest.Start
		if err := r.holdFor("7d"); err != nil {
			t.Fatal(err)
		}
		r.see(t.Context(), v, false)
		said := out.String()
		if format != "" {
			said = errOut.String()
		}
		if !strings.Contains(said, " held until 2026-01-08T00:00:00Z\n") || strings.Contains(out.String(), " held until") != (format == "") {
			t.Errorf("-o %s: %q, and elsewhere %q", format, &out, &errOut)
		}
	}
}

func TestARequestThatIsNotAnsweredLeadsToTheStatus(t *testing.T) {
	const answer = "has not answered the request"
	for name, c := range map[string]struct {
		ready  metav1.ConditionStatus
		change func(r *request)
		want   string
	}{
		"nothing is seen":                   {ready: metav1.ConditionTrue, want: answer + ". What it waits for, and whether the operator shows a sign of life: kubectl snapsched status app -n shop"},
		"a snapshot is seen":                {ready: metav1.ConditionTrue, change: func(r *request) { r.targets[0].state = "data-1 is created" }},
		"another PVC of it has its own":     {ready: metav1.ConditionTrue, change: func(r *request) { r.targets = append(r.targets, &target{schedule: r.targets[0].schedule, done: true}) }},
		"groups, which are seen after PVCs": {ready: metav1.ConditionTrue, change: func(r *request) { r.groups = true }},
		"what it reports says why":          {ready: metav1.ConditionFalse, want: "is not ready"},
	} {
		t.Run(name, func(t *testing.T) {
			s := clitest.Schedule("app", v1alpha1.SnapshotScheduleSpec{})
			s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: c.ready}}
			r, out := seeing(t, s, "uid-data", untilReady, s)
			if c.change != nil {
				c.change(r)
			}
			if err := r.explain(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("printed %q, want %q", got, c.want)
			}
		})
	}
}

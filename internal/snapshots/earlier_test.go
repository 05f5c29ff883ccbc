// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// saying is in error, with the driver's words.
func (s snapshotBuilder) saying(text string) snapshotBuilder {
	if s.Status == nil {
		s.Status = &snapshotv1.VolumeSnapshotStatus{}
	}
	s.Status.Error = &snapshotv1.VolumeSnapshotError{Message: ptr.To(text)}
	return s
}

// Contract: STAT-15.
func TestErrorsOfDriversAreProblems(t *testing.T) {
	const failed = " SnapshotFailed"
	runMap(t, map[string]mapCase{
		"not within two minutes": {
			schedule: every("6h"), snapshots: series{uncut(time.Hour).created(ago(time.Minute)).saying("limit")}, wantNext: in(time.Minute),
		},
		"from then on": {
			schedule: every("6h"), snapshots: series{uncut(time.Hour).created(ago(2 * time.Minute)).saying("limit")},
			wantProblem: v1alpha1.ReasonSnapshotError,
		},
		"at once if it has failed": {
			schedule: every("6h").readyDeadline("30s"), snapshots: series{uncut(time.Hour).created(ago(time.Minute)).saying("limit")},
			wantProblem: v1alpha1.ReasonSnapshotError + failed,
		},
		"not of one that is ready":      {schedule: every("6h"), snapshots: series{ready(time.Hour).saying("deleting failed")}},
		"not once a newer one is ready": {schedule: every("6h"), snapshots: series{ready(time.Hour), uploading(7 * time.Hour).saying("upload")}},
		"of a newer one than the ready one": {
			schedule: every("6h"), snapshots: series{ready(7 * time.Hour), uncut(time.Hour).created(ago(time.Hour / 2)).saying("limit")},
			wantProblem: v1alpha1.ReasonSnapshotError,
		},
		"not of an imported one": {schedule: every("6h"), snapshots: series{ready(time.Hour), imported(time.Hour / 2).saying("no content")}},
		"not of a PVC that is skipped": {
			schedule: every("6h"), claim: claim("data").deleting(), snapshots: series{uploading(time.Hour).saying("limit")}, wantSkip: "being deleted",
		},
	})
}

// The reason is not lost when the snapshot is deleted.
//
// Contract: STAT-15.
func TestErrorsOfDriversStay(t *testing.T) {
	type step struct {
		at        time.Time
		snapshots series
		skipped   bool
		want      string // the message
	}
	const first = "VolumeSnapshot 7h0m0s: limit"
	refused := step{noon, series{ready(13 * time.Hour), uncut(7 * time.Hour).saying("limit")}, false, first}
	replaced := step{in(time.Second), series{ready(13 * time.Hour)}, false, first}
	tests := map[string]struct {
		suspended bool
		steps     []step
	}{
		"with the first text": {steps: []step{refused,
			{in(time.Minute), series{uncut(7 * time.Hour).saying("limit, attempt 2")}, false, first}}},
		"when the snapshot is replaced": {steps: []step{refused, replaced,
			{in(time.Minute), series{ready(13 * time.Hour), uncut(-time.Second)}, false, first},
			{in(time.Hour), series{uploading(-time.Second), ready(13 * time.Hour)}, false, first},
			{in(2 * time.Hour), series{ready(-time.Second), ready(13 * time.Hour)}, false, ""}}},
		"until the next one has an error": {steps: []step{refused, replaced,
			{in(3 * time.Minute), series{uncut(-time.Second).saying("quota")}, false, "VolumeSnapshot -1s: quota"},
			{in(4 * time.Minute), series{ready(13 * time.Hour)}, false, "VolumeSnapshot -1s: quota"}}},
		"beside an older one in error": {steps: []step{
			{noon, series{erring(13 * time.Hour).saying("old"), uncut(7 * time.Hour).saying("limit")}, false, first},
			{in(time.Second), series{erring(13 * time.Hour).saying("old")}, false, first}}},
		"until it is ready itself": {steps: []step{refused, {in(time.Minute), series{ready(7 * time.Hour)}, false, ""}}},
		"until the PVC is skipped": {steps: []step{refused,
			{in(time.Second), series{uncut(7 * time.Hour).saying("limit")}, true, ""}, {in(time.Minute), series{ready(13 * time.Hour)}, false, ""}}},
		"while suspended until no error is left": {suspended: true, steps: []step{refused,
			{in(time.Second), series{uploading(13 * time.Hour).saying("young").created(in(0)), ready(14 * time.Hour)}, false, first},
			{in(time.Minute), series{ready(13 * time.Hour)}, false, ""}}},
	}
	for name, tc := range tests {
		for _, restarts := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", over restarts"}[restarts], func(t *testing.T) {
				s := every("6h")
				s.Spec.Suspend = tc.suspended
				r := newTestReporter()
				var said string
				for i, step := range tc.steps {
					if restarts {
						r = newTestReporter()
					}
					c := mapCase{schedule: s, snapshots: step.snapshots}
					if step.skipped {
						c.claim = claim("data").deleting()
					}
					seen := c.observe()
					seen.Now = step.at
					decided := statusOf(c.decider(t)(seen))
					undecided := *s.SnapshotSchedule
					setStatus(step.at, &undecided, known(1, decided)) // while the writes of the pass are under way
					status, events := r.pass(s, "data-uid", decided, mapcontroller.Outcome{})
					setStatus(step.at, s.SnapshotSchedule, known(1, status))
					got := wordsIn(s.SnapshotSchedule)
					if got != step.want {
						t.Errorf("step %d: says %q, want %q", i, got, step.want)
					}
					if during := wordsIn(&undecided); restarts && during != step.want {
						t.Errorf("step %d: before the pass has ended, says %q, want %q", i, during, step.want)
					}
					if reported := strings.Count(strings.Join(events, "\n"), step.want); (reported > 0) != (got != "" && got != said) && step.want != "" {
						t.Errorf("step %d: events are %q, and the problem was %q", i, events, said)
					}
					said = got
				}
			})
		}
	}
}

// wordsIn returns the message of the problem SnapshotError in a status.
func wordsIn(s *v1alpha1.SnapshotSchedule) (message string) {
	for _, p := range s.Status.Problems {
		if p.Reason == v1alpha1.ReasonSnapshotError {
			message += p.Message
		}
	}
	return message
}

// The sidecar names the volume before it repeats the driver, and the ID of a volume may be as long as what is kept.
//
// Contract: STAT-15.
func TestErrorsOfDriversAreTheDriversWords(t *testing.T) {
	disk := "/subscriptions/" + strings.Repeat("0", 36) + "/resourceGroups/shop/providers/Microsoft.Compute/disks/pvc-" + strings.Repeat("0", 36)
	said := `rpc error: code = Internal desc = create snapshot "a": exceeded the limit of '1200'`
	for _, attempt := range []string{"create snapshot", "check and update snapshot content"} {
		message := fmt.Sprintf("Failed to %s: failed to take snapshot of the volume %s: %q", attempt, disk, said)
		if got := backup.DriverError(uncut(time.Hour).saying(message).VolumeSnapshot); got != said {
			t.Errorf("%s: says %q", attempt, got)
		}
	}
}

// Contract: STAT-15.
func TestErrorsOfDriversAreBounded(t *testing.T) {
	long := "rpc error:\x1b[31m\n" + strings.Repeat("é", 1000)
	stripped, err := stripSnapshot(uncut(time.Hour).saying(long).VolumeSnapshot)
	must(t, err)
	v := stripped.(*snapshotv1.VolumeSnapshot)
	text := *v.Status.Error.Message
	if len(text) > backup.MaxDriverWords || !strings.HasPrefix(text, `rpc error:\u001b[31m é`) || backup.DriverError(v) != text {
		t.Errorf("%d bytes are kept: %q", len(text), text)
	}
	status := statusOf((&mapCase{schedule: every("6h")}).decider(t)((&mapCase{snapshots: series{snapshotBuilder{v}}}).observe()))
	if p := status.Problems[0]; len(p.Message) > report.MaxMessage || !strings.HasSuffix(p.Message, text) {
		t.Errorf("the problem is %+v", p)
	}
	ready, err := stripSnapshot(ready(time.Hour).saying(long).VolumeSnapshot)
	must(t, err)
	if e := ready.(*snapshotv1.VolumeSnapshot).Status.Error; e.Message != nil {
		t.Errorf("of a ready snapshot, %q is kept", *e.Message)
	}
}

// The workers of keys and of statuses share what was decided.
func TestEarlierWordsChangeNothingThatIsInUse(t *testing.T) {
	now := driverError{snapshot: position{name: "new", created: ago(time.Hour)}, text: "limit"}
	k := &keyStatus{Claim: "data", said: &said{error: &now, erring: true}}
	k.add(now.problem("VolumeSnapshot"))
	k.add(Problem{Reason: v1alpha1.ReasonSnapshotFailed, Message: "failed"})
	published, s := k.deepCopy(), every("6h")
	s.Status.Problems = []v1alpha1.Problem{{
		PersistentVolumeClaim: "data", Reason: v1alpha1.ReasonSnapshotError, Message: "VolumeSnapshot new: quota", SinceTime: metav1.NewTime(ago(time.Minute)),
	}}
	all := withEarlier([]any{k}, s.SnapshotSchedule)
	if got := all[0].(*keyStatus); got.said.error.text != "quota" || len(got.Problems) != 2 || !strings.Contains(got.Problems[0].Message, "quota") {
		t.Errorf("got %+v", got)
	}
	if !reflect.DeepEqual(k, published) {
		t.Errorf("a status that is in use was changed: %+v", k)
	}
}

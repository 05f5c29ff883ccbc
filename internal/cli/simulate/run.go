// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/ahead"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/history"
	"mapcontroller.dev/snapshotschedule/internal/drivers"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// input is what happens in a simulation. Times are since its beginning.
type input struct {
	from   time.Time
	length time.Duration
	claims int
	// gone are when PVCs are deleted, the last ones first.
	gone    []time.Duration
	outages []outage
	driver  *drivers.Driver
}

type outage struct{ from, until time.Duration }

// result is what has become of the PVCs of a schedule.
type result struct {
	Schedule string      `json:"schedule"`
	Policy   string      `json:"policy"`
	From     metav1.Time `json:"from"`
	Until    metav1.Time `json:"until"`
	// Incomplete is set if the simulation ended earlier than was asked for, because that would take too long.
	Incomplete bool     `json:"incomplete,omitempty"`
	Claims     []pvc    `json:"persistentVolumeClaims"`
	Samples    []sample `json:"samples"`
	// Kept counts the snapshots at the end by the rule that keeps them.
	Kept     map[string]int `json:"kept"`
	Limits   []broken       `json:"brokenLimits,omitempty"`
	Problems []problem      `json:"problems,omitempty"`
	timeline history.Timeline
}

// pvc is a PVC, or a group of PVCs.
type pvc struct {
	Name    string `json:"name"`
	AtMost  int    `json:"atMost"`
	AtEnd   int    `json:"atEnd"`
	Taken   int    `json:"taken"`
	Deleted int    `json:"deleted"`
	// Oldest is the time of the oldest snapshot at the end.
	Oldest *metav1.Time `json:"oldestSnapshotTime,omitempty"`
	// Behind is the longest time that the last recovery point was ago, in seconds, and BehindAt when.
	Behind   int64        `json:"longestRecoveryPointSeconds"`
	BehindAt *metav1.Time `json:"longestRecoveryPointTime,omitempty"`
	// reached are the times at which there were first so many snapshots; closest is the shortest time between two creations.
	reached    []time.Time
	from, last time.Time
	closest    time.Duration
}

// sample is what there is after some time, of all PVCs.
type sample struct {
	After     v1alpha1.Duration `json:"after"`
	Snapshots int               `json:"snapshots"`
	// Oldest and Newest are the ages of the oldest snapshot, and of the oldest recovery point of an existing PVC, in seconds.
	Oldest int64 `json:"oldestSnapshotSeconds"`
	Newest int64 `json:"recoveryPointSeconds"`
	at     time.Time
}

// broken is a limit of a driver that a PVC breaks.
type broken struct {
	Driver  string       `json:"driver"`
	Storage string       `json:"storage"`
	Limit   string       `json:"limit"`
	Time    *metav1.Time `json:"time,omitempty"`
}

type problem struct {
	Time    metav1.Time `json:"time"`
	Reason  string      `json:"reason"`
	Message string      `json:"message"`
}

// namespace is that of a schedule whose file names none.
const namespace = "default"

// work bounds what the PVCs of a schedule may cost together: a few seconds.
const work = 2 * ahead.MaxWork

// run simulates a schedule; for less time, if that would cost too much work.
func (in *input) run(ctx context.Context, written *v1alpha1.SnapshotSchedule, work int) (*result, error) {
	r, err := in.simulateAll(ctx, written, work)
	if err == nil && r.Incomplete {
		less := *in
		less.length = r.Until.Sub(in.from)
		r, err = less.simulateAll(ctx, written, 2*work) // which it does not need
		if r != nil {
			r.Incomplete = true
		}
	}
	return r, err
}

func (in *input) simulateAll(ctx context.Context, written *v1alpha1.SnapshotSchedule, work int) (*result, error) {
	s := in.created(written)
	claims := in.newClaims(s)
	judge, err := snapshots.NewJudge(term.Scheme, snapshots.Recorded(s, in.from), in.classes())
	if err != nil {
		return nil, fmt.Errorf("the spec is invalid: %w", err)
	}
	until := in.from.Add(in.length)
	r := &result{
		Schedule: s.Name, Policy: view.PolicyWords(&written.Spec), From: metav1.NewTime(in.from.UTC()), Until: metav1.NewTime(until.UTC()),
		Kept: map[string]int{}, Samples: in.samples(), timeline: history.Timeline{Namespace: s.Namespace, Name: s.Name},
	}
	r.timeline.Policy = r.Policy
	inv := &view.Inventory{Claims: map[string][]client.Object{s.Namespace: claims}}
	all := inv.SeriesOf(s, judge)
	slices.SortFunc(all, func(a, b *view.Series) int { // pvc-10 after pvc-9
		return cmp.Or(cmp.Compare(len(a.Name()), len(b.Name())), cmp.Compare(a.Name(), b.Name()))
	})
	if len(all) == 0 {
		return nil, errors.New("no PVC can belong to a group of this selector: its matchLabels stand for the PVCs")
	}
	for _, of := range all {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		in.simulate(r, judge, of, until, work/len(all))
	}
	r.Limits = brokenBy(r.Claims, in.driver)
	return r, nil
}

// created returns the schedule as it is created at the beginning. Which PVCs it selects and which classes it names is not judged.
func (in *input) created(written *v1alpha1.SnapshotSchedule) *v1alpha1.SnapshotSchedule {
	s := &v1alpha1.SnapshotSchedule{Spec: *written.Spec.DeepCopy()}
	s.Namespace, s.Name, s.UID, s.Generation = cmp.Or(written.Namespace, namespace), cmp.Or(written.Name, "schedule"), "simulated", 1
	s.CreationTimestamp = metav1.NewTime(in.from)
	s.Spec.SnapshotTemplate.Spec, s.Spec.StorageClassNames = v1alpha1.SnapshotTemplateSpec{}, nil
	if s.Spec.Group == nil {
		s.Spec.Selector = v1alpha1.LabelSelector{}
	} else {
		s.Spec.Group.VolumeGroupSnapshotClassName = nil
	}
	return s
}

// newClaims returns PVCs that the schedule selects, of one group if it takes groups.
func (in *input) newClaims(s *v1alpha1.SnapshotSchedule) (all []client.Object) {
	labels := map[string]string{}
	for key, value := range s.Spec.Selector.MatchLabels {
		labels[key] = string(value)
	}
	if g := s.Spec.Group; g != nil && g.ByLabel != "" && labels[g.ByLabel] == "" {
		labels[g.ByLabel] = "simulated"
	}
	for i := range in.claims {
		claim := &corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}}
		claim.Namespace, claim.Name, claim.Labels = s.Namespace, "pvc-"+strconv.Itoa(i+1), maps.Clone(labels)
		claim.UID, claim.CreationTimestamp = types.UID(claim.Name), metav1.NewTime(in.from)
		claim.Spec.VolumeName = "volume-" + claim.Name
		if in.driver != nil {
			claim.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": in.driver.Name}
		}
		all = append(all, claim)
	}
	return all
}

// classes returns the classes of the driver, with its limits; without a driver, any class fits.
func (in *input) classes() snapshots.Classes {
	if in.driver == nil {
		return snapshots.Classes{}
	}
	single := &snapshotv1.VolumeSnapshotClass{Driver: in.driver.Name}
	single.Name, single.Annotations = "simulated", map[string]string{"snapshot.storage.kubernetes.io/is-default-class": "true"}
	group := &groupv1.VolumeGroupSnapshotClass{Driver: in.driver.Name}
	group.Name, group.Annotations = "simulated", map[string]string{"groupsnapshot.storage.kubernetes.io/is-default-class": "true"}
	maps.Copy(single.Annotations, in.driver.Annotate)
	maps.Copy(group.Annotations, in.driver.Annotate)
	return snapshots.Classes{Known: true, All: []client.Object{single, group}}
}

// samples returns the times at which the snapshots of all PVCs are counted.
func (in *input) samples() (all []sample) {
	for _, tick := range history.Ticks {
		if tick.Age < in.length && tick.Age > in.length/400 {
			all = append(all, sample{After: v1alpha1.Duration(tick.Text), at: in.from.Add(tick.Age)})
		}
	}
	return append(all, sample{After: "end", at: in.from.Add(in.length)})
}

// simulate lets time pass over one series.
func (in *input) simulate(r *result, judge *snapshots.Judge, of *view.Series, until time.Time, work int) {
	sim := ahead.Simulate(judge, in.from, of)
	sim.Limit(work)
	for i, after := range in.gone {
		if name := "pvc-" + strconv.Itoa(in.claims-i); of.Name() == name || of.ClaimNamed(name) != nil {
			sim.Happens(in.from.Add(after), func(of *view.Series) { of.Lose(name) })
		}
	}
	for _, o := range in.outages {
		sim.Outage(in.from.Add(o.from), in.from.Add(o.until))
	}
	one := pvc{Name: of.Name(), from: in.from}
	for more := true; more && !sim.Now.After(until); {
		if sim.Exhausted() {
			if r.Incomplete = true; sim.Now.Before(r.Until.Time) {
				r.Until = metav1.NewTime(sim.Now.UTC())
			}
			return
		}
		var at time.Time
		var d snapshots.Judgment
		at, d, more = sim.Step()
		one.observe(at, &d, sim.Series())
		r.addProblems(at, d.Problems)
		next := sim.Now
		if !more || next.After(until) {
			next = until.Add(1)
		}
		for i := range r.Samples {
			if s := &r.Samples[i]; !s.at.Before(at) && s.at.Before(next) {
				s.add(&d, sim.Series())
			}
		}
	}
	r.end(&one, judge, sim.Series(), until)
}

// end adds a series as it is at the end.
func (r *result) end(one *pvc, judge *snapshots.Judge, left *view.Series, until time.Time) {
	end := judge.Again(until, left.Judged())
	one.behind(until, &end)
	one.AtEnd = len(end.Outputs)
	for i, verdict := range end.Retention.Verdicts {
		if s := &end.Series.Snapshots[i]; one.Oldest == nil || s.AgeBase(until).Before(one.Oldest.Time) {
			one.Oldest = term.TimeOf(s.AgeBase(until))
		}
		r.Kept[cmp.Or(end.KeptFor[i], verdict.String())]++
	}
	r.Claims = append(r.Claims, *one)
	r.timeline.Rows = append(r.timeline.Rows, history.LineOf(left, left.State(judge), &end, judge, until))
}

// observe adds what a pass has decided, and what is left after it.
func (p *pvc) observe(at time.Time, d *snapshots.Judgment, left *view.Series) {
	p.behind(at, d)
	p.Taken, p.Deleted = p.Taken+len(d.Create), p.Deleted+len(d.Delete)
	if len(d.Create) > 0 {
		if between := at.Sub(p.last); !p.last.IsZero() && (p.closest == 0 || between < p.closest) {
			p.closest = between
		}
		p.last = at
	}
	p.AtMost = max(p.AtMost, len(left.Snapshots))
	for len(p.reached) < p.AtMost {
		p.reached = append(p.reached, at)
	}
}

// behind adds how long ago the recovery point is.
func (p *pvc) behind(at time.Time, d *snapshots.Judgment) {
	if d.Series.Claim != retention.Selected {
		return
	}
	point := recoveryPointOf(d)
	if point.IsZero() { // there is none yet, or never
		point = p.from
	}
	if ago := int64(at.Sub(point) / time.Second); ago > p.Behind {
		p.Behind, p.BehindAt = ago, term.TimeOf(at)
	}
}

// recoveryPointOf returns the oldest recovery point of the PVCs that are decided about; zero if one has none.
func recoveryPointOf(d *snapshots.Judgment) time.Time {
	if d.Group == "" {
		return d.RecoveryPoint
	}
	var oldest time.Time
	for i := range d.Parts {
		switch point := d.Parts[i].RecoveryPoint; {
		case point.IsZero():
			return point
		case oldest.IsZero() || point.Before(oldest):
			oldest = point
		}
	}
	return oldest
}

// add adds a series at the time of a sample.
func (s *sample) add(d *snapshots.Judgment, left *view.Series) {
	s.Snapshots += len(left.Snapshots)
	for _, o := range left.Snapshots {
		b := backup.Of(o)
		s.Oldest = max(s.Oldest, int64(s.at.Sub(b.AgeBase(s.at))/time.Second))
	}
	if point := recoveryPointOf(d); !point.IsZero() {
		s.Newest = max(s.Newest, int64(s.at.Sub(point)/time.Second))
	}
}

// addProblems adds the first of the problems of each reason.
func (r *result) addProblems(at time.Time, found []snapshots.Problem) {
	for _, p := range found {
		if !slices.ContainsFunc(r.Problems, func(known problem) bool { return known.Reason == p.Reason }) {
			text, _, _ := strings.Cut(strings.Replace(p.String(), "; why: kubectl ", ": kubectl ", 1), ": kubectl ") // of what exists in no cluster
			r.Problems = append(r.Problems, problem{metav1.NewTime(at.UTC()), p.Reason, text})
		}
	}
}

// brokenBy returns which limits the PVCs break: of a driver, or of all that are known.
func brokenBy(claims []pvc, of *drivers.Driver) (all []broken) {
	known := drivers.All
	if of != nil {
		known = []drivers.Driver{*of}
	}
	for _, d := range known {
		var first, closest = time.Time{}, time.Duration(0)
		for i := range claims {
			c := &claims[i]
			if d.PerVolume > 0 && c.AtMost > d.PerVolume && (first.IsZero() || c.reached[d.PerVolume].Before(first)) {
				first = c.reached[d.PerVolume]
			}
			if c.closest > 0 && (closest == 0 || c.closest < closest) {
				closest = c.closest
			}
		}
		if !first.IsZero() {
			all = append(all, broken{d.Name, d.Storage, term.Plural(d.PerVolume, "snapshot") + " of a volume", term.TimeOf(first)})
		}
		if d.Spacing > 0 && closest > 0 && closest < d.Spacing {
			all = append(all, broken{d.Name, d.Storage, fmt.Sprintf("one snapshot of a volume in %s", model.Duration(d.Spacing)), nil})
		}
	}
	return all
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/ahead"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// whyResult is what is known of one snapshot.
type whyResult struct {
	Namespace string       `json:"namespace"`
	Name      string       `json:"name"`
	Schedule  string       `json:"schedule,omitempty"`
	Claim     string       `json:"persistentVolumeClaim,omitempty"`
	Slot      *metav1.Time `json:"slot,omitempty"`
	AgeBase   *metav1.Time `json:"ageCountsFrom,omitempty"`
	State     string       `json:"state,omitempty"`
	// Unmanaged says why no schedule decides about the snapshot.
	Unmanaged string `json:"unmanaged,omitempty"`
	// Notes are what else matters, such as paused retention.
	Notes []string `json:"notes,omitempty"`
	// Verdicts are the sequence of verdicts, the present one first.
	Verdicts []verdictAt `json:"verdicts,omitempty"`
	// SimulatedUntil is set if the simulation ended before the snapshot was deleted.
	SimulatedUntil *metav1.Time `json:"simulatedUntil,omitempty"`
	// ttl is that of the series.
	ttl v1alpha1.Duration
}

// verdictAt is a verdict and the time from which it holds.
type verdictAt struct {
	Time    metav1.Time `json:"time"`
	Verdict string      `json:"verdict"`
	Delete  bool        `json:"delete"`
	Because string      `json:"because"`
}

// NewWhy returns the command why.
func NewWhy(f *term.Factory) *cobra.Command {
	var output term.Output
	cmd := &cobra.Command{
		Use:     "why SNAPSHOT",
		GroupID: term.GroupShow,
		Short:   "Explain why a snapshot, or a group snapshot, is kept, and when it will be deleted",
		Long: "Explain which rule keeps or deletes a snapshot, and simulate time until it is deleted: which verdicts follow,\n" +
			"and when. The simulation assumes that every snapshot is taken on time and is ready at once, that no drill\n" +
			"verifies another one, and that nobody changes anything.",
		Example: `  # Why is this snapshot still here?
  kubectl snapsched why data-0-20260131020000-k2n4tq7xva`,
		Args:              term.Argument("SNAPSHOT", 1),
		ValidArgsFunction: term.CompleteOne(f.CompleteSnapshots()),
		RunE: f.Connected(func(ctx context.Context, args []string) error {
			now, err := f.ServerTime(ctx)
			if err != nil {
				return err
			}
			result, err := why(ctx, f, args[0], now)
			if err != nil {
				return err
			}
			if output.Structured() {
				return output.PrintStructured(f.Out, result)
			}
			return printWhy(f.Out, &output, result, now)
		}),
	}
	term.Needs(cmd, "get volumesnapshots snapshotschedules\nlist persistentvolumeclaims volumesnapshots")
	output.AddFlags(cmd, true, term.JSON, term.YAML)
	return cmd
}

// why reads a snapshot with its series, and decides.
func why(ctx context.Context, f *term.Factory, name string, now time.Time) (*whyResult, error) {
	v, err := view.GetSnapshot(ctx, f, name)
	if err != nil {
		return nil, err
	}
	name = v.GetName()
	var notes []string
	if group := backup.LabeledMember(v); group != "" && backup.GroupMember(v) {
		notes = append(notes, name+" is a member of it: its data goes with the group snapshot, and never alone")
		if text := backup.DrillWords(v, now); text != "" {
			notes = append(notes, "of "+name+", "+text)
		}
		name, v = group, &groupv1.VolumeGroupSnapshot{}
		if err := f.Get(ctx, name, v); err != nil {
			return nil, err
		}
	}
	mapKey, schedule := v.GetLabels()[v1alpha1.LabelMapKey], v.GetLabels()[v1alpha1.LabelSchedule]
	result := &whyResult{Namespace: v.GetNamespace(), Name: name, Schedule: schedule, Notes: notes}
	if result.Unmanaged = view.Unmanaged(v); result.Unmanaged != "" {
		return result, nil
	}
	s, inv, err := view.ReadOf(ctx, f, schedule, decidesAbout(v)...)
	if apierrors.IsNotFound(err) {
		result.Unmanaged = "its schedule " + schedule + " does not exist; a new one of this name would adopt it"
		return result, nil
	}
	if err != nil {
		return nil, err
	}
	if text := backup.DriverError(v); text != "" {
		result.Notes = append(result.Notes, "it is not ready, and its status has an error: "+text)
	}
	if text := backup.DrillWords(v, now); text != "" && len(notes) == 0 {
		result.Notes = append(result.Notes, text)
	}
	result.judgeUnder(s, inv, mapKey, now)
	return result, nil
}

// decidesAbout returns what is read to decide about a snapshot: its series. Of a group snapshot, what other groups have of its PVCs
// counts for their floor.
func decidesAbout(v client.Object) []client.ListOption {
	if _, isGroup := v.(*groupv1.VolumeGroupSnapshot); isGroup {
		return nil
	}
	return []client.ListOption{client.MatchingLabels{v1alpha1.LabelMapKey: v.GetLabels()[v1alpha1.LabelMapKey]}}
}

// judgeUnder judges the series of a map key under a schedule.
func (r *whyResult) judgeUnder(s *v1alpha1.SnapshotSchedule, inv *view.Inventory, mapKey string, now time.Time) {
	judge, err := inv.Judge(snapshots.Recorded(s, now, inv.Origins.Of(s)...))
	if err != nil {
		r.Notes = append(r.Notes, "the spec of the schedule is invalid, so nothing is deleted: "+err.Error())
		return
	}
	for _, series := range inv.SeriesOf(s, judge) {
		if series.MapKey == mapKey {
			spec := &inv.Origins.Decided(s).Spec // a child's own decides nothing
			if r.ttl = spec.SnapshotTTL; spec.Group != nil {
				r.ttl = "" // that of a PVC that is gone may be another
			}
			if detached := spec.Retention.Detached.SnapshotTTL; detached != "" && series.State(judge) != view.StateSelected {
				r.ttl = detached
			}
			r.judge(judge, series, now, now.Add(ahead.MaxAhead), spec.Retention.MaxCount == nil)
		}
	}
	r.note(s)
}

// judge simulates the series until the snapshot is deleted.
func (r *whyResult) judge(judge *snapshots.Judge, series *view.Series, now, until time.Time, uncapped bool) {
	r.Claim = series.Name()
	sim := ahead.Simulate(judge, now, series)
	for !sim.Exhausted() && !sim.Now.After(until) {
		at, d, more := sim.Step()
		i := slices.IndexFunc(d.Series.Snapshots, func(s retention.Snapshot) bool { return s.Name == r.Name })
		if i < 0 {
			if len(r.Verdicts) == 0 {
				r.Unmanaged = "it is controlled by something else"
			}
			return
		}
		if len(r.Verdicts) == 0 {
			s := &d.Series.Snapshots[i]
			r.Slot, r.AgeBase = term.TimeOf(s.Slot(now)), term.TimeOf(s.AgeBase(now))
			r.State = s.State(now, judge.ReadyDeadline()).String()
		}
		v, shown := d.Retention.Verdicts[i], r.shown(judge, &d, i, at)
		if n := len(r.Verdicts); n == 0 || r.Verdicts[n-1].Verdict != shown.Verdict {
			r.Verdicts = append(r.Verdicts, shown)
		}
		if shown.Delete || forever(v, &d.Series.Snapshots[i]) || v == retention.NoLimit && uncapped || !more {
			return
		}
	}
	r.SimulatedUntil = term.TimeOf(sim.Now)
}

// forever returns whether time alone does not end what keeps a snapshot: no drill verifies a newer one.
func forever(v retention.Verdict, s *retention.Snapshot) bool {
	return v == retention.Verified || v == retention.HeldByAnnotation && s.HeldUntil.Equal(retention.Forever)
}

// shown is the verdict on a snapshot from a time on.
func (r *whyResult) shown(judge *snapshots.Judge, d *snapshots.Judgment, i int, at time.Time) verdictAt {
	v, end := d.Retention.Verdicts[i], d.Series.Snapshots[i].HeldUntil
	shown := verdictAt{
		Time: metav1.NewTime(at.UTC().Truncate(time.Second)), Verdict: v.String(), Delete: v.Delete(), Because: view.Explain(v),
	}
	if v == retention.HeldByAnnotation {
		text, _ := backup.HoldText(d.Outputs[i])
		shown.Because = view.HeldWords(text, end)
	}
	if reason := d.KeptFor[i]; reason != "" {
		shown.Verdict, shown.Delete, shown.Because = reason, false, view.DelayedWords(reason, judge.KeptUntil(reason), v)
	}
	if (v == retention.WithinTTL || v == retention.Expired) && r.ttl != "" {
		shown.Because += ", " + string(r.ttl)
	}
	return shown
}

// note adds what delays deletes.
func (r *whyResult) note(s *v1alpha1.SnapshotSchedule) {
	if s.DeletionTimestamp != nil {
		r.Notes = append(r.Notes, "the schedule is being deleted, so the operator deletes nothing")
	}
	paused := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionRetentionPaused)
	if paused != nil && paused.Status == metav1.ConditionTrue {
		r.Notes = append(r.Notes, "retention is paused ("+paused.Reason+"): "+paused.Message)
	}
}

func printWhy(w io.Writer, output *term.Output, r *whyResult, now time.Time) error {
	style := term.StyleOf(w)
	fmt.Fprintln(w, style.Bold(r.Namespace+"/"+r.Name))
	if r.Unmanaged != "" {
		term.Say(w, "  No schedule decides about it: "+r.Unmanaged+".")
		return nil
	}
	term.Say(w, fmt.Sprintf("  Schedule %s, PVC %s", r.Schedule, r.Claim))
	if r.Slot != nil {
		fmt.Fprintf(w, "  Taken for %s, %s ago; %s\n", term.Timestamp(r.Slot.Time), term.Age(now, r.AgeBase.Time), r.State)
	}
	for _, note := range r.Notes {
		term.Say(w, "  "+style.Warn("Note")+": "+note)
	}
	if len(r.Verdicts) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	table := term.NewTable("FROM", "IN", "VERDICT", "RULE", "BECAUSE")
	for i, v := range r.Verdicts {
		in, word := term.Until(now, v.Time.Time), "kept"
		if i > 0 && v.Time.Equal(&r.Verdicts[i-1].Time) { // such as of one in progress, which is taken to be ready in the next moment
			in = "then"
		}
		if v.Delete {
			word = "deleted"
		}
		table.Row(term.Timestamp(v.Time.Time), in, word, v.Verdict, v.Because)
	}
	if err := output.PrintTable(w, table); err != nil {
		return err
	}
	last := r.Verdicts[len(r.Verdicts)-1]
	switch {
	case last.Delete:
	case r.SimulatedUntil != nil:
		fmt.Fprintf(w, "\nIt is still kept on %s; the simulation ended there.\n", term.Timestamp(r.SimulatedUntil.Time))
	default:
		fmt.Fprintln(w, "\nThe passing of time alone does not delete it.")
	}
	return nil
}

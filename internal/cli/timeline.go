// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// timeline is the snapshots of one schedule over time.
type timeline struct {
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	Policy    string         `json:"policy"`
	Rows      []timelineLine `json:"persistentVolumeClaims"`
}

// timelineLine is the snapshots of one PVC.
type timelineLine struct {
	Claim     string        `json:"name"`
	State     string        `json:"state"`
	Next      []metav1.Time `json:"nextSnapshotTimes,omitempty"`
	Snapshots []mark        `json:"snapshots"`
	// interval is the time from the current slot to the next.
	interval time.Duration
}

// mark is one snapshot on a timeline.
type mark struct {
	Name    string      `json:"name"`
	Time    metav1.Time `json:"time"`
	State   string      `json:"state"`
	Verdict string      `json:"verdict"`
	verdict retention.Verdict
	// spared is set if the verdict is to delete, and a delay keeps the snapshot.
	spared bool
	state  retention.State
}

func newTimelineCommand(f *Factory) *cobra.Command {
	var output Output
	var claim string
	cmd := &cobra.Command{
		Use:     "timeline NAME",
		GroupID: GroupShow,
		Short:   "Draw the snapshots of each PVC over time",
		Long: "Draw one line for each PVC of a schedule: its snapshots by age, what keeps them, holds and failures,\n" +
			"and when the next ones are due. Old ages are drawn closer together if the line is too short.",
		Example: `  # All PVCs of a schedule
  kubectl snapsched timeline nightly

  # One PVC, on a line of 160 columns, without colors
  COLUMNS=160 NO_COLOR=1 kubectl snapsched timeline nightly --pvc data-0`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: CompleteOne(f.CompleteSchedules()),
		RunE: func(cmd *cobra.Command, args []string) error {
			now := f.Clock.Now()
			t, err := readTimeline(cmd.Context(), f, args[0], claim, now)
			if err != nil {
				return err
			}
			if output.Structured() {
				return output.PrintStructured(f.Out, t)
			}
			return t.draw(f.Out, StyleOf(f.Out), WidthOf(f.Out), now)
		},
	}
	cmd.Flags().StringVar(&claim, "pvc", "", "Draw this PVC only.")
	_ = cmd.RegisterFlagCompletionFunc("pvc", f.CompleteClaims())
	output.AddFlags(cmd, false, JSON, YAML)
	return cmd
}

func readTimeline(ctx context.Context, f *Factory, name, claim string, now time.Time) (*timeline, error) {
	c, namespace, err := f.Connect()
	if err != nil {
		return nil, err
	}
	s, err := readSchedule(ctx, c, namespace, name)
	if err != nil {
		return nil, err
	}
	inv, err := f.readInventory(ctx, c, namespace, labels.Everything(), client.MatchingLabels{v1alpha1.LabelSchedule: name})
	if err != nil {
		return nil, err
	}
	t, err := timelineOf(s, inv, claim, now)
	if err == nil && claim != "" && len(t.Rows) == 0 {
		err = fmt.Errorf("schedule %s neither selects PVC %s nor has snapshots of it", name, claim)
	}
	return t, err
}

// timelineOf returns the timeline of a schedule, or of one of its PVCs.
func timelineOf(s *v1alpha1.SnapshotSchedule, inv *inventory, claim string, now time.Time) (*timeline, error) {
	t := &timeline{Namespace: s.Namespace, Name: s.Name, Policy: policyWords(&s.Spec), Rows: []timelineLine{}}
	judge, err := inv.judge(s)
	if err != nil {
		return nil, fmt.Errorf("the spec of schedule %s is invalid: %w", s.Name, err)
	}
	for _, series := range inv.seriesOf(s, judge.Selects) {
		if claim != "" && series.claimName() != claim {
			continue
		}
		d := judge.Judge(now, series.mapKey, series.claim, series.snapshots, series.restores)
		state := series.state(judge.Selects)
		if state != stateSelected && len(d.Outputs) == 0 {
			continue
		}
		t.Rows = append(t.Rows, lineOf(series, state, &d, judge, now))
	}
	return t, nil
}

func lineOf(series *series, state string, d *snapshots.Judgment, judge *snapshots.Judge, now time.Time) timelineLine {
	line := timelineLine{Claim: series.claimName(), State: state, Snapshots: []mark{}}
	for i := range d.Series.Snapshots {
		s, verdict := &d.Series.Snapshots[i], d.Retention.Verdicts[i]
		snapshotState := s.State(now, judge.ReadyDeadline())
		m := mark{
			Name: s.Name, Time: *timeOf(s.AgeBase(now)), State: snapshotState.String(), Verdict: verdict.String(),
			verdict: verdict, state: snapshotState,
		}
		if reason := d.SparedFor[i]; reason != "" {
			m.Verdict, m.spared = reason, true
		}
		line.Snapshots = append(line.Snapshots, m)
	}
	if state != stateSelected || d.SkipReason != "" {
		return line
	}
	slots := judge.NextSlots(series.claim, now, 2)
	if len(slots) == 2 {
		line.interval = slots[1].Sub(slots[0])
	}
	if d.Retention.Take.Due {
		slots = append([]time.Time{d.Slots.Current}, slots...)
	}
	for _, slot := range slots[:min(2, len(slots))] {
		line.Next = append(line.Next, *timeOf(slot))
	}
	return line
}

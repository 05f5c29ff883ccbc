// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/report"
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
	mapKey   string
}

// mark is one snapshot on a timeline.
type mark struct {
	Name    string      `json:"name"`
	Time    metav1.Time `json:"time"`
	State   string      `json:"state"`
	Verdict string      `json:"verdict"`
	// Drill is how the last drill of the snapshot ended.
	Drill   string `json:"drill,omitempty"`
	verdict retention.Verdict
	// spared is set if the verdict is to delete, and a delay keeps the snapshot.
	spared bool
	state  retention.State
}

func newTimelineCommand(f *term.Factory) *cobra.Command {
	var output term.Output
	var claim string
	cmd := &cobra.Command{
		Use:     "timeline NAME",
		GroupID: term.GroupShow,
		Short:   "Draw the snapshots of each PVC over time",
		Long: "Draw one line for each PVC of a schedule: its snapshots by age, what keeps them, holds and failures,\n" +
			"and when the next ones are due. Old ages are drawn closer together if the line is too short.",
		Example: `  # All PVCs of a schedule
  kubectl snapsched timeline nightly

  # One PVC, on a line of 160 columns, without colors
  COLUMNS=160 NO_COLOR=1 kubectl snapsched timeline nightly --pvc data-0`,
		Args:              term.Argument("NAME", 1),
		ValidArgsFunction: term.CompleteOne(f.CompleteSchedules()),
		RunE: f.Connected(func(ctx context.Context, args []string) error {
			s, inv, err := readOf(ctx, f, args[0])
			if err != nil {
				return err
			}
			now := f.Clock.Now()
			t, err := timelineOf(s, inv, claim, now)
			switch {
			case err != nil:
				return err
			case claim != "" && len(t.Rows) == 0:
				return fmt.Errorf("schedule %s neither selects PVC %s nor has snapshots of it", s.Name, claim)
			case output.Structured():
				return output.PrintStructured(f.Out, t)
			}
			t.draw(f.Out, term.StyleOf(f.Out), term.WidthOf(f.Out), now)
			return nil
		}),
	}
	cmd.Flags().StringVar(&claim, "pvc", "", "Draw this PVC, or its group, only.")
	_ = cmd.RegisterFlagCompletionFunc("pvc", f.CompleteClaims())
	output.AddFlags(cmd, false, term.JSON, term.YAML)
	return cmd
}

// timelineOf returns the timeline of a schedule, or of one of its PVCs.
func timelineOf(s *v1alpha1.SnapshotSchedule, inv *inventory, claim string, now time.Time) (*timeline, error) {
	t := &timeline{Namespace: s.Namespace, Name: s.Name, Policy: policyWords(&inv.origins.decided(s).Spec), Rows: []timelineLine{}}
	judge, all, err := inv.judged(s, now)
	if err != nil {
		return nil, fmt.Errorf("the spec of schedule %s is invalid: %w", s.Name, err)
	}
	for of, d := range all {
		if claim == "" || of.name() == claim || of.claimNamed(claim) != nil {
			t.Rows = append(t.Rows, lineOf(of, of.state(judge), d, judge, now))
		}
	}
	return t, nil
}

func lineOf(series *series, state string, d *snapshots.Judgment, judge *snapshots.Judge, now time.Time) timelineLine {
	line := timelineLine{Claim: series.name(), State: state, Snapshots: []mark{}, mapKey: series.mapKey}
	for i := range d.Series.Snapshots {
		s, verdict := &d.Series.Snapshots[i], d.Retention.Verdicts[i]
		snapshotState := s.State(now, judge.ReadyDeadline())
		m := mark{
			Name: s.Name, Time: *term.TimeOf(s.AgeBase(now)), State: snapshotState.String(), Verdict: verdict.String(),
			verdict: verdict, state: snapshotState,
		}
		if at, verified := s.Drill(now); verified {
			m.Drill = drillVerified
		} else if !at.IsZero() {
			m.Drill = drillFailed
		}
		if reason := d.SparedFor[i]; reason != "" {
			m.Verdict, m.spared = reason, true
		}
		line.Snapshots = append(line.Snapshots, m)
	}
	if state != stateSelected || d.SkipReason != "" {
		return line
	}
	slots := judge.NextSlots(series.judged(), now, 2)
	if len(slots) == 2 {
		line.interval = slots[1].Sub(slots[0])
	}
	if d.Retention.Take.Due {
		slots = append([]time.Time{d.Slots.Current}, slots...)
	}
	for _, slot := range slots[:min(2, len(slots))] {
		line.Next = append(line.Next, *term.TimeOf(slot))
	}
	return line
}

// How the last drill of a snapshot ended.
const (
	drillVerified = "Verified"
	drillFailed   = "Failed"
)

// symbol is how a snapshot is drawn. Where several snapshots share a place, the
// one that comes first in symbols is drawn.
type symbol struct {
	text    string
	meaning string
	paint   func(term.Style, string) string
	is      func(*mark) bool
}

func verdictIs(v retention.Verdict) func(*mark) bool {
	return func(m *mark) bool { return m.verdict == v }
}

// leaves returns whether a snapshot is deleted now.
func (m *mark) leaves() bool {
	return m.verdict.Delete() && !m.spared || m.state == retention.Terminating
}

// symbols are ordered by importance.
var symbols = []symbol{
	{"x", "failed", term.Style.Bad, func(m *mark) bool { return m.state == retention.Failed }},
	{"H", "held", term.Style.Warn, func(m *mark) bool {
		return m.verdict == retention.HeldByAnnotation || m.verdict == retention.HeldByRestore
	}},
	{"○", "not ready", term.Style.Warn, func(m *mark) bool { return m.state != retention.Ready && !m.leaves() }},
	{"!", "drill failed", term.Style.Bad, func(m *mark) bool { return m.Drill == drillFailed && !m.leaves() }},
	{"y", "yearly", term.Style.Magenta, verdictIs(retention.KeptYearly)},
	{"m", "monthly", term.Style.Magenta, verdictIs(retention.KeptMonthly)},
	{"w", "weekly", term.Style.Blue, verdictIs(retention.KeptWeekly)},
	{"d", "daily", term.Style.Cyan, verdictIs(retention.KeptDaily)},
	{"h", "hourly", term.Style.Good, verdictIs(retention.KeptHourly)},
	{"l", "last", term.Style.Good, verdictIs(retention.KeptLast)},
	{"f", "floor", term.Style.Good, verdictIs(retention.Floor)},
	{"~", "to be deleted after a delay", term.Style.Warn, func(m *mark) bool { return m.spared }},
	{"v", "verified", term.Style.Good, func(m *mark) bool { return m.Drill == drillVerified && !m.leaves() }},
	{"●", "kept", term.Style.Good, func(m *mark) bool { return !m.leaves() }},
	{"-", "to be deleted", term.Style.Dim, (*mark).leaves},
}

func symbolOf(m *mark) int {
	return slices.IndexFunc(symbols, func(s symbol) bool { return s.is(m) })
}

// axis places ages on a line: evenly if every snapshot then has a place of its
// own, else the older the closer, as tiers thin them out.
type axis struct {
	width  int
	oldest time.Duration
	// unit is the age at which places become closer; zero: never.
	unit time.Duration
}

func newAxis(width int, oldest, interval time.Duration) axis {
	a := axis{width: width, oldest: max(oldest, time.Minute)}
	if interval > 0 && a.oldest/interval > time.Duration(width) {
		a.unit = interval
	}
	return a
}

// axis returns one that has a place for each snapshot.
func (t *timeline) axis(width int, now time.Time) axis {
	oldest, interval := time.Duration(0), time.Duration(0)
	for i := range t.Rows {
		row := &t.Rows[i]
		for _, m := range row.Snapshots {
			oldest = max(oldest, now.Sub(m.Time.Time))
		}
		if row.interval > 0 && (interval == 0 || row.interval < interval) {
			interval = row.interval
		}
	}
	return newAxis(width, oldest, interval)
}

// place returns the column of an age, 0 for the oldest.
func (a axis) place(age time.Duration) int {
	part := float64(max(age, 0)) / float64(a.oldest)
	if a.unit > 0 {
		part = math.Log1p(float64(max(age, 0))/float64(a.unit)) / math.Log1p(float64(a.oldest)/float64(a.unit))
	}
	return max(0, a.width-1-int(math.Round(part*float64(a.width-1))))
}

// ticks are the ages that an axis may be labeled with.
var ticks = []struct {
	age  time.Duration
	text string
}{
	{time.Minute, "1m"}, {5 * time.Minute, "5m"}, {15 * time.Minute, "15m"}, {30 * time.Minute, "30m"},
	{time.Hour, "1h"}, {2 * time.Hour, "2h"}, {6 * time.Hour, "6h"}, {12 * time.Hour, "12h"},
	{term.Day, "1d"}, {2 * term.Day, "2d"}, {4 * term.Day, "4d"}, {7 * term.Day, "1w"}, {14 * term.Day, "2w"}, {30 * term.Day, "30d"}, {60 * term.Day, "60d"},
	{90 * term.Day, "90d"}, {180 * term.Day, "180d"}, {365 * term.Day, "1y"}, {2 * 365 * term.Day, "2y"}, {5 * 365 * term.Day, "5y"}, {10 * 365 * term.Day, "10y"},
}

// header returns the labels of the axis. They end at the place of their age.
func (a axis) header() string {
	line := []rune(strings.Repeat(" ", a.width))
	copy(line[max(0, a.width-3):], []rune("now"))
	// From now to the oldest: recent ages are the most interesting. free is the
	// first column that is taken.
	free := a.width - 3
	for _, tick := range ticks {
		end := a.place(tick.age) + 1
		if begin := end - len(tick.text); tick.age <= a.oldest && begin >= 0 && end < free {
			copy(line[begin:], []rune(tick.text))
			free = begin
		}
	}
	return string(line)
}

// draw draws a timeline as wide as the terminal.
func (t *timeline) draw(w io.Writer, style term.Style, width int, now time.Time) {
	fmt.Fprintln(w, term.FitLine(style.Bold(t.Namespace+"/"+t.Name)+": "+report.Line(t.Policy), width))
	if len(t.Rows) == 0 {
		fmt.Fprintln(w, "\nNo PVC is selected, and there are no snapshots.")
		return
	}
	const next, count = 11, 5
	labels := len("PVC")
	for i := range t.Rows {
		labels = max(labels, utf8.RuneCountInString(t.Rows[i].label()))
	}
	labels = min(labels, max(width/4, 8))
	a := t.axis(max(width-labels-next-count-4, 10), now)

	fmt.Fprintf(w, "\n%s\n", style.Dim(fmt.Sprintf("%-*s  %s %*s %*s", labels, "PVC", a.header(), next, "NEXT", count, "COUNT")))
	used := make([]bool, len(symbols))
	for i := range t.Rows {
		row := &t.Rows[i]
		var following []string
		for _, slot := range row.Next {
			following = append(following, term.Until(now, slot.Time))
		}
		fmt.Fprintf(w, "%-*s  %s %*s %*d\n", labels, shorten(row.label(), labels), row.plot(a, style, now, used),
			next, cmp.Or(strings.Join(following, ", "), "-"), count, len(row.Snapshots))
	}
	fmt.Fprint(w, "\n", legendOf(style, used, width))
}

// plot returns the line of a PVC, and marks the symbols that it uses.
func (l *timelineLine) plot(a axis, style term.Style, now time.Time, used []bool) string {
	places := make([]int, a.width) // symbol + 1
	for i := range l.Snapshots {
		m := &l.Snapshots[i]
		s := symbolOf(m)
		if at := &places[a.place(now.Sub(m.Time.Time))]; *at == 0 || s < *at-1 {
			*at = s + 1
		}
	}
	var b strings.Builder
	for _, place := range places {
		if place == 0 {
			b.WriteString(style.Dim("·"))
			continue
		}
		used[place-1] = true
		b.WriteString(symbols[place-1].paint(style, symbols[place-1].text))
	}
	return b.String()
}

// legendOf explains the symbols that are used, in lines that fit the width.
func legendOf(style term.Style, used []bool, width int) string {
	var b strings.Builder
	column := 0
	for i := len(symbols) - 1; i >= 0; i-- {
		if !used[i] {
			continue
		}
		s := &symbols[i]
		switch length := utf8.RuneCountInString(s.text + " " + s.meaning); {
		case column == 0:
			column = length
		case column+2+length > width:
			b.WriteString("\n")
			column = length
		default:
			b.WriteString("  ")
			column += 2 + length
		}
		b.WriteString(s.paint(style, s.text) + " " + s.meaning)
	}
	if column > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

func (l *timelineLine) label() string { return report.Line(labelOf(l.Claim, l.State)) }

// shorten cuts the middle out of a name that is too long: its end tells the
// members of a set apart.
func shorten(name string, width int) string {
	runes := []rune(name)
	if len(runes) <= width {
		return name
	}
	head := (width - 1) / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(width-1-head):])
}

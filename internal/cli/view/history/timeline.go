// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history draws the snapshots of a schedule in time.
package history

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/report"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// Timeline is the snapshots of one schedule over time.
type Timeline struct {
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	Policy    string         `json:"policy"`
	Rows      []TimelineLine `json:"persistentVolumeClaims"`
}

// TimelineLine is the snapshots of one PVC.
type TimelineLine struct {
	Claim     string        `json:"name"`
	State     string        `json:"state"`
	Next      []metav1.Time `json:"nextSnapshotTimes,omitempty"`
	Snapshots []Mark        `json:"snapshots"`
	// interval is the time from the current slot to the next.
	interval time.Duration
	MapKey   string `json:"-"`
}

// Mark is one snapshot on a timeline.
type Mark struct {
	Name    string      `json:"name"`
	Time    metav1.Time `json:"time"`
	State   string      `json:"state"`
	Verdict string      `json:"verdict"`
	// Drill is how the last drill of the snapshot ended.
	Drill   string `json:"drill,omitempty"`
	verdict retention.Verdict
	// delayed is set if the verdict is to delete, and a delay keeps the snapshot.
	delayed bool
	state   retention.State
}

// TimelineOf returns the timeline of a schedule, or of one of its PVCs.
func TimelineOf(s *v1alpha1.SnapshotSchedule, inv *view.Inventory, claim string, now time.Time) (*Timeline, error) {
	t := &Timeline{Namespace: s.Namespace, Name: s.Name, Policy: view.PolicyWords(&inv.Origins.Decided(s).Spec), Rows: []TimelineLine{}}
	judge, all, err := inv.Judged(s, now)
	if err != nil {
		return nil, fmt.Errorf("the spec of schedule %s is invalid: %w", s.Name, err)
	}
	for of, d := range all {
		if claim == "" || of.Name() == claim || of.ClaimNamed(claim) != nil {
			t.Rows = append(t.Rows, LineOf(of, of.State(judge), d, judge, now))
		}
	}
	return t, nil
}

// LineOf returns the line of a series, about which a judge has decided.
func LineOf(series *view.Series, state string, d *snapshots.Judgment, judge *snapshots.Judge, now time.Time) TimelineLine {
	line := TimelineLine{Claim: series.Name(), State: state, Snapshots: []Mark{}, MapKey: series.MapKey}
	for i := range d.Series.Snapshots {
		s, verdict := &d.Series.Snapshots[i], d.Retention.Verdicts[i]
		snapshotState := s.State(now, judge.ReadyDeadline())
		m := Mark{
			Name: s.Name, Time: *term.TimeOf(s.AgeBase(now)), State: snapshotState.String(), Verdict: verdict.String(),
			verdict: verdict, state: snapshotState,
		}
		if at, verified := s.Drill(now); verified {
			m.Drill = drillVerified
		} else if !at.IsZero() {
			m.Drill = drillFailed
		}
		if reason := d.KeptFor[i]; reason != "" {
			m.Verdict, m.delayed = reason, true
		}
		line.Snapshots = append(line.Snapshots, m)
	}
	if state != view.StateSelected || d.SkipReason != "" {
		return line
	}
	slots := judge.NextSlots(series.Judged(), now, 2)
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

// Symbol is how a snapshot is drawn. Where several snapshots share a place, the
// one that comes first in symbols is drawn.
type Symbol struct {
	text    string
	meaning string
	paint   func(term.Style, string) string
	is      func(*Mark) bool
}

func verdictIs(v retention.Verdict) func(*Mark) bool {
	return func(m *Mark) bool { return m.verdict == v }
}

// leaves returns whether a snapshot is deleted now.
func (m *Mark) leaves() bool {
	return m.verdict.Delete() && !m.delayed || m.state == retention.Terminating
}

// Symbols are ordered by importance.
var Symbols = slices.Concat([]Symbol{
	{"x", "failed", term.Style.Bad, func(m *Mark) bool { return m.state == retention.Failed }},
	{"H", "held", term.Style.Warn, func(m *Mark) bool {
		return m.verdict.Held()
	}},
	{"○", "not ready", term.Style.Warn, func(m *Mark) bool { return m.state != retention.Ready && !m.leaves() }},
	{"!", "drill failed", term.Style.Bad, func(m *Mark) bool { return m.Drill == drillFailed && !m.leaves() }},
}, symbolsOfTiers(), []Symbol{
	{"f", "floor", term.Style.Good, verdictIs(retention.Floor)},
	{"~", "to be deleted after a delay", term.Style.Warn, func(m *Mark) bool { return m.delayed }},
	{"v", "verified", term.Style.Good, func(m *Mark) bool { return m.Drill == drillVerified && !m.leaves() }},
	{"●", "kept", term.Style.Good, func(m *Mark) bool { return !m.leaves() }},
	{"-", "to be deleted", term.Style.Dim, (*Mark).leaves},
})

// symbolsOfTiers has that of the longest periods first. A tier is drawn as its first letter.
func symbolsOfTiers() (all []Symbol) {
	verdict := retention.KeptLast + retention.Verdict(len(retention.TierTable))
	for _, tier := range slices.Backward(retention.TierTable[:]) {
		verdict--
		paint := term.Style.Magenta
		switch {
		case tier.Longest < term.Day:
			paint = term.Style.Good
		case tier.Longest < 7*term.Day:
			paint = term.Style.Cyan
		case tier.Longest < 28*term.Day:
			paint = term.Style.Blue
		}
		all = append(all, Symbol{tier.Name[:1], tier.Name, paint, verdictIs(verdict)})
	}
	return all
}

// SymbolOf returns which of the symbols a snapshot has.
func SymbolOf(m *Mark) int {
	return slices.IndexFunc(Symbols, func(s Symbol) bool { return s.is(m) })
}

// Axis places ages on a line: evenly if every snapshot then has a place of its
// own, else the older the closer, as tiers thin them out.
type Axis struct {
	Width  int
	Oldest time.Duration
	// unit is the age at which places become closer; zero: never.
	unit time.Duration
}

func newAxis(width int, oldest, interval time.Duration) Axis {
	a := Axis{Width: width, Oldest: max(oldest, time.Minute)}
	if interval > 0 && a.Oldest/interval > time.Duration(width) {
		a.unit = interval
	}
	return a
}

// Axis returns one that has a place for each snapshot.
func (t *Timeline) Axis(width int, now time.Time) Axis {
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

// Place returns the column of an age, 0 for the oldest.
func (a Axis) Place(age time.Duration) int {
	part := float64(max(age, 0)) / float64(a.Oldest)
	if a.unit > 0 {
		part = math.Log1p(float64(max(age, 0))/float64(a.unit)) / math.Log1p(float64(a.Oldest)/float64(a.unit))
	}
	return max(0, a.Width-1-int(math.Round(part*float64(a.Width-1))))
}

// Ticks are the ages that an axis may be labeled with.
var Ticks = []struct {
	Age  time.Duration
	Text string
}{
	{time.Minute, "1m"}, {5 * time.Minute, "5m"}, {15 * time.Minute, "15m"}, {30 * time.Minute, "30m"},
	{time.Hour, "1h"}, {2 * time.Hour, "2h"}, {6 * time.Hour, "6h"}, {12 * time.Hour, "12h"},
	{term.Day, "1d"}, {2 * term.Day, "2d"}, {4 * term.Day, "4d"}, {7 * term.Day, "1w"},
	{14 * term.Day, "2w"}, {30 * term.Day, "30d"}, {60 * term.Day, "60d"},
	{90 * term.Day, "90d"}, {180 * term.Day, "180d"}, {365 * term.Day, "1y"},
	{2 * 365 * term.Day, "2y"}, {5 * 365 * term.Day, "5y"}, {10 * 365 * term.Day, "10y"},
}

// header returns the labels of the axis. They end at the place of their age.
func (a Axis) header() string {
	line := []rune(strings.Repeat(" ", a.Width))
	copy(line[max(0, a.Width-3):], []rune("now"))
	// From now to the oldest: recent ages are the most interesting. free is the
	// first column that is taken.
	free := a.Width - 3
	for _, tick := range Ticks {
		end := a.Place(tick.Age) + 1
		if begin := end - len(tick.Text); tick.Age <= a.Oldest && begin >= 0 && end < free {
			copy(line[begin:], []rune(tick.Text))
			free = begin
		}
	}
	// The left end says how far back the line goes, unless a label there does.
	if oldest := duration.ShortHumanDuration(a.Oldest); len(oldest) < free {
		copy(line, []rune(oldest))
	}
	return string(line)
}

// Draw draws a timeline as wide as the terminal.
func (t *Timeline) Draw(w io.Writer, style term.Style, width int, now time.Time) {
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
	a := t.Axis(max(width-labels-next-count-4, 10), now)

	fmt.Fprintf(w, "\n%s\n", style.Dim(fmt.Sprintf("%-*s  %s %*s %*s", labels, "PVC", a.header(), next, "NEXT", count, "COUNT")))
	used := make([]bool, len(Symbols))
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
func (l *TimelineLine) plot(a Axis, style term.Style, now time.Time, used []bool) string {
	places := make([]int, a.Width) // symbol + 1
	for i := range l.Snapshots {
		m := &l.Snapshots[i]
		s := SymbolOf(m)
		if at := &places[a.Place(now.Sub(m.Time.Time))]; *at == 0 || s < *at-1 {
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
		b.WriteString(Symbols[place-1].paint(style, Symbols[place-1].text))
	}
	return b.String()
}

// legendOf explains the symbols that are used, in lines that fit the width.
func legendOf(style term.Style, used []bool, width int) string {
	var b strings.Builder
	column := 0
	for i := len(Symbols) - 1; i >= 0; i-- {
		if !used[i] {
			continue
		}
		s := &Symbols[i]
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

func (l *TimelineLine) label() string { return report.Line(view.LabelOf(l.Claim, l.State)) }

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

// Meaning of a symbol, and its text, for the legend.
func (s Symbol) Meaning() string { return s.meaning }

// Text is how a symbol is drawn.
func (s Symbol) Text() string { return s.text }

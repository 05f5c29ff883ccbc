// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/history"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/protection"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/state"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

//go:embed report.html
var reportHTML string

// reportScript shows the rows that contain what is searched, which a link such as report.html#shop can name, says what a mark is, and opens
// everything before it is printed. Nothing else of the page runs: its policy names the hash of this text. It has no comments, because
// html/template would remove them.
//
//go:embed report.js
var reportScript string

var reportTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"plural": term.Plural, "policy": contentPolicy, "symbols": func() []history.Symbol { return history.Symbols },
	// What came from a cluster is one line of text without control characters, and html/template escapes it for its place.
	"text": report.Line,
}).Parse(strings.Replace(reportHTML, "<script></script>", "<script>"+reportScript+"</script>", 1)))

// contentPolicy lets the page load nothing, and run only its script.
func contentPolicy() string {
	sum := sha256.Sum256([]byte(reportScript))
	return "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// writePage writes a report as one HTML page.
func (r *fullReport) writePage(w io.Writer) error {
	return reportTemplate.Execute(w, reportPage{Report: r, now: r.Time.Time})
}

// reportPage is what the template shows.
type reportPage struct {
	Report *fullReport
	now    time.Time
}

// Sums are what the top of the page counts.
type Sums struct{ Claims, Covered, Gaps, Schedules, Deletes int }

// Others counts the PVCs that are neither protected nor gaps: with them, the sums are all PVCs.
func (s Sums) Others() int { return s.Claims - s.Covered - s.Gaps }

// Sums are those of all clusters.
func (r *fullReport) Sums() (s Sums) {
	for _, c := range r.Clusters {
		s.Claims, s.Schedules, s.Gaps = s.Claims+len(c.Coverage.Claims), s.Schedules+len(c.Schedules), s.Gaps+c.Coverage.Gaps()
		for i := range c.Coverage.Claims {
			if c.Coverage.Claims[i].Protection == protection.Protected {
				s.Covered++
			}
		}
		for i := range c.Schedules {
			s.Deletes += len(c.Schedules[i].Deletes)
		}
	}
	return s
}

// Age is how long ago a time was.
func (p reportPage) Age(t *metav1.Time) string { return term.Age(p.now, term.ValueOf(t)) }

// Until is how far in the future a time is.
func (p reportPage) Until(t *metav1.Time) string { return term.Until(p.now, term.ValueOf(t)) }

// At is a time as people file it.
func (p reportPage) At(t metav1.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// pageState is a condition: its class, its text, and its message.
type pageState struct{ Class, Text, Message string }

// Protected is how a schedule protects its PVCs now, whatever the operator wrote.
func (p reportPage) Protected(s state.ScheduleStatus) pageState {
	class, text, more := s.Live()
	return pageState{class, text, text + more}
}

// FleetProtected is that of all schedules of a ClusterSnapshotSchedule.
func (p reportPage) FleetProtected(c clusterReport, name string) pageState {
	sum := state.ScheduleStatus{NoMatch: "no SnapshotSchedule of it selects a PVC"}
	for i := range c.Schedules {
		if c.Schedules[i].fleet != name {
			continue
		}
		for _, claim := range c.Schedules[i].Status.PersistentVolumeClaims {
			claim.Name = c.Schedules[i].Status.Namespace + "/" + claim.Name
			sum.PersistentVolumeClaims = append(sum.PersistentVolumeClaims, claim)
		}
	}
	return p.Protected(sum)
}

// Ready shows the condition Ready, as the operator wrote it.
func (p reportPage) Ready(all []metav1.Condition) pageState {
	switch c := meta.FindStatusCondition(all, v1alpha1.ConditionReady); {
	case c == nil:
		return pageState{"unknown", "unknown", "the operator has not written it"}
	case c.Status == metav1.ConditionTrue:
		return pageState{"", "yes, when its status was written", c.Message} // the operator wrote that, maybe long ago
	case c.Status == metav1.ConditionFalse:
		return pageState{"bad", "no: " + c.Reason, c.Message}
	default:
		return pageState{"unknown", "unknown: " + c.Reason, c.Message}
	}
}

// places is how finely marks are placed on a line.
const places = 1000

// Axis is that of a schedule's lines.
func (p reportPage) Axis(t *history.Timeline) history.Axis {
	// Marks are wide: from a hundred on, the older ones are drawn closer together.
	a := t.Axis(100, p.now)
	a.Width = places
	return a
}

// pageMark is a mark at its place, in percent.
type pageMark struct {
	Left                float64
	Symbol, Class, Text string
}

// markClasses are the classes of marks that are not good.
var markClasses = map[string]string{
	"x": "s-x", "!": "s-bang", "H": "s-H", "○": "s-o", "~": "s-tilde", "-": "s-dash", "●": "s-good", "v": "s-good",
}

// Marks are the snapshots of a PVC, the oldest first.
func (p reportPage) Marks(a history.Axis, row history.TimelineLine) (marks []pageMark) {
	for i := range row.Snapshots {
		m := &row.Snapshots[i]
		s := history.Symbols[history.SymbolOf(m)]
		words := []string{p.At(m.Time), m.Name, s.Meaning(), m.State, m.Verdict}
		if m.Drill != "" {
			words = append(words, "drill: "+strings.ToLower(m.Drill))
		}
		left := 100 * float64(a.Place(p.now.Sub(m.Time.Time))) / (places - 1)
		marks = append(marks, pageMark{left, s.Text(), markClasses[s.Text()], report.Line(strings.Join(words, ", "))})
	}
	slices.SortStableFunc(marks, func(a, b pageMark) int { return int(1000 * (a.Left - b.Left)) })
	return marks
}

// Ticks label the axis, from now to the oldest, where there is room.
func (p reportPage) Ticks(a history.Axis) []pageMark {
	const room = 9
	marks := []pageMark{{Left: 100, Symbol: "now"}}
	for _, t := range history.Ticks {
		left := 100 * float64(a.Place(t.Age)) / (places - 1)
		if last := marks[len(marks)-1].Left; t.Age <= a.Oldest && left >= room/2 && last-left > room {
			marks = append(marks, pageMark{Left: left, Symbol: t.Text})
		}
	}
	return marks
}

// Sorted are the PVCs of a cluster, gaps first.
func (p reportPage) Sorted(c *protection.Coverage) []protection.ClaimCoverage {
	return slices.SortedStableFunc(slices.Values(c.Claims), func(a, b protection.ClaimCoverage) int {
		switch {
		case a.Gap == b.Gap:
			return 0
		case a.Gap:
			return -1
		}
		return 1
	})
}

// Row finds the timeline of a PVC's status row. Of a group, it is that of the group, without the
// snapshots that hold no data of the PVC.
func (p reportPage) Row(t *history.Timeline, c state.ClaimStatus) (row history.TimelineLine) {
	if t == nil {
		return row
	}
	if i := slices.IndexFunc(t.Rows, func(l history.TimelineLine) bool { return l.MapKey == c.MapKey }); i >= 0 {
		row = t.Rows[i]
	}
	row.Snapshots = slices.DeleteFunc(slices.Clone(row.Snapshots), func(m history.Mark) bool { return c.Lacks[m.Name] })
	return row
}

// Name is a PVC's name, marked if it is not selected.
func (p reportPage) Name(c state.ClaimStatus) string {
	return report.Line(view.LabelOf(c.Name, c.State))
}

// Problem is one of a ClusterSnapshotSchedule.
func (p reportPage) Problem(of view.Problem) string { return report.Line(of.Words(p.now)) }

// Problems are those of a PVC in one text.
func (p reportPage) Problems(c state.ClaimStatus) string { return report.Line(c.ProblemWords(p.now)) }

// Words say how a schedule is.
func (p reportPage) Words(s state.ScheduleStatus) []string { return s.ConditionWords(term.Style{}) }

// Why explains the reason of a delete.
func (p reportPage) Why(reason string) string {
	for verdict, words := range view.VerdictWords {
		if verdict.String() == reason {
			return words
		}
	}
	return reason
}

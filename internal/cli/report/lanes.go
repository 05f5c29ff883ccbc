// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/history"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/protection"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/state"
	"mapcontroller.dev/snapshotschedule/internal/report"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// nowAt is where a lane has the present, in percent: the future is to its right. fades is how wide the edge is at which retention deletes.
const nowAt, fades = 84.0, 8.0

// axis places ages on a lane, in percent: the older, or the later, the closer. Negative ages are in the future.
type axis struct{ oldest, furthest, unit time.Duration }

// newAxis returns an axis that has a place for each snapshot and each next slot of some schedules.
func newAxis(all []scheduleReport, now time.Time) axis {
	a := axis{oldest: time.Minute, furthest: time.Minute}
	for i := range all {
		if all[i].Timeline == nil {
			continue
		}
		for _, row := range all[i].Timeline.Rows {
			for _, m := range row.Snapshots {
				a.oldest = max(a.oldest, now.Sub(m.Time.Time))
			}
			if n := len(row.Next); n > 0 { // one or two intervals ahead
				ahead := row.Next[n-1].Sub(now)
				a.furthest, a.unit = max(a.furthest, ahead), min(cmp.Or(a.unit, ahead), ahead)
			}
		}
	}
	a.unit = max(cmp.Or(a.unit, time.Hour), time.Minute)
	return a
}

// at returns the place of an age.
func (a axis) at(age time.Duration) float64 {
	part := func(age, end time.Duration) float64 {
		return math.Log1p(min(age, end).Seconds()/a.unit.Seconds()) / math.Log1p(end.Seconds()/a.unit.Seconds())
	}
	place := nowAt + (100-nowAt)*part(max(-age, 0), a.furthest)
	if age >= 0 {
		place = nowAt * (1 - part(age, a.oldest))
	}
	return tenth(place)
}

// tenth rounds a place, so that the page is small.
func tenth(x float64) float64 { return math.Round(10*x) / 10 }

// Spot is something at a place on a line, which is in percent as its size is.
type Spot struct {
	X, Width, Height          float64
	Shape, Class, Text, Label string
	// Copy is the command that restores the snapshot; empty if none does now.
	Copy string
}

// Ticks label an axis: its ends, the present, and what there is room for in between.
func (a axis) Ticks() []Spot {
	const room = 6
	begin := duration.HumanDuration(a.oldest) + " ago"
	free := 1.3 * float64(len(begin))
	all := []Spot{{X: nowAt, Text: "now"}}
	for _, t := range history.Ticks {
		if x := a.at(t.Age); t.Age < a.oldest && x > free && all[len(all)-1].X-x > room {
			all = append(all, Spot{X: x, Text: t.Text})
		}
	}
	return append(all, Spot{Text: begin}, Spot{X: 100, Text: "in " + duration.HumanDuration(a.furthest)})
}

// marks are how the symbols of the timeline are drawn; the others are dots.
var marks = map[string]string{"x": "cross", "H": "shield", "○": "ring", "~": "ring", "!": "failed-drill"}

// classOf is the class of a symbol.
func classOf(s history.Symbol) string { return strings.ReplaceAll(s.Meaning(), " ", "-") }

// Legend explains the marks of a cluster.
func (c *pageCluster) Legend() (all []Spot) {
	for _, s := range history.Symbols {
		if class := classOf(s); c.used[class] {
			all = append(all, Spot{Shape: cmp.Or(marks[s.Text()], "dot"), Class: class, Text: s.Meaning()})
		}
	}
	if c.Silent == nil {
		all = append(all, Spot{Shape: "ring", Class: "future", Text: "next slot"})
	}
	return all
}

// Lane is the snapshots of a PVC under a schedule over time. Kept and Fade meet where retention deletes, Gap is the time without a
// recent snapshot; each is without a width if there is none. Older are the snapshots for which there is no room.
type Lane struct {
	Claim           state.ClaimStatus
	Name, Find      string
	Dots, Days      []Spot
	Kept, Fade, Gap Spot
	Older           int
	days            calendar
}

// span reaches from one place to another.
func span(from, to float64, text string) Spot {
	return Spot{X: from, Width: tenth(to - from), Text: report.Line(text)}
}

// laneOf returns the lane of a PVC of a schedule, whose snapshots end at some times. If that is nil, it is empty.
func (p *page) laneOf(c *pageCluster, s *scheduleReport, claim state.ClaimStatus, ends map[string]time.Time) *Lane {
	name := report.Line(view.LabelOf(claim.Name, claim.State))
	l := &Lane{Claim: claim, Name: name, Find: report.Line(s.Status.Namespace+"/"+s.Status.Name) + " " + name}
	if ends == nil {
		return l
	}
	row, edge := rowOf(s.Timeline, claim), time.Duration(0)
	slices.SortStableFunc(row.Snapshots, func(a, b history.Mark) int { return a.Time.Compare(b.Time.Time) })
	l.Older = max(len(row.Snapshots)-p.dotsPerLane, 0)
	for i := range row.Snapshots {
		m := &row.Snapshots[i]
		if end := ends[m.Name]; !end.IsZero() {
			edge = max(edge, end.Sub(m.Time.Time))
		}
		l.days.count(m, c.Now)
		if i >= l.Older {
			l.Dots = append(l.Dots, p.dotOf(c, s, m, ends[m.Name]))
		}
	}
	for _, slot := range row.Next {
		if c.Silent != nil { // nobody takes it
			break
		}
		text := "next snapshot: " + term.Due(c.Now, slot.Time) + ", " + p.At(slot)
		l.Dots = append(l.Dots, Spot{X: c.Axis.at(min(c.Now.Sub(slot.Time), 0)), Shape: "ring", Class: "future", Text: text})
	}
	if x := c.Axis.at(edge); edge > 0 && c.Silent == nil {
		l.Kept = span(x, nowAt, "")
		l.Fade = span(max(0, x-fades), x, "retention deletes snapshots at an age of about "+duration.HumanDuration(edge))
	}
	if at := claim.NewestReadyTime; unprotected(claim) && at != nil {
		l.Gap = span(c.Axis.at(c.Now.Sub(at.Time)), nowAt, "no ready snapshot for "+c.Age(at)+": "+claim.Reason)
	} else if unprotected(claim) {
		l.Gap = span(0, nowAt, "no ready snapshot: "+claim.Reason)
	}
	return l
}

// unprotected returns whether a PVC has no recent snapshot of a schedule that selects it.
func unprotected(c state.ClaimStatus) bool {
	return c.Protection == protection.Unprotected || c.Protection == protection.Stale
}

// dotOf draws a snapshot, which retention deletes at a time.
func (p *page) dotOf(c *pageCluster, s *scheduleReport, m *history.Mark, end time.Time) Spot {
	symbol := history.Symbols[history.SymbolOf(m)]
	d := Spot{X: c.Axis.at(c.Now.Sub(m.Time.Time)), Shape: cmp.Or(marks[symbol.Text()], "dot"), Class: classOf(symbol)}
	words := []string{m.Name, c.Age(&m.Time) + " ago", p.At(m.Time), m.State}
	if c.used[d.Class] = true; marks[symbol.Text()] != "" {
		words = append(words, symbol.Meaning())
	}
	kept := why(m.Verdict)
	if tier, ok := strings.CutPrefix(m.Verdict, "Kept"); ok {
		kept = "kept by " + strings.ToLower(tier)
	}
	switch {
	case c.Silent != nil: // nobody deletes it
	case !end.IsZero() && end.After(c.Now):
		kept += " until " + end.UTC().Format("2 Jan")
	case end.IsZero() && !s.Incomplete && s.Timeline != nil:
		kept += ", stays beyond " + p.Report.Until.UTC().Format("2 Jan")
	}
	words = append(words, kept)
	if m.Drill != "" {
		words, d.Class = append(words, "drill: "+strings.ToLower(m.Drill)), d.Class+" drilled"
	}
	d.Text = report.Line(strings.Join(words, ", "))
	if m.State == retention.Ready.String() {
		d.Copy = c.Command(fmt.Sprintf("%s restore -n %s %s", term.Name, term.ShellWord(s.Status.Namespace), term.ShellWord(m.Name)))
	}
	return d
}

// rowOf finds the timeline of a PVC's status row. Of a group, it is that of the group, without the
// snapshots that hold no data of the PVC.
func rowOf(t *history.Timeline, c state.ClaimStatus) (row history.TimelineLine) {
	if t == nil {
		return row
	}
	if i := slices.IndexFunc(t.Rows, func(l history.TimelineLine) bool { return l.MapKey == c.MapKey }); i >= 0 {
		row = t.Rows[i]
	}
	row.Snapshots = slices.DeleteFunc(slices.Clone(row.Snapshots), func(m history.Mark) bool { return c.Lacks[m.Name] })
	return row
}

// days is how many days the heat map shows, by the calendar of UTC. The last one is today.
const days = 35

// calendar counts the snapshots of the days, and how many of them failed.
type calendar [days]struct{ snapshots, failed int }

// count adds a snapshot.
func (c *calendar) count(m *history.Mark, now time.Time) {
	age := int(now.UTC().Truncate(term.Day).Sub(m.Time.UTC().Truncate(term.Day)) / term.Day)
	if i := days - 1 - age; i >= 0 && i < days {
		if c[i].snapshots++; m.State == retention.Failed.String() {
			c[i].failed++
		}
	}
}

// cells are the days: the more snapshots, the stronger the color.
func (c *calendar) cells(now time.Time) (all []Spot) {
	for i, day := range c {
		class, good := "h0", day.snapshots-day.failed
		for level, most := range []int{0, 1, 3, 11} {
			if good > most {
				class = fmt.Sprintf("h%d", level+1)
			}
		}
		if day.failed > 0 && good == 0 {
			class = "hx"
		}
		date := now.AddDate(0, 0, i+1-days).UTC()
		text := date.Format("Mon 2 Jan") + ": " + term.Plural(day.snapshots, "snapshot")
		if day.failed > 0 {
			text += fmt.Sprintf(", %d failed", day.failed)
		}
		all = append(all, Spot{X: tenth(100 * float64(i) / days), Class: class, Text: text})
		if i%7 == 0 {
			all[i].Label = date.Format("2 Jan")
		}
	}
	return all
}

// heat returns the days of the PVCs that have a lane.
func (p *page) heat(c *pageCluster) (all []*Lane) {
	rows := map[string]*Lane{}
	for _, s := range c.Schedules {
		for _, l := range s.Lanes {
			name := s.Of.Status.Namespace + "/" + l.Claim.Name
			if rows[name] == nil {
				rows[name] = &Lane{Name: name}
				all = append(all, rows[name])
			}
			for i, day := range l.days {
				of := &rows[name].days[i]
				of.snapshots, of.failed = of.snapshots+day.snapshots, of.failed+day.failed
			}
		}
	}
	for _, row := range all {
		row.Days = row.days.cells(c.Now)
	}
	return all
}

// columnsOf are the deletes of some schedules in the days from now on.
func columnsOf(all []scheduleReport, now, until time.Time) (cells []Spot, most int) {
	counts := make([]int, max(int(math.Ceil(until.Sub(now).Hours()/24)), 1))
	for i := range all {
		for _, d := range all[i].Deletes {
			day := min(max(int(d.Time.Sub(now).Hours()/24), 0), len(counts)-1)
			counts[day]++
			most = max(most, counts[day])
		}
	}
	for i, count := range counts {
		text := "the day from " + now.AddDate(0, 0, i).UTC().Format("2 Jan 15:04") + ": " + term.Plural(count, "snapshot")
		height := tenth(100 * float64(count) / float64(max(most, 1)))
		cells = append(cells, Spot{X: tenth(100 * float64(i) / float64(len(counts))), Text: text, Height: height})
	}
	return cells, most
}

// fairShare returns the largest share of a budget that each may have, so that nobody has less than they need because others have more.
func fairShare(needs []int, budget int) (share int) {
	for share = 1; ; share++ {
		sum, more := 0, false
		for _, need := range needs {
			sum, more = sum+min(need, share+1), more || need > share
		}
		if !more || sum > budget {
			return share
		}
	}
}

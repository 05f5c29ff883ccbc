// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"math"
	"slices"
	"time"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/history"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/protection"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// Part is a part of all PVCs, which the bar shows from Left on, in percent.
type Part struct {
	is          protection.Protection
	Class, Text string
	Count       int
	Left, Width float64
}

// Sums are what the top of the page counts. The parts add up to all PVCs.
type Sums struct {
	Claims, Gaps, Covered, Schedules int
	// Unread is how many clusters are not counted, because they could not be read.
	Unread int
	Parts  []Part
	// oldest is the age of the oldest recovery point of a protected PVC, youngest that of the youngest one of a gap.
	oldest, youngest time.Duration
}

// parts are those of the bar, in their order.
var parts = []Part{
	{is: protection.Protected, Class: "good", Text: "protected"},
	{is: protection.Unprotected, Class: "bad", Text: "not protected"},
	{is: protection.Pending, Class: "unknown", Text: "waiting for the first snapshot"},
	{is: protection.Unknown, Class: "unknown", Text: "unknown"},
	{is: protection.Excluded, Class: "none", Text: "excluded"},
	{is: protection.Skipped, Class: "none", Text: "skipped"},
}

// sumsOf counts the PVCs of some clusters.
func sumsOf(now time.Time, clusters ...clusterReport) Sums {
	s, counts := Sums{youngest: math.MaxInt64}, map[protection.Protection]int{}
	for _, c := range clusters {
		s.Claims, s.Schedules = s.Claims+len(c.Coverage.Claims), s.Schedules+len(c.Schedules)
		for i := range c.Coverage.Claims {
			claim := &c.Coverage.Claims[i]
			age, is := c.now(now).Sub(term.ValueOf(claim.RecoveryPointTime)), claim.Protection
			if claim.Gap {
				is, s.youngest = protection.Unprotected, min(s.youngest, age)
			} else if is == protection.Protected {
				s.oldest = max(s.oldest, age)
			}
			counts[is]++
		}
	}
	s.Gaps, s.Covered = counts[protection.Unprotected], counts[protection.Protected]
	left := 0.0
	for _, part := range parts {
		if part.Count = counts[part.is]; part.Count > 0 {
			part.Left, part.Width = left, 100*float64(part.Count)/float64(s.Claims)
			s.Parts, left = append(s.Parts, part), left+part.Width
		}
	}
	return s
}

// Within is how far back every protected PVC, and no other, can go.
func (s Sums) Within() string {
	words := map[string]string{"1m": "minute", "1h": "hour", "1d": "day", "1w": "week", "1y": "year"}
	for _, tick := range history.Ticks {
		if s.Covered > 0 && tick.Age >= s.oldest && tick.Age < s.youngest {
			return "the last " + cmp.Or(words[tick.Text], tick.Text)
		}
	}
	return "a recent slot of their schedules"
}

// Action is something to act on: what is wrong, and the command that solves it.
type Action struct {
	Cluster, Name, State, Reason, Advice, Command string
	point                                         time.Time
}

// Verdict is what may be said of the PVCs of all clusters, as coverage says it.
func (p *page) Verdict() protection.Verdict {
	all := protection.Coverage{Unread: p.Report.Unread}
	for _, c := range p.Clusters {
		all.Claims = append(all.Claims, c.Of.Coverage.Claims...)
	}
	return all.Verdict()
}

// NothingToDo says why there is no action, and whether that is good.
func (p *page) NothingToDo() pageState {
	switch {
	case p.Sum.Claims == 0:
		return pageState{"dim", "Nothing: there are no PVCs.", ""}
	case p.Verdict() == protection.NoGaps:
		return pageState{"good", "Nothing: every PVC that should be protected is.", ""}
	}
	return pageState{"unknown", "Nothing yet: some PVCs wait for their first snapshot, or it is unknown whether they can have one.", ""}
}

// The oldest times: of actions that come before those of PVCs.
var silentPoint, unreadPoint = time.Unix(math.MinInt32, 0), time.Unix(math.MinInt32+1, 0)

// actions are what is to be done, the worst first: an operator without a sign of life, a cluster that could not be read, PVCs without a
// recovery point, and those with the oldest one.
func (p *page) actions() (all []Action) {
	for _, u := range p.Report.Unread {
		all = append(all, Action{
			Cluster: u.Cluster, Name: "Cluster", State: "could not be read", Reason: u.Error, Advice: "see what it lacks",
			Command: report.Line(term.Name + " doctor" + contextFlag(u.Cluster)), point: unreadPoint,
		})
	}
	for _, c := range p.Clusters {
		if c.Silent != nil {
			all = append(all, Action{
				Cluster: c.name, Name: "Operator", State: "no sign of life since " + term.Rounded(c.Silent.silent),
				Reason: "no snapshot is taken, and none is deleted", Advice: "see whether it runs", Command: c.Command(c.Silent.command),
				point: silentPoint,
			})
		}
		problems := map[string]string{}
		for i := range c.Of.Schedules {
			for _, claim := range c.Of.Schedules[i].Status.PersistentVolumeClaims {
				if words := claim.ProblemWords(c.Now); words != "" && len(claim.Problems) > 0 {
					problems[c.Of.Schedules[i].Status.Namespace+"/"+claim.Name] = "; " + words
				}
			}
		}
		for i := range c.Of.Coverage.Claims {
			if claim := &c.Of.Coverage.Claims[i]; claim.Gap {
				a := Action{Cluster: c.name, Name: claim.Namespace + "/" + claim.Name, State: string(claim.Protection)}
				a.Advice, a.Command = claim.Fix()
				a.Reason, a.point = c.Text(claim.Why()+problems[a.Name]), time.Unix(0, 0)
				if a.Command = c.Command(a.Command); claim.RecoveryPointTime != nil {
					a.point = claim.RecoveryPointTime.Time
				}
				all = append(all, a)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Action) int { return a.point.Compare(b.point) })
	return all
}

// first orders what holds before what does not.
func first(a, b bool) int {
	order := map[bool]int{true: -1}
	return order[a] - order[b]
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/ahead"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/protection"
)

// reportOfClaims is a report on a cluster whose PVCs stand so, and on one that could not be read.
func reportOfClaims(unread bool, all ...protection.Protection) *fullReport {
	c := &protection.Coverage{}
	for i, is := range all {
		c.Claims = append(c.Claims, protection.ClaimCoverage{
			Namespace: "shop", Name: fmt.Sprintf("data-%d", i), Protection: is, Gap: is == protection.Unprotected,
		})
	}
	r := &fullReport{Time: *term.TimeOf(clitest.Start), Until: *term.TimeOf(clitest.Start), Clusters: []clusterReport{{Name: "eu", Coverage: c}}}
	if unread {
		r.Unread = []protection.UnreadCluster{{Cluster: "lost", Error: "connection refused"}}
	}
	return r
}

// Contract: CLI-30.
func TestAReportSaysOnlyThatAllIsProtectedIfItIsKnown(t *testing.T) {
	const good, none = "Nothing: every PVC that should be protected is.", "There are no PVCs."
	const lost = "lost Cluster could not be read: connection refused see what it lacks: kubectl snapsched doctor --context lost"
	for name, tc := range map[string]struct {
		report *fullReport
		want   string
		green  bool
		not    string
	}{
		"all are protected":             {reportOfClaims(false, protection.Protected, protection.Excluded), good, true, none},
		"a cluster could not be read":   {reportOfClaims(true, protection.Protected), lost, false, "Nothing"},
		"none could be read":            {&fullReport{Unread: reportOfClaims(true).Unread}, lost, false, none},
		"one has no PVCs, one is lost":  {reportOfClaims(true), "No PVC was found, and 1 cluster could not be read.", false, "Nothing"},
		"a PVC waits for its first one": {reportOfClaims(false, protection.Protected, protection.Pending), "Nothing yet: some PVCs wait", false, good},
		"a PVC is unknown":              {reportOfClaims(false, protection.Unknown), "Nothing yet: some PVCs wait", false, good},
		"there are no PVCs":             {reportOfClaims(false), "Nothing: there are no PVCs.", false, good},
	} {
		t.Run(name, func(t *testing.T) {
			_, text, root := pageOf(t, tc.report)
			acts := find(root, func(n *html.Node) bool { return attribute(n, "aria-label") == "Act on this" })[0]
			green := len(find(acts, func(n *html.Node) bool { return attribute(n, "class") == "good" })) > 0
			if !strings.Contains(text, tc.want) || strings.Contains(textOf(acts), tc.not) || green != tc.green {
				t.Errorf("%q, green: %v; want %q", textOf(acts), green, tc.want)
			}
			if tc.report.Unread != nil && strings.Contains(text, none) {
				t.Error("it says that there are no PVCs, and does not know")
			}
		})
	}
}

// Whoever copies a command from a page of several clusters is connected to any of them.
func TestEveryCommandOnAPageIsForItsCluster(t *testing.T) {
	s := clitest.NewScenario()
	s.Tiers.Status.Problems = []v1alpha1.Problem{{
		PersistentVolumeClaim: "db-1", Reason: v1alpha1.ReasonCreateFailed, Message: "kubectl annotate pvc -n 'shop' 'db-1' 'a=b'; or kubectl snapsched why",
	}}
	all, _ := reportOfScenario(t, s)
	first := &all.Clusters[0]
	first.Fleets = []fleetReport{{Name: "none", Problems: []view.Problem{{Reason: "NameTaken", Message: "kubectl get snapshotschedules"}}}}
	first.Schedules[0].Deletes = slices.Repeat([]ahead.Deletion{{}}, maxDeletes+1)
	for i := range first.Schedules {
		first.Schedules[i].Status.Silent = 2 * time.Hour
	}
	for _, others := range [][]clusterReport{nil, {{Name: "us", Coverage: &protection.Coverage{}}}} {
		all.Clusters = append(all.Clusters[:1], others...)
		_, _, root := pageOf(t, all)
		commands := 0
		check := func(text string) {
			n := strings.Count(text, "kubectl ")
			if commands += n; n != strings.Count(text, " --context prod") && text != "kubectl snapsched verify --help" {
				t.Errorf("%d other clusters: %q names no cluster", len(others), text)
			}
		}
		for n := range root.Descendants() {
			if n.Type == html.TextNode && n.Parent.Data != "script" {
				check(n.Data)
			}
			for _, a := range n.Attr {
				check(a.Val)
			}
		}
		if commands < 50 {
			t.Errorf("%d commands", commands)
		}
	}
	c := &pageCluster{Of: &clusterReport{}}
	if got := c.Command("kubectl get pvc") + "; " + c.Text("see kubectl get pvc"); got != "kubectl get pvc; see kubectl get pvc" {
		t.Errorf("without a context: %q", got)
	}
	c.Of.Name = "us's"
	if got, want := c.Text("see kubectl snapsched why, by kubectl-snapsched"), `see kubectl snapsched --context 'us'\''s' why, by kubectl-snapsched`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A namespace with ten thousand PVCs must not make a page that no browser opens of what is to be done.
func TestWhatIsToBeDoneIsBounded(t *testing.T) {
	_, text, root := pageOf(t, reportOfClaims(false, slices.Repeat([]protection.Protection{protection.Unprotected}, 1000)...))
	acts := find(root, func(n *html.Node) bool { return attribute(n, "class") == "acts" })
	shown := 0
	for _, list := range acts {
		shown += len(find(list, func(n *html.Node) bool { return n.Data == "li" }))
	}
	rest := fmt.Sprintf("%d more: in the output of -o json.", 1000-maxActions-maxMore)
	if shown != maxActions+maxMore || !strings.Contains(text, rest) {
		t.Errorf("%d of 1000 are shown", shown)
	}
}

// Contract: CLI-58.
func TestAClockThatIsWrongSaysNothingOfOtherClusters(t *testing.T) {
	now, ahead := clitest.Start, clitest.Start.Add(24*time.Hour)
	cluster := func(name string, at time.Time) clusterReport {
		claims := []protection.ClaimCoverage{{Namespace: "shop", Name: "data", Protection: protection.Protected, RecoveryPointTime: term.TimeOf(at.Add(-time.Hour))}}
		return clusterReport{Name: name, Coverage: &protection.Coverage{Now: at, Claims: claims}}
	}
	p := newPage(&fullReport{Time: *term.TimeOf(ahead), Until: *term.TimeOf(ahead), Clusters: []clusterReport{cluster("eu", now), cluster("us", ahead)}})
	for _, c := range p.Clusters {
		if age := c.Age(c.Of.Coverage.Claims[0].RecoveryPointTime); age != "60m" {
			t.Errorf("%s: the recovery point is %s old", c.Of.Name, age)
		}
	}
	if within := p.Sum.Within(); within != "the last hour" {
		t.Errorf("all can go back to %s", within)
	}
}

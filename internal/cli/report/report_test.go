// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/protection"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/state"
)

// reportOfScenario is what a report on the scenario shows, as parsed HTML.
func reportOfScenario(t *testing.T, s *clitest.Scenario) (*fullReport, *html.Node) {
	t.Helper()
	r := clusterReport{Name: "prod", Server: "https://prod.example.com", User: "jane", Schedules: []scheduleReport{}}
	r.Coverage = protection.CoverageOf(s.Schedules(), s.Inv, s.Now)
	for _, schedule := range s.Schedules() {
		one := scheduleReport{Status: state.StatusOf(schedule, s.Inv, s.Now)}
		if one.Status.InvalidSpec == "" {
			if err := one.lookAhead(schedule, s.Inv, s.Now, 0); err != nil {
				t.Fatal(err)
			}
		}
		r.Schedules = append(r.Schedules, one)
	}
	all := &fullReport{Time: *term.TimeOf(s.Now), Until: *term.TimeOf(s.Now.Add(reportAhead)), Clusters: []clusterReport{r}}
	var page bytes.Buffer
	if err := all.writePage(&page); err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(&page)
	if err != nil {
		t.Fatal(err)
	}
	return all, root
}

// find returns the elements for which a condition holds.
func find(root *html.Node, holds func(*html.Node) bool) (found []*html.Node) {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && holds(n) {
			found = append(found, n)
		}
	}
	return found
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func TestReportShowsEverySnapshotAndDelete(t *testing.T) {
	s := clitest.NewScenario()
	all, root := reportOfScenario(t, s)
	text := textOf(root)
	marks, deletes := 0, 0
	for _, schedule := range all.Clusters[0].Schedules {
		if schedule.Timeline != nil {
			for _, row := range schedule.Timeline.Rows {
				marks += len(row.Snapshots)
				for _, m := range row.Snapshots {
					if !strings.Contains(text, m.Name) {
						t.Errorf("snapshot %s is missing", m.Name)
					}
				}
			}
		}
		deletes += len(schedule.Deletes)
	}
	shown := find(root, func(n *html.Node) bool { return n.Data == "li" && n.Parent.Data == "ol" })
	if len(shown) != marks || marks < 40 || deletes < 20 {
		t.Errorf("%d marks of %d snapshots, %d deletes", len(shown), marks, deletes)
	}
	rows := find(root, func(n *html.Node) bool { return n.Data == "tr" && attribute(n, "data-find") != "" })
	claims := 0
	for _, schedule := range all.Clusters[0].Schedules {
		claims += len(schedule.Status.PersistentVolumeClaims)
	}
	if want := claims + deletes + len(all.Clusters[0].Coverage.Claims); len(rows) != want {
		t.Errorf("%d rows, want %d", len(rows), want)
	}
	for _, row := range rows {
		claim := attribute(row, "data-find")
		claim = claim[strings.LastIndex(claim, " ")+1:]
		for _, mark := range find(row, func(n *html.Node) bool { return n.Data == "li" }) {
			if words := textOf(mark); !strings.Contains(words, " "+claim+"-") && !strings.Contains(attribute(row, "data-find"), "(gone)") {
				t.Errorf("PVC %s has the mark %q", claim, words)
			}
		}
	}
	for _, words := range []string{
		"jane in cluster prod (https://prod.example.com)", "Invalid spec:", "denied by quota", "old in namespace shop", "Nothing is created",
	} {
		if !strings.Contains(text, words) {
			t.Errorf("%q is missing", words)
		}
	}
}

// The tiles of the scenario, of 6 PVCs: 1 protected, 4 gaps, 1 that is not bound.
func TestSumsOfAReportAddUpToAllPVCs(t *testing.T) {
	_, root := reportOfScenario(t, clitest.NewScenario())
	sums := find(root, func(n *html.Node) bool { return n.Data == "ul" && attribute(n, "class") == "sums" })
	if text := textOf(sums[0]); !strings.HasPrefix(text, "1 of 6 PVCs protected 4 not protected 1 excluded, skipped or waiting ") ||
		!strings.HasSuffix(text, " snapshots will be deleted by 2026-03-02 00:20 UTC") {
		t.Error(text)
	}
}

// The page loads nothing and runs only its own script, whatever texts come from the cluster.
func TestReportIsOnePageWithoutForeignCode(t *testing.T) {
	s := clitest.NewScenario()
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>'</style>`
	for _, c := range s.Inv.Claims["shop"] {
		c.SetName(evil + c.GetName())
	}
	for _, v := range s.Inv.Snapshots["shop"] {
		v.SetName(evil + v.GetName())
	}
	s.Tiers.Status.Problems = []v1alpha1.Problem{{Reason: evil, Message: evil}}
	s.Tiers.Status.Conditions[0].Message, s.Tiers.Status.Conditions[0].Reason = evil, evil
	_, root := reportOfScenario(t, s)
	scripts := find(root, func(n *html.Node) bool { return n.Data == "script" })
	if len(scripts) != 1 || scripts[0].FirstChild.Data != reportScript {
		t.Errorf("%d scripts", len(scripts))
	}
	for _, n := range find(root, func(n *html.Node) bool { return n.Data == "img" || n.Data == "link" || n.Data == "iframe" }) {
		t.Errorf("the page has a %s", n.Data)
	}
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "href" {
				t.Errorf("%s has the attribute %s", n.Data, a.Key)
			}
		}
	}
	policy := find(root, func(n *html.Node) bool {
		return n.Data == "meta" && attribute(n, "http-equiv") == "Content-Security-Policy"
	})
	if len(policy) != 1 || !strings.Contains(attribute(policy[0], "content"), "default-src 'none'") {
		t.Error("nothing keeps the page from loading something")
	}
	if text := textOf(root); !strings.Contains(text, "alert(1)</script>") {
		t.Error("the names are not shown as they are")
	}
}

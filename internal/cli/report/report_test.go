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

// isMark returns whether an element is a snapshot in a lane.
func isMark(n *html.Node) bool {
	return n.Data == "svg" && attribute(n, "role") == "listitem" && !strings.Contains(attribute(n, "class"), "future")
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
	shown := find(root, isMark)
	if len(shown) != marks || marks < 40 || deletes < 20 {
		t.Errorf("%d marks of %d snapshots, %d deletes", len(shown), marks, deletes)
	}
	rows := find(root, func(n *html.Node) bool { return n.Data == "tr" && attribute(n, "data-find") != "" })
	claims := 0
	for _, schedule := range all.Clusters[0].Schedules {
		claims += len(schedule.Status.PersistentVolumeClaims)
	}
	days := len(find(root, func(n *html.Node) bool { return strings.HasPrefix(attribute(n, "class"), "heat") }))
	if want := claims + days + deletes + len(all.Clusters[0].Coverage.Claims); len(rows) != want {
		t.Errorf("%d rows, want %d", len(rows), want)
	}
	for _, row := range rows {
		claim := attribute(row, "data-find")
		claim = claim[strings.LastIndex(claim, " ")+1:]
		for _, mark := range find(row, isMark) {
			if words := textOf(mark); !strings.HasPrefix(words, claim+"-") && !strings.Contains(attribute(row, "data-find"), "(gone)") {
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

// Of the 6 PVCs of the scenario 1 is protected, 4 are gaps, and 1 is not bound.
func TestReportBeginsWithASentenceThatAddsUp(t *testing.T) {
	_, root := reportOfScenario(t, clitest.NewScenario())
	for name, want := range map[string]string{
		"h1": "1 of 6 PVCs can go back to the last 30m. 4 cannot. 1 skipped.", "ul": "1 protected4 not protected1 skipped",
	} {
		if text := textOf(find(root, func(n *html.Node) bool { return n.Data == name })[0]); text != want {
			t.Errorf("%s: %q, want %q", name, text, want)
		}
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
	styles := find(root, func(n *html.Node) bool { return n.Data == "style" || attribute(n, "style") != "" })
	if len(styles) != 1 || styles[0].FirstChild.Data != reportStyle {
		t.Errorf("%d styles", len(styles))
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

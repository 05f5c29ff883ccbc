// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/ahead"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/history"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/protection"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/state"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

func TestPlacesOnAnAxisAreInTheOrderOfTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Int64Range(1, 10*365*24*3600)
		draw := func(name string) time.Duration { return time.Duration(seconds.Draw(t, name)) * time.Second }
		a := axis{oldest: draw("oldest"), furthest: draw("furthest"), unit: draw("unit")}
		if a.at(0) != nowAt || a.at(a.oldest) != 0 || a.at(-a.furthest) != 100 {
			t.Fatalf("oldest %v, now %v, furthest %v", a.at(a.oldest), a.at(0), a.at(-a.furthest))
		}
		ages := []time.Duration{draw("a"), draw("b"), -draw("c"), -draw("d")}
		slices.Sort(ages)
		for i := range ages[1:] {
			if later, earlier := a.at(ages[i]), a.at(ages[i+1]); later < earlier || earlier < 0 || later > 100 {
				t.Errorf("%v at %v, %v at %v", ages[i], later, ages[i+1], earlier)
			}
		}
	})
}

func TestLabelsOfAnAxisNameBothEndsAndDoNotOverlap(t *testing.T) {
	a := axis{oldest: 40 * term.Day, furthest: 12 * time.Hour, unit: 6 * time.Hour}
	ticks := a.Ticks()
	slices.SortFunc(ticks, func(a, b Spot) int { return int(10 * (a.X - b.X)) })
	if first, last := ticks[0], ticks[len(ticks)-1]; first.Text != "40d ago" || first.X != 0 || last.Text != "in 12h" || last.X != 100 || len(ticks) < 6 {
		t.Errorf("%v", ticks)
	}
	for i := range ticks[1:] {
		if ticks[i+1].X-ticks[i].X < 4 {
			t.Errorf("%q at %v is on %q at %v", ticks[i].Text, ticks[i].X, ticks[i+1].Text, ticks[i+1].X)
		}
	}
}

// Contract: CLI-30.
func TestTheBarOfAReportAddsUpToAllPVCs(t *testing.T) {
	now := clitest.Start
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.SampledFrom([]protection.Protection{
			protection.Protected, protection.Pending, protection.Unknown, protection.Unprotected, protection.Stale, protection.Skipped, protection.Excluded,
		})
		var clusters []clusterReport
		claims, gaps := 0, 0
		for range rapid.IntRange(0, 3).Draw(t, "clusters") {
			c := &protection.Coverage{}
			for range rapid.IntRange(0, 9).Draw(t, "claims") {
				is := kinds.Draw(t, "is")
				gap := is == protection.Unprotected || is == protection.Stale || is == protection.Skipped && rapid.Bool().Draw(t, "gap")
				c.Claims = append(c.Claims, protection.ClaimCoverage{Protection: is, Gap: gap})
			}
			claims, gaps = claims+len(c.Claims), gaps+c.Gaps()
			clusters = append(clusters, clusterReport{Coverage: c})
		}
		s := sumsOf(now, clusters...)
		count, left := 0, 0.0
		for _, part := range s.Parts {
			if math.Abs(part.Left-left) > 1e-6 || part.Count == 0 {
				t.Errorf("%v begins at %v, not %v", part.Text, part.Left, left)
			}
			if part.Class == "bad" && part.Count != gaps {
				t.Errorf("%d gaps, want %d", part.Count, gaps)
			}
			count, left = count+part.Count, left+part.Width
		}
		if count != claims || s.Claims != claims || s.Gaps != gaps || claims > 0 && math.Abs(left-100) > 1e-6 {
			t.Errorf("%d of %d PVCs, %v %% of the bar", count, claims, left)
		}
	})
}

// What the sentence says of the protected PVCs is true of no gap.
func TestTheSentenceOfAReportIsTrueOfProtectedPVCsOnly(t *testing.T) {
	now := clitest.Start
	covered := func(age time.Duration) protection.ClaimCoverage {
		return protection.ClaimCoverage{Protection: protection.Protected, RecoveryPointTime: term.TimeOf(now.Add(-age))}
	}
	stale := func(age time.Duration) protection.ClaimCoverage {
		return protection.ClaimCoverage{Protection: protection.Stale, Gap: true, RecoveryPointTime: term.TimeOf(now.Add(-age))}
	}
	for want, claims := range map[string][]protection.ClaimCoverage{
		"the last hour":                     {covered(50 * time.Minute), covered(31 * time.Minute)},
		"the last 6h":                       {covered(5 * time.Hour), stale(7 * time.Hour)},
		"the last day":                      {covered(24 * time.Hour), {Protection: protection.Unprotected, Gap: true}},
		"a recent slot of their schedules":  {covered(20 * time.Hour), stale(3 * time.Hour)},
		"the last week":                     {covered(5 * term.Day)},
		"a recent slot of their schedules ": {stale(time.Hour)},
	} {
		if got := sumsOf(now, clusterReport{Coverage: &protection.Coverage{Claims: claims}}).Within(); got != strings.TrimSpace(want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAShareIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		needs := rapid.SliceOfN(rapid.IntRange(0, 50), 0, 20).Draw(t, "needs")
		budget := rapid.IntRange(0, 200).Draw(t, "budget")
		sum := func(share int) (n int) {
			for _, need := range needs {
				n += min(need, share)
			}
			return n
		}
		share := fairShare(needs, budget)
		if share > 1 && sum(share) > budget {
			t.Errorf("a share of %d needs %d of %d", share, sum(share), budget)
		}
		if more := sum(share + 1); more <= budget && more > sum(share) {
			t.Errorf("a share of %d leaves room: the next one needs %d of %d", share, more, budget)
		}
	})
}

func TestTheHeatMapShowsEachDay(t *testing.T) {
	now := time.Date(2026, 3, 10, 0, 30, 0, 0, time.UTC)
	var c calendar
	for ago, n := range map[int]int{0: 1, 1: 4, 2: 12, 34: 2, 35: 1} {
		for range n {
			c.count(&history.Mark{Time: metav1.NewTime(now.AddDate(0, 0, -ago)), State: retention.Ready.String()}, now)
		}
	}
	c.count(&history.Mark{Time: metav1.NewTime(now.Add(-3 * term.Day)), State: retention.Failed.String()}, now)
	c.count(&history.Mark{Time: metav1.NewTime(now.Add(time.Hour)), State: retention.Ready.String()}, now)
	c.count(&history.Mark{Time: metav1.NewTime(now.Add(24 * time.Hour)), State: retention.Ready.String()}, now)
	cells := c.cells(now)
	for i, want := range map[int]string{
		34: "h2 Tue 10 Mar: 2 snapshots", 33: "h3 Mon 9 Mar: 4 snapshots", 32: "h4 Sun 8 Mar: 12 snapshots",
		31: "hx Sat 7 Mar: 1 snapshot, 1 failed", 30: "h0 Fri 6 Mar: 0 snapshots", 0: "h2 Wed 4 Feb: 2 snapshots",
	} {
		if got := cells[i].Class + " " + cells[i].Text; got != want {
			t.Errorf("day %d: %q, want %q", i, got, want)
		}
	}
	if len(cells) != days || cells[0].X != 0 || cells[34].X != 97.1 {
		t.Errorf("%d days from %v to %v", len(cells), cells[0].X, cells[34].X)
	}
}

func TestTheChartCountsEachDeleteOnce(t *testing.T) {
	now := clitest.Start
	var s scheduleReport
	for _, in := range []time.Duration{0, time.Hour, 23 * time.Hour, 25 * time.Hour, 30 * term.Day} {
		s.Deletes = append(s.Deletes, ahead.Deletion{Time: metav1.NewTime(now.Add(in))})
	}
	columns, most := columnsOf([]scheduleReport{s, {}}, now, now.Add(reportAhead))
	if len(columns) != 30 || most != 3 || columns[0].Height != 100 || columns[1].Height != 33.3 || columns[29].Height != 33.3 || columns[2].Height != 0 {
		t.Errorf("at most %d: %v", most, columns)
	}
	if columns[1].Text != "the day from 2 Jan 00:00: 1 snapshot" {
		t.Error(columns[1].Text)
	}
}

// laneOf returns the marks of a PVC's lane on a page, by class, and its other parts.
func laneOf(root *html.Node, find1 string) (lane *html.Node) {
	for _, row := range find(root, func(n *html.Node) bool { return n.Data == "tr" && attribute(n, "data-find") == find1 }) {
		for _, n := range find(row, func(n *html.Node) bool { return attribute(n, "class") == "lane" }) {
			return n
		}
	}
	return nil
}

func TestALaneShowsWhatKeepsEachSnapshotAndUntilWhen(t *testing.T) {
	_, root := reportOfScenario(t, clitest.NewScenario())
	lane := laneOf(root, "shop/tiers db-0")
	got := map[string]string{}
	for _, n := range find(lane, func(n *html.Node) bool { return strings.HasPrefix(attribute(n, "class"), "m ") }) {
		got[attribute(n, "class")] = textOf(n) + " | " + attribute(n, "data-copy")
	}
	for class, want := range map[string]string{
		"m dot daily":         "kept by daily until ",
		"m shield held":       "held, it carries the hold annotation, stays beyond 2 Mar",
		"m dot last":          "db-0-20260131000000, 20m ago, 2026-01-31 00:00 UTC, Ready, kept by last until 31 Jan | kubectl snapsched restore -n shop db-0-20260131000000",
		"m ring future":       "next snapshot: 12h, 2026-01-31 12:00 UTC",
		"m dot to-be-deleted": "no tier selects it",
	} {
		if !strings.Contains(got[class], want) {
			t.Errorf("%s is %q, want %q; of %d classes", class, got[class], want, len(got))
		}
	}
	if n := find(lane, func(n *html.Node) bool { return attribute(n, "class") == "fade" }); len(n) != 1 || !strings.HasPrefix(textOf(n[0]), "retention deletes snapshots at an age of about ") {
		t.Errorf("%d edges where retention deletes", len(n))
	}
	if n := find(lane, func(n *html.Node) bool { return attribute(n, "class") == "gap" }); len(n) != 0 {
		t.Error("a protected PVC has a gap")
	}
	behind := find(laneOf(root, "shop/tiers db-1"), func(n *html.Node) bool { return attribute(n, "class") == "gap" })
	if len(behind) != 1 || !strings.HasPrefix(textOf(behind[0]), "no ready snapshot for 30h: ") {
		t.Error("the PVC without a recent snapshot has no gap")
	}
}

// pageOf returns a page as HTML and as text.
func pageOf(t *testing.T, all *fullReport) (page, text string, root *html.Node) {
	t.Helper()
	var b bytes.Buffer
	if err := all.writePage(&b); err != nil {
		t.Fatal(err)
	}
	page = b.String()
	root, err := html.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	return page, textOf(root), root
}

// What a simulation assumes of an operator that is dead is no promise, also while no snapshot is due.
func TestNothingIsPromisedOfAnOperatorWithoutASignOfLife(t *testing.T) {
	promises := []string{"kept by last until", "Retention will delete", "retention deletes snapshots at an age", "next snapshot: ", "next slot"}
	for namespace, silence := range map[string]func(*clusterReport){
		"snapshotschedule-system": func(c *clusterReport) {
			for i := range c.Schedules {
				c.Schedules[i].Status.Silent = 2 * time.Hour
			}
		},
		"backup": func(c *clusterReport) {
			c.Operator = &state.Operator{Namespace: "backup", Leader: "pod", Silent: 2 * time.Hour}
		},
	} {
		all, _ := reportOfScenario(t, clitest.NewScenario())
		_, text, _ := pageOf(t, all)
		for _, words := range promises {
			if !strings.Contains(text, words) {
				t.Fatalf("%q is not said of an operator that lives", words)
			}
		}
		silence(&all.Clusters[0])
		page, text, root := pageOf(t, all)
		for _, words := range promises {
			if strings.Contains(text, words) {
				t.Errorf("%q is promised", words)
			}
		}
		for _, n := range find(root, func(n *html.Node) bool { return attribute(n, "data-of") == "next" }) {
			if due := textOf(n); due != "" && !strings.HasPrefix(due, "overdue ") {
				t.Errorf("a snapshot is promised: %q", due)
			}
		}
		if len(find(root, func(n *html.Node) bool { return attribute(n, "class") == "chart" })) != 0 || !strings.Contains(text, "so nothing is promised") {
			t.Error("the deletes are shown as if they came")
		}
		acts := find(root, func(n *html.Node) bool { return n.Data == "ol" })
		if first := textOf(acts[0].FirstChild.NextSibling); !strings.HasPrefix(first, "Operator no sign of life since 120m: ") ||
			!strings.Contains(first, "kubectl -n "+namespace+" get pods,lease --context prod") {
			t.Errorf("the first to act on is %q", first)
		}
		if !strings.Contains(page, "What it would delete") {
			t.Error("the list is gone")
		}
	}
}

// Contract: CLI-30.
func TestTheWorstGapIsTheFirstToActOn(t *testing.T) {
	gap := func(name string, age time.Duration) protection.ClaimCoverage {
		c := protection.ClaimCoverage{Namespace: "shop", Name: name, Protection: protection.Stale, Gap: true, Schedules: []string{"nightly"}, Reason: "late"}
		if age > 0 {
			c.RecoveryPointTime = term.TimeOf(clitest.Start.Add(-age))
		}
		return c
	}
	claims := []protection.ClaimCoverage{gap("young", time.Hour), gap("never", 0), {Namespace: "shop", Name: "good", Protection: protection.Protected}, gap("old", 9*term.Day)}
	for i := range 30 {
		claims = append(claims, gap(fmt.Sprintf("more-%d", i), time.Minute))
	}
	one := clusterReport{Name: "eu", Coverage: &protection.Coverage{Claims: claims}}
	one.Schedules = []scheduleReport{{Status: state.ScheduleStatus{Namespace: "shop", Name: "nightly", PersistentVolumeClaims: []state.ClaimStatus{
		{Name: "old", Problems: []view.Problem{{Reason: "CreateFailed", Message: "quota"}}},
	}}}}
	all := &fullReport{Time: *term.TimeOf(clitest.Start), Until: *term.TimeOf(clitest.Start), Clusters: []clusterReport{one, {Name: "us's", Coverage: &protection.Coverage{Claims: claims[:1]}}}}
	p := newPage(all)
	var got []string
	for _, a := range p.First[:4] {
		got = append(got, a.Cluster+" "+a.Name+" "+a.Reason+" "+a.Command)
	}
	want := []string{
		"eu shop/never late kubectl snapsched status -n shop nightly --context eu",
		"eu shop/old late; CreateFailed: quota kubectl snapsched status -n shop nightly --context eu",
		"eu shop/young late kubectl snapsched status -n shop nightly --context eu",
		`us's shop/young late kubectl snapsched status -n shop nightly --context 'us'\''s'`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if len(p.First) != maxActions || len(p.First)+len(p.More) != 34 {
		t.Errorf("%d and %d of 34 gaps", len(p.First), len(p.More))
	}
	_, _, root := pageOf(t, all)
	if commands := find(root, func(n *html.Node) bool { return n.Data == "button" && attribute(n, "data-copy") != "" }); len(commands) != 34 {
		t.Errorf("%d commands of 34 gaps can be copied", len(commands))
	}
}

// The page of a thousand PVCs with sixty snapshots each is bounded, names each PVC, and says what it does not draw.
func TestThePageOfAThousandPVCsIsBounded(t *testing.T) {
	const claims, each = 1000, 60
	now := clitest.Start.AddDate(0, 1, 0)
	inv := &view.Inventory{Classes: clitest.AnyClass, Claims: map[string][]client.Object{}, Snapshots: map[string][]client.Object{}}
	s := clitest.Schedule("s", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "12h", SnapshotTTL: "30d", Selector: v1alpha1.LabelSelector{
		MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"},
	}})
	small := clitest.Schedule("small", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "12h", SnapshotTTL: "30d", Selector: v1alpha1.LabelSelector{
		MatchLabels: map[string]v1alpha1.LabelValue{"app": "web"},
	}})
	for i := range claims {
		of, app := s, "db"
		if i == 0 {
			of, app = small, "web"
		}
		c := clitest.Claim(fmt.Sprintf("claim-%d", i), map[string]string{"app": app})
		inv.Claims["shop"] = append(inv.Claims["shop"], c)
		for k := range each {
			inv.Snapshots["shop"] = append(inv.Snapshots["shop"], clitest.Snapshot(of, c, now.Truncate(12*time.Hour).Add(-time.Duration(k)*12*time.Hour)))
		}
	}
	schedules := []*v1alpha1.SnapshotSchedule{s, small}
	r := clusterReport{Coverage: protection.CoverageOf(schedules, inv, now)}
	for _, one := range schedules {
		of, err := reportOn(one, inv, now, 0)
		if err != nil {
			t.Fatal(err)
		}
		r.Schedules = append(r.Schedules, of)
	}
	page, text, root := pageOf(t, &fullReport{Time: *term.TimeOf(now), Until: *term.TimeOf(now.Add(reportAhead)), Clusters: []clusterReport{r}})
	if len(page) > 6_000_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
	lanes := find(root, func(n *html.Node) bool { return attribute(n, "class") == "lane" && attribute(n, "role") == "list" })
	dots := find(root, isMark)
	if len(lanes) != maxLanes || len(dots) > maxDots || len(dots) < maxDots/2 {
		t.Errorf("%d lanes, %d dots", len(lanes), len(dots))
	}
	if laneOf(root, "shop/small claim-0") == nil {
		t.Error("a large schedule leaves no room for a small one")
	}
	rest := claims - maxLanes
	for _, words := range []string{fmt.Sprintf("%d PVCs without a drawing", rest), "and 20 older", fmt.Sprintf("%d of %d: the others", maxDeletes, claims*each)} {
		if !strings.Contains(text, words) {
			t.Errorf("%q is missing", words)
		}
	}
	named := map[string]bool{}
	for _, row := range find(root, func(n *html.Node) bool { return n.Data == "tr" }) {
		named[attribute(row, "data-find")] = true
	}
	for i := 1; i < claims; i++ {
		if !named[fmt.Sprintf("shop/s claim-%d", i)] {
			t.Errorf("claim-%d is not on the page", i)
		}
	}
}

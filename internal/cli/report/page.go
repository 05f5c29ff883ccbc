// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/ahead"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/protection"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/state"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

//go:embed report.html
var reportHTML string

//go:embed report.css
var reportStyle string

// reportScript shows the rows that contain what is searched, which a link such as report.html#shop can name, says what a mark is, copies
// commands, and opens everything before it is printed. The policy names the hash of this text, and of the style: nothing else of the page
// runs. They have no comments, because html/template would remove them.
//
//go:embed report.js
var reportScript string

var reportTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"plural": term.Plural, "policy": contentPolicy, "why": why,
	// What came from a cluster is one line of text without control characters, and html/template escapes it for its place.
	"text": report.Line,
}).Parse(strings.NewReplacer(
	"<script></script>", "<script>"+reportScript+"</script>", "<style></style>", "<style>"+reportStyle+"</style>",
).Replace(reportHTML)))

// contentPolicy lets the page load nothing, and have only its script and its style.
func contentPolicy() string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + hash(reportStyle) + "; script-src " + hash(reportScript)
}

// writePage writes a report as one HTML page.
func (r *fullReport) writePage(w io.Writer) error {
	return reportTemplate.Execute(w, newPage(r))
}

// What a page shows at most; -o json has the rest.
const (
	maxLanes   = 200
	maxDots    = 8000
	maxDeletes = 2000
	maxActions = 20
	maxMore    = 200
)

// page is what the template shows.
type page struct {
	Report *fullReport
	Sum    Sums
	// First and More are actions; Others are those for which there is no room.
	First, More []Action
	Others      int
	Clusters    []*pageCluster
	Now         time.Time
	dotsPerLane int
}

// pageCluster is what is shown of a cluster. Its deletes are counted by day in Columns, of which the highest has Most.
type pageCluster struct {
	Of                    *clusterReport
	Now                   time.Time
	Sum                   Sums
	Axis                  axis
	Schedules             []*pageSchedule
	Heat                  []*Lane
	Deletes, Listed, Most int
	Columns               []Spot
	Incomplete            bool
	// Silent is set if the operator shows no sign of life: then nothing is promised.
	Silent *silence
	// name is shown on a page of several clusters, used are the classes of marks.
	name string
	used map[string]bool
}

// silence is for how long an operator has shown no sign of life, and the command that shows whether it runs.
type silence struct {
	silent  time.Duration
	command string
}

// pageSchedule is what is shown of a schedule: Lanes, the Rest in a table, and the deletes that are Listed.
type pageSchedule struct {
	Of               *scheduleReport
	Protected, Ready pageState
	Lanes, Rest      []*Lane
	Listed           []ahead.Deletion
}

// newPage works out what the page shows.
func newPage(r *fullReport) *page {
	p := &page{Report: r, Sum: sumsOf(r.Time.Time, r.Clusters...), Now: r.Time.Time}
	var lanes, deletes []int
	rows, room := 1, maxLanes
	for _, c := range r.Clusters {
		for i := range c.Schedules {
			n := len(c.Schedules[i].Status.PersistentVolumeClaims)
			rows, lanes, deletes = rows+n, append(lanes, n), append(deletes, len(c.Schedules[i].Deletes))
		}
	}
	p.dotsPerLane = maxDots / min(rows, maxLanes)
	share, listed := fairShare(lanes, maxLanes), fairShare(deletes, maxDeletes)
	for i := range r.Clusters {
		c := &pageCluster{Of: &r.Clusters[i], Now: r.Clusters[i].now(p.Now), Sum: sumsOf(p.Now, r.Clusters[i]), used: map[string]bool{}}
		c.Axis = newAxis(c.Of.Schedules, c.Now)
		if len(r.Clusters)+len(r.Unread) > 1 {
			c.name = c.Of.Name
		}
		var all []*state.ScheduleStatus
		for k := range c.Of.Schedules {
			all = append(all, &c.Of.Schedules[k].Status)
		}
		if silent, command := state.OperatorSilence(c.Of.Operator, all); silent > 0 {
			c.Silent = &silence{silent, command}
		}
		for k := range c.Of.Schedules {
			room -= p.add(c, &c.Of.Schedules[k], min(share, room), listed)
		}
		slices.SortStableFunc(c.Schedules, func(a, b *pageSchedule) int {
			x, y := a.Protected.Class, b.Protected.Class
			return cmp.Or(first(x == "bad", y == "bad"), first(x != "good", y != "good"))
		})
		c.Heat = p.heat(c)
		c.Columns, c.Most = columnsOf(c.Of.Schedules, c.Now, r.Until.Time)
		p.Clusters = append(p.Clusters, c)
	}
	p.Sum.Unread = len(r.Unread)
	all := p.actions()
	n := min(len(all), maxActions)
	more := min(len(all), n+maxMore)
	p.First, p.More, p.Others = all[:n], all[n:more], len(all)-more
	return p
}

// add adds a schedule, with at most some lanes and some deletes. It returns how many lanes it has.
func (p *page) add(c *pageCluster, s *scheduleReport, share, listed int) int {
	one := &pageSchedule{Of: s, Protected: p.Protected(s.Status), Ready: p.Ready(s.Status.Conditions)}
	one.Listed = s.Deletes[:min(len(s.Deletes), listed)]
	claims := slices.SortedStableFunc(slices.Values(s.Status.PersistentVolumeClaims), func(a, b state.ClaimStatus) int {
		return first(unprotected(a), unprotected(b))
	})
	ends := map[string]time.Time{}
	for _, d := range s.Deletes {
		ends[d.Name] = d.Time.Time
	}
	for _, claim := range claims {
		if s.Timeline == nil || len(one.Lanes) >= share {
			one.Rest = append(one.Rest, p.laneOf(c, s, claim, nil))
		} else {
			one.Lanes = append(one.Lanes, p.laneOf(c, s, claim, ends))
		}
	}
	c.Schedules, c.Incomplete = append(c.Schedules, one), c.Incomplete || s.Incomplete
	c.Deletes, c.Listed = c.Deletes+len(s.Deletes), c.Listed+len(one.Listed)
	return len(one.Lanes)
}

// Drilled are the PVCs that had a drill: those whose last one failed first, then those that were verified long ago.
func (c *pageCluster) Drilled() []protection.ClaimCoverage {
	all := slices.DeleteFunc(slices.Clone(c.Of.Coverage.Claims), func(c protection.ClaimCoverage) bool {
		return c.VerifiedTime == nil && !c.VerificationFailed
	})
	slices.SortStableFunc(all, func(a, b protection.ClaimCoverage) int {
		return cmp.Or(first(a.VerificationFailed, b.VerificationFailed), term.ValueOf(a.VerifiedTime).Compare(term.ValueOf(b.VerifiedTime)))
	})
	return all
}

// Command is a command, or a text that ends with one, for this cluster: whoever copies it may be connected to another.
func (c *pageCluster) Command(line string) string { return report.Line(line + contextFlag(c.Of.Name)) }

// Text is what came from this cluster as one line, in which every command is for it.
func (c *pageCluster) Text(line string) string {
	if flag := contextFlag(c.Of.Name); flag != "" {
		line = commandStart.ReplaceAllStringFunc(line, func(start string) string { return strings.TrimSuffix(start, " ") + flag + " " })
	}
	return report.Line(line)
}

// commandStart is the part of a command before its flags. kubectl takes none before the name of a plugin.
var commandStart = regexp.MustCompile(`\bkubectl (?:snapsched )?`)

// contextFlag names a context in a command; nothing if the kubeconfig has none.
func contextFlag(name string) string {
	if name == "" {
		return ""
	}
	return " --context " + term.ShellWord(name)
}

// Age is how long ago a time was.
func (c *pageCluster) Age(t *metav1.Time) string { return term.Age(c.Now, term.ValueOf(t)) }

// Due is until when a snapshot is taken, unless nobody does, or how late it is.
func (c *pageCluster) Due(t *metav1.Time) string {
	if slot := term.ValueOf(t); c.Silent == nil || slot.Before(c.Now) {
		return term.Due(c.Now, slot)
	}
	return ""
}

// At is a time as people file it.
func (p *page) At(t metav1.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// pageState is a condition: its class, its text, and its message.
type pageState struct{ Class, Text, Message string }

// Protected is how a schedule protects its PVCs now, whatever the operator wrote.
func (p *page) Protected(s state.ScheduleStatus) pageState {
	class, text, more := s.Live()
	return pageState{class, text, text + more}
}

// FleetProtected is that of all schedules of a ClusterSnapshotSchedule.
func (p *page) FleetProtected(c *clusterReport, name string) pageState {
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
func (p *page) Ready(all []metav1.Condition) pageState {
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

// Sorted are the PVCs of a cluster, gaps first.
func (p *page) Sorted(c *protection.Coverage) []protection.ClaimCoverage {
	return slices.SortedStableFunc(slices.Values(c.Claims), func(a, b protection.ClaimCoverage) int { return first(a.Gap, b.Gap) })
}

// Words say how a schedule is, besides how it protects its PVCs.
func (p *page) Words(s *pageSchedule) []string {
	return slices.DeleteFunc(s.Of.Status.ConditionWords(term.Style{}), func(line string) bool { return line == s.Protected.Message })
}

// why explains a verdict.
func why(reason string) string {
	for verdict, words := range view.VerdictWords {
		if verdict.String() == reason {
			return words
		}
	}
	return reason
}

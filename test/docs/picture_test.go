// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/test/internal/recording"
)

const (
	hour, day = time.Hour, 24 * time.Hour
	// interval and shown are of the picture's schedule and of its axis of time.
	interval, shown = 6 * hour, 21 * day
)

// story is a PVC and what happened to it.
type story struct {
	claim, text string
	// failing and deleted are how long its driver has been failing, and how long ago it was deleted.
	failing, deleted time.Duration
}

// dot is a snapshot that was taken: how long ago, and what has become of it.
type dot struct {
	age   time.Duration
	class string
}

// live takes and deletes snapshots of a PVC at every slot, as retention says, and returns all that were taken within what is shown.
func live(s story) []dot {
	policy := retention.Policy{TTL: 7 * day, MinReady: 1, ReadyDeadline: hour, Detached: retention.Detached{TTL: 30 * day}}
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	var series retention.Series
	var dots []dot
	for at := now.Add(-2 * shown); !at.After(now); at = at.Add(interval) {
		series.Claim, series.Slot = retention.Selected, at
		if s.deleted > 0 && now.Sub(at) <= s.deleted {
			series.Claim, series.Slot = retention.Gone, time.Time{}
		}
		decision := retention.Decide(policy, at, series)
		var kept []retention.Snapshot
		for i, v := range series.Snapshots {
			if !decision.Verdicts[i].Delete() {
				kept = append(kept, v)
			} else if v.ReadyToUse && now.Sub(v.Created) <= shown {
				dots = append(dots, dot{now.Sub(v.Created), "gone"})
			}
		}
		series.Snapshots = kept
		if retention.Decide(policy, at, series).Take.Create() {
			ready := s.failing == 0 || now.Sub(at) >= s.failing
			series.Snapshots = append(series.Snapshots, retention.Snapshot{
				Name: at.String(), Created: at, ScheduledAt: at, HasCutTime: ready, CutTime: at, ReadyToUse: ready,
			})
		}
	}
	for _, v := range series.Snapshots {
		class := "failed"
		if v.ReadyToUse {
			class = "ready"
		}
		dots = append(dots, dot{now.Sub(v.Created), class})
	}
	return dots
}

// The picture of README is drawn by the code that decides what is deleted.
func TestThePictureShowsWhatRetentionDoes(t *testing.T) {
	const left, right, top, height = 250, 930, 150, 74
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 466" font-family="system-ui, sans-serif" font-size="14" role="img"` +
		` aria-label="A SnapshotSchedule, the PVCs that it selects, and which of their snapshots it has kept">
<style>
.page { fill: #fff; stroke: #d0d7de } .box { fill: #eef4ff; stroke: #326ce5 } .rule { stroke: #d0d7de } .link { stroke: #326ce5; fill: none }
text { fill: #1f2328 } .code { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 12.5px; white-space: pre } .note { fill: #59636e; font-size: 13px; stroke: #fff; stroke-width: 5px; paint-order: stroke }
.ready { fill: #1a7f37 } .gone { fill: none; stroke: #b6bec7 } .failed { stroke: #cf222e; stroke-width: 2.5 }
</style>
<rect class="page" x=".5" y=".5" width="959" height="465" rx="8"/>
<rect class="box" x="20" y="16" width="470" height="92" rx="6"/>
<text x="36" y="38" font-weight="600">SnapshotSchedule</text>
<text class="code" x="36" y="58">selector: {matchLabels: {app: shop}}</text>
<text class="code" x="36" y="76">snapshotInterval: 6h       # take one every 6 hours</text>
<text class="code" x="36" y="94">snapshotTTL: 7d            # and delete it after 7 days</text>
<g><circle class="ready" cx="540" cy="33" r="4"/><text class="note" x="554" y="38">a snapshot that can be restored</text>
<circle class="gone" cx="540" cy="57" r="3.5"/><text class="note" x="554" y="62">one that was deleted</text>
<path class="failed" d="M536 77l8 8m0-8l-8 8"/><text class="note" x="554" y="86">one that the storage failed to take</text></g>
`)
	x := func(age time.Duration) float64 { return right - float64(right-left)*age.Hours()/shown.Hours() }
	for days := range 22 {
		if days%7 != 0 {
			continue
		}
		at, label := x(time.Duration(days)*day), fmt.Sprintf("%d days ago", days)
		if days == 0 {
			label = "now"
		}
		fmt.Fprintf(&b, "<path class=\"rule\" d=\"M%.1f 142V448\"/><text class=\"note\" x=\"%.1f\" y=\"134\" text-anchor=\"middle\">%s</text>\n", at, at, label)
	}
	stories := []story{
		{claim: "data-0", text: "every snapshot goes after its 7 days"},
		{claim: "data-1", text: "its storage has been failing for 12 days: the last good snapshot stays, however old it is", failing: 12 * day},
		{claim: "data-2", text: "deleted 5 days ago, its snapshots can stay longer: retention.detached.snapshotTTL: 30d", deleted: 5 * day},
		{claim: "cache", text: "without the label app: shop, it is left alone"},
	}
	counts := map[string]map[string]int{}
	for i, s := range stories {
		y := top + i*height
		selected := s.claim != "cache"
		fmt.Fprintf(&b, "<text x=\"62\" y=\"%d\"><tspan font-weight=\"600\">%s</tspan>", y+22, s.claim)
		if selected {
			fmt.Fprintf(&b, "<tspan class=\"note\" dx=\"8\">app: shop</tspan></text><path class=\"link\" d=\"M36 108V%dH54\"/>\n", y+17)
		} else {
			fmt.Fprint(&b, "</text>\n")
		}
		fmt.Fprintf(&b, "<text class=\"note\" x=\"%d\" y=\"%d\">%s</text>\n", left, y+46, s.text)
		if !selected {
			continue
		}
		counts[s.claim] = map[string]int{}
		for _, d := range live(s) {
			counts[s.claim][d.class]++
			if d.class == "failed" {
				fmt.Fprintf(&b, "<path class=\"failed\" d=\"M%.1f %dl8 8m0-8l-8 8\"/>\n", x(d.age)-4, y+13)
				continue
			}
			fmt.Fprintf(&b, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%d\" r=\"3.5\"/>\n", d.class, x(d.age), y+17)
		}
	}
	b.WriteString("</svg>\n")
	for claim, want := range map[string]map[string]int{
		"data-0": {"ready": 28, "gone": 57}, "data-1": {"ready": 1, "gone": 36, "failed": 1}, "data-2": {"ready": 28, "gone": 36},
	} {
		if got := counts[claim]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", claim, got, want)
		}
	}
	if err := recording.File("operator.svg", b.String()); err != nil {
		t.Error(err)
	}
}

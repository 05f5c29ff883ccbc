// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/workload"
)

// pageEnds is where the report ends on a page; what comes after it is others'.
const pageEnds = "<!-- The campaign wrote the page up to here. -->\n"

// Rewrite replaces the report on a page, and leaves what comes after it.
func (r *Report) Rewrite(page, root string) string {
	_, rest, _ := strings.Cut(page, pageEnds)
	return r.Markdown(root) + "\n" + pageEnds + rest
}

const preamble = `<!-- Written by 'go run ./test/faults --write docs/faults.md', down to where it says so. -->
# The fault campaign

The guarantees that users are given (nothing is deleted too early, none is taken twice, work goes on after any fault) are
tested by breaking what the operator stands on. Its real program runs as a child process, as the shipped ServiceAccount,
against a real API server, etcd and garbage collector, through a proxy that records every request and every event of its
watches. Each workload is run without faults first. From what it did there, plans are listed one by one: a fault of each
kind at each request and each event, two operators at once, clocks that lie. After each plan the history of the run, as
the API server committed it, is judged by the guarantees (S1 to S7, L1 to L3), and its end is held against the end without
faults.

    make test-faults                      all of it
    make test-faults PLAN='<id>'          one plan; SEED=<n> for pairs of faults
    make test-faults-short                a fixed selection, as 'make test' runs it
    go run ./test/faults --help           classes, workloads, another operator, JSON

Snapshots, schedules and PVCs that a workload finds are put into etcd with creation times in the past, since no client can
choose those; and the campaign plays the snapshot controller, so that a run takes a second or two and not hours.
`

var methods = map[string]string{
	"reference":    "no fault, twice",
	"crash":        "SIGKILL at every write, before it and after it was committed",
	"api-errors":   "every write: 409, 429 with Retry-After, 500, 503, time-out or answer lost after the commit, 403 quota, 403 namespace terminating",
	"reads":        "every list that fills a cache: 500, 410, three ages of the past, nothing, every second object; every other list: 500, 410; every live get: 500, 410, three ages; discovery: 500, 503",
	"watches":      "every event: the watch ends before it, the same and the operator has to list again, a second late, twice",
	"time-travel":  "at the start, and at every write SIGKILL and a restart: lists and watches show the past, then catch up; three ages",
	"two-managers": "two active operators without leases: both free, one sees everything late, one writes late",
	"clock":        "the Date of all answers is wrong: ±1 h, ±1 d, ±10 y, 1970, none, no time at all",
	"two-faults":   "two at once, drawn with the seed",
	"specs":        "every field of a spec at its edges, and every pair of fields: refused by the API server, or InvalidSpec and nothing done until it is mended, or at work",
	"clocks":       "in process: daylight saving time in five zones, leap days, the operator's or the server's clock off by ±1 h, ±1 d, ±10 y, 1970",
	"lives":        "in process: ninety days of a seed, with drivers, users, clocks, crashes and late caches",
	"idle":         "no fault; the end is watched, and nothing may happen (or, where one PVC fails for good, the others must be served)",
}

// Markdown is the report as a page of the documentation.
func (r *Report) Markdown(root string) string {
	var b strings.Builder
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(&b, format+"\n", args...) }
	b.WriteString(preamble)
	line("\n## The last campaign\n")
	line("%s, commit %s, seed %d: **%d plans, %d failed**, in %s on %d cores, %d at once.\n",
		r.Began.UTC().Format("2006-01-02"), commit(root), r.Seed, r.Done-r.Missed, r.Failed, r.Took, runtime.NumCPU(), r.Parallel)
	line("| class | what is done | plans | passed | failed | missed | of all | sum of times |")
	line("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, row := range r.Rows {
		line("| %s | %s | %d | %d | %d | %d | %d | %s |", row.Class, methods[row.Class],
			row.Plans, row.Passed, row.Failed, row.Missed, max(row.Enumerated, row.Plans), row.Took.Round(time.Second))
	}
	line("\nA plan that is *missed* never came to its point, mostly because two writes of a status became one; it is counted")
	line("neither as a plan nor as passed. Of answers that no API server gives (lists that leave objects out, gets that are")
	line("old, a start that is shown no uncut snapshot) only the safety is judged (S1 to S7), not the end (L1).")
	if len(r.Failures) > 0 {
		line("\n## Failed\n")
		for _, f := range r.Failures {
			line("- `%s`", f.Plan)
			for _, v := range f.Violations {
				line("  - %s", strings.ReplaceAll(v, "\n", "; "))
			}
		}
	}
	line("\n## The workloads\n")
	line("| name | what happens |\n| --- | --- |")
	for _, w := range workload.All() {
		line("| %s | %s |", w.Name, w.What)
	}
	return b.String()
}

func commit(root string) string {
	cmd := exec.Command("git", "rev-parse", "--short", "HEAD")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

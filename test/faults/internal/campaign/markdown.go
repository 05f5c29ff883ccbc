// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/workload"
)

// methods describe the classes in the report.
var methods = map[plan.Class]string{
	referenceClass:   "no faults, twice",
	plan.Crash:       "SIGKILL at every write, before and after its commit",
	plan.APIErrors:   "every write: 409, 429 with Retry-After, 500, 503, time-out or lost answer after the commit, 403 quota, 403 namespace terminating",
	plan.Reads:       "every list that fills a cache: 500, 410, three old states, empty, every second object; every other list: 500, 410; every live get: 500, 410, three old states; discovery: 500, 503",
	plan.Watches:     "every event: the watch ends before it, the same with 410 on resume, one second late, twice",
	plan.TimeTravel:  "at the start, and after SIGKILL at every write: the new process first sees an old state, of three ages, and then catches up",
	plan.TwoManagers: "two active operators without leases: unhindered, one with late events, one with late writes",
	plan.Clock:       "a wrong Date in every answer: ±1 h, ±1 d, ±10 y, 1970, missing, not a time",
	plan.TwoFaults:   "two faults in one run, drawn with the seed",
	plan.Idle:        "no faults; the end state is observed: nothing may happen (where one PVC always fails, the others must not wait)",
	SpecStates:       "boundary values of every spec field, and pairs of fields: the operator works, or reports InvalidSpec and changes nothing until the spec is fixed",
	Clocks:           "in process: daylight saving time in five zones, leap days, the operator's or the server's clock wrong by ±50 s, ±1 h, ±1 d, ±10 y, 1970",
	Simulation:       "in process: ninety days from a seed, with drivers, users, clocks, crashes and late caches",
}

// Markdown returns the report as a section of a page.
func (r *Report) Markdown(root string) string {
	var b strings.Builder
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(&b, format+"\n", args...) }
	line("## The last campaign\n")
	line("%s, commit %s, seed %d: **%d plans, %d failed**, in %s on %d cores, %d concurrent.\n",
		r.Began.UTC().Format("2006-01-02"), Commit(root), r.Seed, r.Done-r.Missed, r.Failed, r.Took, runtime.NumCPU(), r.Parallel)
	line("| class | what is done | plans | passed | failed | missed | enumerated | total time |")
	line("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, row := range r.Ran() {
		line("| %s | %s | %d | %d | %d | %d | %d | %s |", row.Class, methods[row.Class],
			row.Plans, row.Passed, row.Failed, row.Missed, max(row.Enumerated, row.Plans), row.Took.Round(time.Second))
	}
	line("\nA *missed* plan did not reach the point of its fault, mostly because two status writes became one. It counts neither as")
	line("run nor as passed. Some plans contain answers that no API server gives: lists that leave objects out, old gets, a start")
	line("whose lists hide an uncut snapshot. Only the safety of those is judged (S1 to S9), not the end state (L1).")
	if text := r.byCache(); text != "" {
		line("\n%s See [where the guarantees end](#where-the-guarantees-end).", text)
	}
	if len(r.Failures) > 0 {
		line("\n### Failures\n")
		for _, f := range r.Failures {
			line("- `%s`", f.Plan)
			for _, v := range f.Violations {
				line("  - %s", strings.ReplaceAll(v, "\n", "; "))
			}
		}
	}
	line("\n## Workloads\n")
	line("| name | what happens |\n| --- | --- |")
	for _, w := range workload.All() {
		line("| %s | %s |", w.Name, w.What)
	}
	return b.String()
}

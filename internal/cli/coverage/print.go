// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package coverage

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/protection"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// namesShown is how much of the names of a rollback's PVCs is shown: whoever may edit a workload writes them.
const namesShown = 200

// rollbacksShown is how many unfinished rollbacks are shown in words.
const rollbacksShown = 10

// printCoverage prints the table with the columns CLUSTER and NAMESPACE, or without.
func printCoverage(w io.Writer, output *term.Output, c *protection.Coverage, clusters, namespaces bool) error {
	switch {
	case output.Structured():
		return output.PrintStructured(w, c)
	case output.Format == term.Names:
		printGaps(c, w, namespaces || clusters)
		return nil
	}
	if err := output.PrintTable(w, coverageTable(c, clusters, namespaces)); err != nil {
		return err
	}
	if output.NoHeaders {
		return nil
	}
	fmt.Fprintln(w)
	in := func(cluster string) string {
		if cluster == "" {
			return ""
		}
		return cluster + ": "
	}
	for _, l := range c.Leftovers {
		term.Say(w, fmt.Sprintf("%s%s of schedule %s/%s, which does not exist: nothing deletes them.",
			in(l.Cluster), term.Plural(l.Snapshots, "snapshot"), l.Namespace, l.Schedule))
	}
	for _, r := range c.Rollbacks[:min(len(c.Rollbacks), rollbacksShown)] {
		term.Say(w, fmt.Sprintf("%sRollback %s of %s in namespace %s is unfinished, and began %s ago: %s",
			in(r.Cluster), r.ID, report.List(r.Claims, namesShown), r.Namespace, term.Age(c.NowIn(r.Cluster), r.BeganTime.Time), r.Remedy))
	}
	if more := len(c.Rollbacks) - rollbacksShown; more > 0 {
		term.Say(w, fmt.Sprintf("%s more: -o json has all", term.Plural(more, "unfinished rollback")))
	}
	printSum(c, w)
	return nil
}

// printGaps prints the names of the PVCs that are gaps.
func printGaps(c *protection.Coverage, w io.Writer, namespaces bool) {
	for i := range c.Claims {
		if c.Claims[i].Gap {
			name := term.ClaimResource + "/" + c.Claims[i].Name
			if namespaces { // a name alone is that of several
				name = c.Claims[i].Namespace + "/" + name
			}
			fmt.Fprintln(w, name)
		}
	}
}

// printSum prints one line that counts every state.
func printSum(c *protection.Coverage, w io.Writer) {
	style := term.StyleOf(w)
	all, states := term.Plural(len(c.Claims), "PVC"), ""
	for _, p := range []protection.Protection{
		protection.Protected, protection.Pending, protection.Unknown, protection.Stale, protection.Unprotected,
		protection.Skipped, protection.Excluded,
	} {
		n := 0
		for i := range c.Claims {
			if c.Claims[i].Protection == p {
				n++
			}
		}
		if n > 0 {
			states += fmt.Sprintf(", %d %s", n, strings.ToLower(string(p)))
		}
	}
	states = strings.TrimPrefix(states, ", ")
	switch c.Verdict() {
	case protection.HasGaps:
		fmt.Fprintln(w, style.Bad(fmt.Sprintf("%d of %s not protected: %s.", c.Gaps(), all, states)))
	case protection.NotRead: // the error says it
	case protection.Waiting:
		fmt.Fprintln(w, style.Warn(fmt.Sprintf("Not all of %s are protected yet: %s.", all, states)))
	default:
		if strings.Contains(states, ",") { // not all in one state
			all += ": " + states
		}
		good := style.Good
		if len(c.Rollbacks) > 0 {
			good = style.Warn
		}
		fmt.Fprintln(w, good("No gaps in "+all+"."))
	}
}

// verifiedWords says when a drill last succeeded, and whether the last one failed; empty if there was none.
func verifiedWords(c *protection.ClaimCoverage, now time.Time) string {
	verified := term.Age(now, term.ValueOf(c.VerifiedTime))
	switch {
	case !c.VerificationFailed:
		return verified
	case verified == "":
		return "failed"
	}
	return verified + ", then failed"
}

// coverageTable returns the table of PVCs, with the column VERIFIED once there is a drill.
func coverageTable(c *protection.Coverage, clusters, namespaces bool) *term.Table {
	type row = protection.ClaimCoverage
	now := func(r *row) time.Time { return c.NowIn(r.Cluster) }
	rows := slices.Clone(c.Claims)
	for _, u := range c.Unread {
		rows = append(rows, row{Cluster: u.Cluster, Protection: "Unreachable", Reason: u.Error})
	}
	drilled := slices.ContainsFunc(rows, func(c row) bool { return verifiedWords(&c, now(&c)) != "" })
	return term.TableOf(rows,
		term.ColIf(clusters, "CLUSTER", func(c *row) any { return c.Cluster }),
		term.ColIf(clusters || namespaces, "NAMESPACE", func(c *row) any { return c.Namespace }),
		term.Col("PVC", func(c *row) any { return c.Name }),
		term.Col("PROTECTION", func(c *row) any { return string(c.Protection) }),
		term.Col("SCHEDULES", func(c *row) any { return c.ScheduleWords() }),
		term.Col("RECOVERY POINT", func(c *row) any { return term.Age(now(c), term.ValueOf(c.RecoveryPointTime)) }),
		term.ColIf(drilled, "VERIFIED", func(c *row) any { return verifiedWords(c, now(c)) }),
		term.Col("REASON", func(c *row) any { return c.Why() }))
}

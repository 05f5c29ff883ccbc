// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package coverage

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/protection"
)

func TestPrintCoverage(t *testing.T) {
	s := clitest.NewScenario()
	for name, test := range map[string]struct {
		output     term.Output
		namespaces bool
		want       string
	}{
		"a table with its gaps": {term.Output{}, false, `
PVC       PROTECTION    SCHEDULES            RECOVERY POINT   REASON
db-0      Protected     tiers                20m              <none>
db-1      Stale         tiers                30h              no ready snapshot for a whole slot of tiers
db-2      Skipped       tiers                <none>           not Bound
web-0     Unprotected   paused (suspended)   <none>           paused: it is suspended
cache-0   Unprotected   broken (invalid)     <none>           broken: its spec is invalid
scratch   Unprotected   <none>               <none>           no schedule selects it

1 snapshot of schedule shop/old, which does not exist: nothing deletes them.
4 of 6 PVCs not protected: 1 protected, 1 stale, 3 unprotected, 1 skipped.
`},
		"all namespaces": {term.Output{NoHeaders: true}, true, `
shop   db-0      Protected     tiers                20m      <none>
shop   db-1      Stale         tiers                30h      no ready snapshot for a whole slot of tiers
shop   db-2      Skipped       tiers                <none>   not Bound
shop   web-0     Unprotected   paused (suspended)   <none>   paused: it is suspended
shop   cache-0   Unprotected   broken (invalid)     <none>   broken: its spec is invalid
shop   scratch   Unprotected   <none>               <none>   no schedule selects it
`},
		"names of the gaps": {term.Output{Format: term.Names}, false, `
persistentvolumeclaim/db-1
persistentvolumeclaim/web-0
persistentvolumeclaim/cache-0
persistentvolumeclaim/scratch
`},
	} {
		t.Run(name, func(t *testing.T) {
			c := protection.CoverageOf(s.Schedules(), s.Inv, s.Now)
			clitest.Golden(t, func(b *bytes.Buffer) error { return printCoverage(b, &test.output, c, false, test.namespaces) }, test.want)
		})
	}
}

// The column and the marks of drills are there once there is a drill.
//
// Contract: VER-4, VER-5.
func TestPrintDrillsOfCoverage(t *testing.T) {
	s := clitest.NewDrilled(t)
	clitest.Golden(t, func(b *bytes.Buffer) error {
		return printCoverage(b, &term.Output{NoHeaders: true}, protection.CoverageOf(s.Schedules(), s.Inv, s.Now), false, false)
	}, `
db-0      Protected     tiers                20m      5d, then failed   <none>
db-1      Stale         tiers                30h      failed            no ready snapshot for a whole slot of tiers
db-2      Skipped       tiers                <none>   <none>            not Bound
web-0     Unprotected   paused (suspended)   <none>   <none>            paused: it is suspended
cache-0   Unprotected   broken (invalid)     <none>   <none>            broken: its spec is invalid
scratch   Unprotected   <none>               <none>   <none>            no schedule selects it
`)
}

// Whoever may edit a workload writes which PVCs its rollback is of.
//
// Contract: BACK-7.
func TestPrintUnfinishedRollbacks(t *testing.T) {
	s := clitest.NewScenario()
	c := &protection.Coverage{Now: s.Now, Rollbacks: []protection.Rollback{
		{
			Namespace: "shop", ID: "4d3c2b01", Claims: []string{"data-0", "data-1"}, BeganTime: *term.TimeOf(s.Now.Add(-3 * time.Hour)),
			Remedy: "run the same command again to finish it, or undo it: kubectl snapsched rollback -n shop statefulset/db --undo",
		},
		{
			Cluster: "eu", Namespace: "shop", ID: "4d3c2b02", Claims: slices.Repeat([]string{strings.Repeat("a", 90)}, 500),
			BeganTime: *term.TimeOf(s.Now.Add(-2 * 24 * time.Hour)), Remedy: "undo it",
		},
	}}
	clitest.Golden(t, func(b *bytes.Buffer) error { return printCoverage(b, &term.Output{}, c, false, false) }, `

Rollback 4d3c2b01 of data-0, data-1 in namespace shop is unfinished, and began 3h ago: run the same command again to finish it, or undo it: kubectl snapsched rollback -n shop statefulset/db --undo
eu: Rollback 4d3c2b02 of `+strings.Repeat("a", 90)+`, `+strings.Repeat("a", 90)+` and 498 more in namespace shop is unfinished, and began 2d ago: undo it
No gaps in 0 PVCs.
`)
}

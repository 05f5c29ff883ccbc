// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"net/http"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// Things that a campaign must have seen, or its oracles had nothing to judge.
const (
	SeenCreates  = "snapshots created"
	SeenDeletes  = "snapshots deleted"
	SeenPatches  = "snapshots adopted or released"
	SeenStatus   = "status writes"
	SeenReads    = "live reads"
	SeenRefused  = "requests refused by faults"
	SeenCrashes  = "processes started again"
	SeenSkewed   = "wrong clocks"
	SeenIdle     = "ends watched"
	SeenBroken   = "PVCs broken for good"
	SeenUnsynced = "caches filled"
)

// Everything is all of them.
var Everything = []string{
	SeenCreates, SeenDeletes, SeenPatches, SeenStatus, SeenReads, SeenRefused, SeenCrashes, SeenSkewed, SeenIdle, SeenBroken, SeenUnsynced,
}

// count adds what a run has shown.
func count(seen map[string]int, h *history.History) {
	for i := range h.Changes {
		if name := changeSeen(&h.Changes[i]); name != "" {
			seen[name]++
		}
	}
	processes := map[int]bool{}
	for i := range h.Requests {
		r := &h.Requests[i]
		processes[r.Process] = true
		if r.Verb == "get" && r.Namespace != "" && r.Seen == http.StatusOK {
			seen[SeenReads]++
		}
		if !r.Reached && r.Seen != 0 {
			seen[SeenRefused]++
		}
	}
	seen[SeenCrashes] += max(0, len(processes)-1)
	windows := map[history.Kind]string{
		history.Skewed: SeenSkewed, history.Idle: SeenIdle, history.Broken: SeenBroken, history.Unsynced: SeenUnsynced,
	}
	for _, w := range h.Windows {
		if name := windows[w.Kind]; name != "" {
			seen[name]++
		}
	}
}

// changeSeen is what the operator did by a change; empty if someone else did it.
func changeSeen(c *history.Change) string {
	if c.Request < 0 {
		return ""
	}
	o := c.After
	if o == nil {
		o = c.Before
	}
	_, snapshot := o.(*snapshotv1.VolumeSnapshot)
	switch {
	case !snapshot:
		return SeenStatus
	case c.Before == nil:
		return SeenCreates
	case c.After == nil || c.After.GetDeletionTimestamp() != nil:
		return SeenDeletes
	}
	return SeenPatches
}

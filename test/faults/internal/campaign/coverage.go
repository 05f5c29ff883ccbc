// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"net/http"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// What a campaign must contain, or some oracle has nothing to judge.
const (
	CoversCreates  = "snapshots created"
	CoversDeletes  = "snapshots deleted"
	CoversPatches  = "snapshots adopted or released"
	CoversStatus   = "status writes"
	CoversReads    = "live reads"
	CoversRefused  = "requests refused by the proxy"
	CoversCrashes  = "processes restarted"
	CoversSkewed   = "wrong dates"
	CoversIdle     = "end states observed"
	CoversBroken   = "PVCs that always fail"
	CoversUnsynced = "caches synced"
)

// Required lists all of it.
var Required = []string{
	CoversCreates, CoversDeletes, CoversPatches, CoversStatus, CoversReads, CoversRefused, CoversCrashes, CoversSkewed,
	CoversIdle, CoversBroken, CoversUnsynced,
}

// cover adds what a run contains.
func cover(covered map[string]int, h *history.History) {
	for i := range h.Changes {
		if name := actionOf(&h.Changes[i]); name != "" {
			covered[name]++
		}
	}
	processes := map[int]bool{}
	for i := range h.Requests {
		r := &h.Requests[i]
		processes[r.Process] = true
		if r.Verb == "get" && r.Namespace != "" && r.Seen == http.StatusOK {
			covered[CoversReads]++
		}
		if !r.Reached && r.Seen != 0 {
			covered[CoversRefused]++
		}
	}
	covered[CoversCrashes] += max(0, len(processes)-1)
	windows := map[history.Kind]string{
		history.Skewed: CoversSkewed, history.Idle: CoversIdle, history.Broken: CoversBroken, history.Unsynced: CoversUnsynced,
	}
	for _, w := range h.Windows {
		if name := windows[w.Kind]; name != "" {
			covered[name]++
		}
	}
}

// actionOf returns what the operator did by a change; empty if someone else made it.
func actionOf(c *history.Change) string {
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
		return CoversStatus
	case c.Before == nil:
		return CoversCreates
	case c.After == nil || c.After.GetDeletionTimestamp() != nil:
		return CoversDeletes
	}
	return CoversPatches
}

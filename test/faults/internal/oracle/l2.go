// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// L2: while nothing is due, the operator sends nothing but watches and leases, and no object changes. If there has never been a
// VolumeSnapshot, the kind may be missing: then discovery once a minute is allowed.
func L2(h *history.History) []Violation {
	var found []Violation
	for _, w := range h.Windows {
		if w.Kind != history.Idle {
			continue
		}
		within := history.Window{From: w.From, Until: endOf(w, h)}
		for i := range h.Changes {
			if c := &h.Changes[i]; within.Holds(c.At) {
				found = append(found, changeViolation("L2", h, i, "resourceVersion %d was written while nothing was due", c.Revision))
			}
		}
		found = append(found, idleRequests(h, within, w.Process)...)
	}
	return found
}

func idleRequests(h *history.History, within history.Window, process int) []Violation {
	var found []Violation
	discoveries := 0
	if !everHadSnapshots(h) {
		// One discovery is a request for each group version.
		discoveries = 4 * (1 + int(within.Until.Sub(within.From).Minutes()))
	}
	for i := range h.Requests {
		r := &h.Requests[i]
		if !within.Holds(r.At) || process >= 0 && r.Process != process || isQuiet(r) {
			continue
		}
		if isDiscovery(r) && discoveries > 0 {
			discoveries--
			continue
		}
		found = append(found, requestViolation("L2", h, i, "was sent while nothing was due"))
	}
	return found
}

func isQuiet(r *history.Request) bool {
	return r.Verb == "watch" || r.Group == "coordination.k8s.io" && r.Resource == "leases"
}

func everHadSnapshots(h *history.History) bool {
	for i := range h.Changes {
		c := &h.Changes[i]
		if _, ok := c.After.(*snapshotv1.VolumeSnapshot); ok {
			return true
		}
		if _, ok := c.Before.(*snapshotv1.VolumeSnapshot); ok {
			return true
		}
	}
	return false
}

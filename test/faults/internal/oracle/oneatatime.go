// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// OneAtATime: no snapshot is created while another one of its series has not been
// cut, be it failed, held or on its way out. An operator can know only what it is
// shown: creates count before which nothing was done to what its process sees, and
// of the others those that were there when the process began, or for a while.
func OneAtATime(h *history.History) []Violation {
	began := map[int]time.Time{}
	for i := range h.Requests {
		r := &h.Requests[i]
		if first, ok := began[r.Process]; !ok || r.At.Before(first) {
			began[r.Process] = r.At
		}
	}
	var found []Violation
	came := map[types.UID]time.Time{}
	replay(h, func(i int, w *world) {
		c := &h.Changes[i]
		created, ok := c.After.(*snapshotv1.VolumeSnapshot)
		if !ok || c.Before != nil {
			return
		}
		came[created.UID] = c.At
		if !byOperator(h, i) {
			return
		}
		r := &h.Requests[c.Request]
		since := began[r.Process]
		if blurred(h, since, c.At) {
			return
		}
		for uid, s := range w.series[seriesOf(created)] {
			if uid != created.UID && isUncut(s) && (came[uid].Before(since) || c.At.Sub(came[uid]) > servedWithin) {
				found = append(found, Violation{Oracle: "Slot", At: c.At, Change: i, Request: c.Request, Message: fmt.Sprintf(
					"VolumeSnapshot %s/%s was created while %s was there, which has not been cut", created.Namespace, created.Name, s.Name)})
			}
		}
	})
	return found
}

// blurred tells whether something was done, in a span of time, to what operators
// see or to their clocks.
func blurred(h *history.History, from, until time.Time) bool {
	return slices.ContainsFunc(h.Windows, func(w history.Window) bool {
		return (w.Kind == history.Faulty || w.Kind == history.Skewed) &&
			w.From.Before(until) && (w.Until.IsZero() || w.Until.After(from))
	})
}

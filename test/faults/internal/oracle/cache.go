// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"slices"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// What the operator reads from its cache only, and what follows for S2 and S4. The rule needs to know what the cache held: where that
// was not recorded, as in a run against a real API server, everything is judged on what the API server held.

// Findings are what the oracles found in a history.
type Findings struct {
	Violations []Violation
	// ByCache are the deletes and creates that are allowed only by what the operator's cache held, not by what the API server held: no
	// violations of S2 and S4, but counted.
	ByCache []Violation
}

// cacheAt returns what the operator's cache held when it made the decision of a request, nil if that was not recorded.
func cacheAt(h *history.History, r *history.Request) *state {
	if r.Cache == nil {
		return nil
	}
	st := newState()
	for i := range h.Changes[:max(r.Cache.Schedules, r.Cache.Claims, r.Cache.Snapshots)] {
		if c := &h.Changes[i]; i < shownOf(r.Cache, c) {
			st.swap(c.Before, c.After)
		}
	}
	return st
}

// shownOf returns how many changes are in the cache of the kind that a change is about.
func shownOf(cache *history.Cache, c *history.Change) int {
	o := c.After
	if o == nil {
		o = c.Before
	}
	switch o.(type) {
	case *v1alpha1.SnapshotSchedule:
		return cache.Schedules
	case *corev1.PersistentVolumeClaim:
		return cache.Claims
	case *snapshotv1.VolumeSnapshot:
		return cache.Snapshots
	}
	return 0
}

// byCache returns the view on which the operator decided, nil if it is not known: the schedule and the PVC as the guards were shown them,
// the snapshots that the guards read as they were shown, the deleted one as it was, and from the cache the other snapshots of the series
// and the PVCs that hold some.
func (d deletion) byCache(h *history.History, shown *view) *view {
	st := cacheAt(h, d.request)
	if st == nil {
		return nil
	}
	v := st.view(seriesOf(d.snapshot))
	live := map[string]client.Object{}
	for _, r := range slices.Backward(d.reads(h)) { // the latest last
		if r.Cache == d.request.Cache && r.Verb == "get" && r.Resource == "volumesnapshots" {
			live[r.Name], _ = answerOf(r)
		}
	}
	v.series = slices.DeleteFunc(v.series, func(s *snapshotv1.VolumeSnapshot) bool {
		o, read := live[s.Name]
		return read && (o == nil || o.GetUID() != s.UID || shown.schedule == nil || !owned(o.(*snapshotv1.VolumeSnapshot), shown.schedule) ||
			o.GetLabels()[v1alpha1.LabelMapKey] != s.Labels[v1alpha1.LabelMapKey])
	})
	for i, s := range v.series {
		if o := live[s.Name]; o != nil {
			v.series[i] = o.(*snapshotv1.VolumeSnapshot)
		}
	}
	v.schedule, v.claim = shown.schedule, shown.claim
	v.from, v.until = d.windowStart().Add(d.clockAhead()), shown.until
	v.pinVersion(d.snapshot)
	return v
}

// decidedUnder returns the schedule's UID and generation by which a slot was due, as the operator's cache held them, and false if they
// are not known.
func decidedUnder(h *history.History, r *history.Request, id seriesID) (uid types.UID, generation int64, ok bool) {
	st := cacheAt(h, r)
	if st == nil {
		return "", 0, false
	}
	s := st.scheduleOf(id)
	if s == nil {
		return "", 0, false
	}
	return s.UID, s.Generation, true
}

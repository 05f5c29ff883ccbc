// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"reflect"
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// Looking back leaves the world as it was.
func TestLookBack(t *testing.T) {
	s := expired()
	s.wait(time.Second)
	s.gone("persistentvolumeclaims/data")
	s.guards("new")
	s.deletes("old")
	s.editSnapshot("new", unready)
	h := &s.History
	w, _ := worldBefore(h)
	same, _ := worldBefore(h)
	undone := 0
	w.lookBack(h, len(h.Changes)-1, s.now.Add(-2*time.Second), func(*history.Change) bool {
		undone++
		return true
	})
	if undone != 2 {
		t.Errorf("undid %d changes, want the 2 of the window", undone)
	}
	if !reflect.DeepEqual(w, same) {
		t.Error("the world is another after looking back")
	}
}

// worldBefore is the world before the last change.
func worldBefore(h *history.History) (*world, int) {
	short := *h
	short.Changes = h.Changes[:len(h.Changes)-1]
	return worldAt(&short, h.Ended)
}

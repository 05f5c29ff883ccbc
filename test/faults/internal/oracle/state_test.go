// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"reflect"
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

func TestUndoSinceRestoresTheState(t *testing.T) {
	s := begin(expired()...)
	s.wait(time.Second)
	s.gone("persistentvolumeclaims/data")
	s.guardedDelete("old", "new")
	s.editSnapshot("new", unready)
	h := &s.History
	st, _ := stateBefore(h)
	same, _ := stateBefore(h)
	undone := 0
	st.undoSince(h, len(h.Changes)-1, s.now.Add(-2*time.Second), func(*history.Change) bool {
		undone++
		return true
	})
	if undone != 2 {
		t.Errorf("undid %d changes, want the 2 of the window", undone)
	}
	if !reflect.DeepEqual(st, same) {
		t.Error("the state has changed")
	}
}

// stateBefore returns the state before the last change.
func stateBefore(h *history.History) (*state, int) {
	short := *h
	short.Changes = h.Changes[:len(h.Changes)-1]
	return stateAt(&short, h.Ended)
}

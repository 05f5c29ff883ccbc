/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"fmt"
	"testing"
	"time"
)

// In the last ten minutes of a reservation, other namespaces get no place, so that what is under way ends and the group finds room.
//
// Contract: LIMIT-8.
func TestOthersGetNothingAtTheEndOfAReservation(t *testing.T) {
	c := &crowd{tester: newTester(0)}
	c.sizes = Sizes{Pending: 8}
	c.note(c.Seen(c.now, snapshotOf("slow/s/0"), Stage{Created: c.now})) // it is cut, and not ready for long
	if c.askGroup("a/s/group", 8) {
		t.Fatal("the group has room")
	}
	for _, at := range []struct {
		minute int
		served bool
	}{{1, true}, {49, true}, {50, false}, {59, false}, {61, true}} {
		c.now = start.Add(time.Duration(at.minute) * time.Minute)
		name := fmt.Sprint("victim/s/", at.minute)
		if got := c.ask(name); got != at.served {
			t.Errorf("after %d minutes, a PVC of another namespace is served: %t, want %t", at.minute, got, at.served)
		}
		c.cut(name)
		c.leave(name)
	}
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestALongStepAddsALineEachHalfMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		failed := errors.New("failed")
		err := Run(&out, []Step{
			{Name: "short", Do: func(func(string)) error { return nil }},
			{Name: "long", Do: func(report func(string)) error {
				time.Sleep(40 * time.Second)
				report("one line\n3 of 4 packages")
				time.Sleep(25 * time.Second)
				return failed
			}},
			{Name: "never"},
		})
		const want = "[ 1/3] short ok 0s [ 2/3] long 30s [ 2/3] long 1m0s 3 of 4 packages [ 2/3] long failed after 1m5s"
		if got := strings.Join(strings.Fields(out.String()), " "); !errors.Is(err, failed) || got != want {
			t.Errorf("got %v and\n%s", err, out.String())
		}
	})
}

func TestATerminalCanHaveNoSize(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if err := Run(terminal, []Step{{Name: "step", Do: func(func(string)) error { return nil }}}); err != nil {
		t.Error(err)
	}
}

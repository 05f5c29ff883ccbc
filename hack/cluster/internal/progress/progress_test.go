// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLongStepsPrintALineEveryFewSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &strings.Builder{}
		steps := New(out, 12)
		_ = steps.Do("etcd", "building", func() error { return nil })
		err := errors.New("no")
		got := steps.Do("kube-apiserver", "building", func() error { time.Sleep(Every + time.Second); return err })
		want := `[ 1/12] etcd                     ok 0s
[ 2/12] kube-apiserver           building … 15s (total 15s)
[ 2/12] kube-apiserver           failed after 16s
`
		if !errors.Is(got, err) || out.String() != want {
			t.Errorf("got %v and\n%s\nwant\n%s", got, out, want)
		}
	})
}

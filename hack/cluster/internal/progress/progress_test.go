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
		out, err := &strings.Builder{}, errors.New("no")
		got := Run(out, []Step{
			{"etcd", func() error { return nil }},
			{"kube-apiserver", func() error { time.Sleep(Every + time.Second); return err }},
			{"never", nil},
		})
		want := `[ 1/3] etcd                     ok 0s
[ 2/3] kube-apiserver           … 15s (total 15s)
[ 2/3] kube-apiserver           failed after 16s
`
		if !errors.Is(got, err) || out.String() != want {
			t.Errorf("got %v and\n%s\nwant\n%s", got, out, want)
		}
	})
}

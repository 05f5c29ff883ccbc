// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net/http"
	"strings"
	"sync/atomic"

	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// creates refuses the creation of snapshots.
func creates(code int) func(*http.Request) int {
	return func(r *http.Request) int {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/volumesnapshots") {
			return code
		}
		return 0
	}
}

// losing lets the first creation of a snapshot through, and has its answer be lost.
func losing(lost *atomic.Bool) option {
	return func(o *operator, _ *snapshots.Options) {
		o.network.lose = func(r *http.Request) bool { return creates(1)(r) != 0 && lost.CompareAndSwap(false, true) }
	}
}

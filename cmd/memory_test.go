// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"
)

func TestSetMemoryLimit(t *testing.T) {
	const unset = -1
	for name, tc := range map[string]struct {
		env     map[string]string
		want    int64
		invalid bool
	}{
		"is 90 % of the container's limit":    {env: map[string]string{"MEMORY_LIMIT": "536870912"}, want: 483183819},
		"leaves GOMEMLIMIT to the user":       {env: map[string]string{"MEMORY_LIMIT": "536870912", "GOMEMLIMIT": "1GiB"}, want: unset},
		"does nothing outside of a container": {want: unset},
		"rejects a quantity":                  {env: map[string]string{"MEMORY_LIMIT": "512Mi"}, want: unset, invalid: true},
		"rejects no limit":                    {env: map[string]string{"MEMORY_LIMIT": "0"}, want: unset, invalid: true},
	} {
		t.Run(name, func(t *testing.T) {
			before := debug.SetMemoryLimit(-1)
			defer debug.SetMemoryLimit(before)
			if tc.want == unset {
				tc.want = before
			}
			err := setMemoryLimit(func(name string) string { return tc.env[name] })
			if (err != nil) != tc.invalid {
				t.Errorf("error %v", err)
			}
			if got := debug.SetMemoryLimit(-1); got != tc.want {
				t.Errorf("the limit is %d, want %d", got, tc.want)
			}
		})
	}
}

func TestTheDeploymentSetsTheMemoryLimit(t *testing.T) {
	text, err := os.ReadFile("../config/manager/manager.yaml")
	if err != nil || !strings.Contains(string(text), "- name: "+memoryLimitVariable+"\n          valueFrom:\n            resourceFieldRef:\n              resource: limits.memory\n") {
		t.Errorf("config/manager does not set %s from the limit: %v", memoryLimitVariable, err)
	}
}

func TestHeadroom(t *testing.T) {
	for name, tc := range map[string]struct {
		live, want uint64
	}{
		"nothing known yet":                   {live: 0, want: 600},
		"a few objects":                       {live: 12 << 20, want: 200},
		"what the memory request is for":      {live: 45 << 20, want: 65},
		"more, where GOGC alone gives enough": {live: 4 << 30, want: 65},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (&headroom{percent: 65}).of(tc.live); got != tc.want {
				t.Errorf("GOGC=%d, want %d", got, tc.want)
			}
		})
	}
}

// Not parallel: GOGC is the process's.
func TestHeadroomFollowsTheHeap(t *testing.T) {
	before := debug.SetGCPercent(65)
	defer debug.SetGCPercent(before)
	keepHeadroom()
	eventually := func(what string, reached func(gogc uint64) bool) {
		t.Helper()
		gogc := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		for deadline := time.Now().Add(time.Minute); ; runtime.GC() {
			if metrics.Read(gogc); reached(gogc[0].Value.Uint64()) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("GOGC=%d with %s", gogc[0].Value.Uint64(), what)
			}
		}
	}
	eventually("little alive", func(gogc uint64) bool { return gogc > 65 })
	held := make([]byte, 100<<20)
	eventually("100 MB alive", func(gogc uint64) bool { return gogc == 65 })
	runtime.KeepAlive(held)
	eventually("little alive again", func(gogc uint64) bool { return gogc > 65 })
}

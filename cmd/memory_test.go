// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"runtime/debug"
	"strings"
	"testing"
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

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"testing"
)

func TestParseStatus(t *testing.T) {
	got, err := parseStatus("Name:\tmanager\nVmHWM:\t  200 kB\nVmRSS:\t     100 kB\nRssAnon:\t      60 kB\nRssFile:\t      40 kB\n")
	want := Memory{Resident: 100 << 10, Peak: 200 << 10, Anonymous: 60 << 10}
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestParseStatusRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"a zombie, which has no memory": "Name:\tmanager\nState:\tZ (zombie)\n",
		"another unit":                  "VmHWM:\t200 kB\nVmRSS:\t100 MB\nRssAnon:\t60 kB\n",
		"a number too few":              "VmHWM:\t200 kB\nVmRSS:\t100 kB\n",
	} {
		if m, err := parseStatus(text); err == nil {
			t.Errorf("%s: got %+v and no error", name, m)
		}
	}
}

func TestMemoryOfThisProcess(t *testing.T) {
	m, err := MemoryOf(os.Getpid())
	if os.IsNotExist(err) {
		t.Skip("no /proc here")
	}
	if err != nil || m.Anonymous <= 0 || m.Resident < m.Anonymous || m.Peak < m.Resident {
		t.Errorf("got %+v, %v", m, err)
	}
}

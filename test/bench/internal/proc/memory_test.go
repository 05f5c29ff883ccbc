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

package proc

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

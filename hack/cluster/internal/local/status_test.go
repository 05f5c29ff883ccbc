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

package local

import (
	"strings"
	"testing"
)

func TestCheckTellsHealth(t *testing.T) {
	c := testCluster(t, map[string]string{"good": steady, "bad": steady, "gone": "exit 0\n"})
	for name, probe := range map[string]string{"good": server(t, 0), "bad": server(t, 100), "gone": server(t, 0)} {
		if _, err := c.launch(definitionOf(name, probe), []int{1}); err != nil {
			t.Fatal(err)
		}
	}
	<-c.procs["gone"].Done
	c.State.Ready = true
	r := Check(t.Context(), c.Dir, c.State)
	for _, p := range r.Parts {
		if want := map[string]string{"good": Healthy, "bad": Unhealthy, "gone": Stopped}[p.Name]; p.State != want {
			t.Errorf("%s is %s (%s), want %s", p.Name, p.State, p.Detail, want)
		}
	}
	if r.Healthy || !strings.Contains(r.Reason(), "gone stopped") {
		t.Errorf("healthy = %v, reason %q", r.Healthy, r.Reason())
	}
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
)

// PausePart stops a part of the local cluster where it stands, as if its
// machine were lost, and returns what lets it go on. It goes on with the end
// of the spec at the latest.
func (c *Cluster) PausePart(name string) (resume func()) {
	pid := c.pidOf(name)
	must(syscall.Kill(pid, syscall.SIGSTOP), "pause %s", name)
	resume = sync.OnceFunc(func() { must(syscall.Kill(pid, syscall.SIGCONT), "resume %s", name) })
	DeferCleanup(resume)
	return resume
}

func (c *Cluster) pidOf(name string) int {
	text, err := os.ReadFile(filepath.Join(c.Dir, "cluster.json"))
	must(err, "the state of the local cluster")
	var state struct {
		Parts []struct {
			Name string
			Pid  int
		}
	}
	must(json.Unmarshal(text, &state), "the state of the local cluster")
	for _, part := range state.Parts {
		if part.Name == name {
			return part.Pid
		}
	}
	Fail("the local cluster has no " + name)
	return 0
}

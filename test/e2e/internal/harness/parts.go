// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"sync"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
)

// PausePart freezes a part of the local cluster, as if its machine were lost, and returns the function
// that resumes it. It is resumed at the end of the spec at the latest.
func (c *Cluster) PausePart(name string) (resume func()) {
	part, err := c.state.Part(name)
	must(err, "pause")
	must(syscall.Kill(part.Pid, syscall.SIGSTOP), "pause %s", name)
	resume = sync.OnceFunc(func() { must(syscall.Kill(part.Pid, syscall.SIGCONT), "resume %s", name) })
	DeferCleanup(resume)
	return resume
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/prometheus/procfs"
)

// Memory is what a process holds, in bytes.
type Memory struct {
	// Resident is VmRSS: all pages in memory, including those of the program's file.
	Resident int64
	// Peak is VmHWM: the maximum of Resident so far.
	Peak int64
	// Anonymous is RssAnon: Resident without the pages of files, which the kernel can drop.
	Anonymous int64
}

// MemoryOf reads the memory of a process.
func MemoryOf(pid int) (Memory, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return Memory{}, err
	}
	s, err := p.NewStatus()
	if err != nil {
		return Memory{}, err
	}
	if s.VmRSS == 0 || s.VmHWM == 0 || s.RssAnon == 0 {
		return Memory{}, fmt.Errorf("process %d has no memory: has it ended?", pid)
	}
	return Memory{Resident: int64(s.VmRSS), Peak: int64(s.VmHWM), Anonymous: int64(s.RssAnon)}, nil
}

// Child returns the PID of the child of this process that runs a program.
func Child(program string) (int, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return 0, err
	}
	for _, p := range all {
		stat, err := p.Stat()
		if err != nil || stat.PPID != os.Getpid() {
			continue // another process, or one that has ended
		}
		if path, err := p.Executable(); err == nil && filepath.Base(path) == program {
			return p.PID, nil
		}
	}
	return 0, fmt.Errorf("no child of this process runs %s", program)
}

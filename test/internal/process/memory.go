// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Memory is what a process holds, in bytes.
type Memory struct {
	// Resident is VmRSS: all pages in memory, those of the program's file too.
	Resident int64
	// Peak is VmHWM: the most that Resident ever was.
	Peak int64
	// Anonymous is RssAnon: Resident without the pages of files, which the kernel can drop.
	Anonymous int64
}

// MemoryOf reads /proc/<pid>/status.
func MemoryOf(pid int) (Memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Memory{}, err
	}
	return parseStatus(string(text))
}

func parseStatus(text string) (Memory, error) {
	var m Memory
	wanted := map[string]*int64{"VmRSS": &m.Resident, "VmHWM": &m.Peak, "RssAnon": &m.Anonymous}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		into, ok := wanted[name]
		if !ok {
			continue
		}
		number, isKB := strings.CutSuffix(strings.TrimSpace(value), " kB")
		kB, err := strconv.ParseInt(number, 10, 64)
		if !isKB || err != nil {
			return Memory{}, fmt.Errorf("/proc/<pid>/status: line %q is not in kB", strings.TrimSpace(line))
		}
		*into = kB << 10
		delete(wanted, name)
	}
	for name := range wanted {
		return Memory{}, fmt.Errorf("/proc/<pid>/status has no %s: has the process ended?", name)
	}
	return m, nil
}

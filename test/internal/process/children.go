// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Child finds the child of this process that runs a program of some name.
func Child(program string) (int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended since
		}
		pid, parent, ok := parseStat(string(text))
		if !ok || parent != os.Getpid() {
			continue
		}
		if path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && filepath.Base(path) == program {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("no child of this process runs %s", program)
}

// parseStat copes with names that contain spaces and parentheses.
func parseStat(text string) (pid, parent int, ok bool) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return 0, 0, false
	}
	rest := strings.Fields(text[end+1:])
	if len(rest) < 2 {
		return 0, 0, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(text[:open]))
	if err != nil {
		return 0, 0, false
	}
	parent, err = strconv.Atoi(rest[1])
	return pid, parent, err == nil
}

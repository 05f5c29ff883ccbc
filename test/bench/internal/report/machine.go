// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// Machine is the machine that the figures were measured on, and the commit of the sources.
type Machine struct {
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	// Memory is in bytes.
	Memory int64  `json:"memory"`
	Go     string `json:"go"`
	Commit string `json:"commit"`
	Day    string `json:"day"`
	// Load is the average number of runnable threads in the minute before the run. A high load means that the
	// machine was busy with other work.
	Load string `json:"load"`
}

// ThisMachine describes this machine. Unknown fields are empty.
func ThisMachine() Machine {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version(), Commit: commit()}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.CPU = field(string(text), "model name")
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		kB, _ := strconv.ParseInt(strings.TrimSuffix(field(string(text), "MemTotal"), " kB"), 10, 64)
		m.Memory = kB << 10
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(text), " ")
	}
	return m
}

func field(text, name string) string {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// commit returns the commit, and whether the product has uncommitted changes.
func commit() string {
	out, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return ""
	}
	name := strings.TrimSpace(string(out))
	changes, err := exec.Command("git", "status", "--porcelain", "--", "api", "cmd", "internal", "config", "go.mod").Output()
	if err == nil && len(changes) > 0 {
		name += " with changes"
	}
	return name
}

func (m Machine) String() string {
	text := fmt.Sprintf("%d cores", m.Cores)
	if m.CPU != "" {
		text += " of " + m.CPU
	}
	if m.Memory > 0 {
		text += fmt.Sprintf(", %.0f GiB", float64(m.Memory)/(1<<30))
	}
	text += ", " + m.Go
	if m.Commit != "" {
		text += ", commit " + m.Commit
	}
	if m.Day != "" {
		text += ", " + m.Day
	}
	if m.Load != "" {
		text += ", load " + m.Load + " before it began"
	}
	return text
}

//go:build !linux

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
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// There is no parent-death signal here: the janitor alone cleans up after a
// SIGKILL.
func sessionAttr(bool, uintptr) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// GroupAttr puts a command in a process group of its own.
func GroupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// ChildAttr keeps a command in our process group.
func ChildAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// SessionAttr puts a command in a session of its own, which outlives us.
func SessionAttr() *syscall.SysProcAttr { return sessionAttr(false, 0) }

func identity(pid int) (id string, running bool) {
	out, err := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return "", false
	}
	state, started, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	return strings.TrimSpace(started), state != "" && !strings.HasPrefix(state, "Z")
}

// CommandName is the name of a running program, without its folder.
func CommandName(pid int) string {
	out, _ := exec.Command("ps", "-o", "comm=", "-p", strconv.Itoa(pid)).Output()
	return filepath.Base(strings.TrimSpace(string(out)))
}

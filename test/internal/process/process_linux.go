// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"
)

// CPU returns the time that all threads of a process, also ended ones, have spent on a CPU, in user
// and kernel mode. It is the process's CPU-time clock (clock_getcpuclockid): the sum that
// /proc/<pid>/stat shows in hundredths of a second, but to the nanosecond.
func CPU(pid int) (time.Duration, error) {
	const perProcess = 2 // CPUCLOCK_SCHED, for the whole process
	clock := int32(^pid)<<3 | perProcess
	var t syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&t)), 0)
	if errno != 0 {
		return 0, fmt.Errorf("read the CPU time of process %d: %w", pid, errno)
	}
	return time.Duration(t.Nano()), nil
}

// DieWithParent kills a child when this process ends, however it ends.
func DieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

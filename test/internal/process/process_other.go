//go:build !linux

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"syscall"
	"time"
)

// CPU is measured on Linux only.
func CPU(int) (time.Duration, error) {
	return 0, errors.New("the CPU time of another process is read on Linux only: run the benchmarks there")
}

// DieWithParent is for Linux only.
func DieWithParent() *syscall.SysProcAttr { return nil }

// DieWithThisParent is for Linux only.
func DieWithThisParent() error { return nil }

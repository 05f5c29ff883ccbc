//go:build !linux

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"syscall"
	"time"
)

// CPU works on Linux only.
func CPU(int) (time.Duration, error) {
	return 0, errors.New("the CPU time of another process can be read on Linux only")
}

// DieWithParent works on Linux only.
func DieWithParent() *syscall.SysProcAttr { return nil }

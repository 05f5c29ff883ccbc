//go:build !linux

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }

//go:build !linux

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package child ties child processes to this one, where the kernel allows it.
package child

import "syscall"

// Attr does nothing.
func Attr(a syscall.SysProcAttr) *syscall.SysProcAttr { return &a }

// Namespaced is not used: only Linux has namespaces.
func Namespaced() *syscall.SysProcAttr { return nil }

//go:build !linux

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"os/exec"
)

var errNotLinux = errors.New("a node needs Linux")

// Check returns an error: a node needs Linux.
func Check(string) error { return errNotLinux }

// Setup returns an error: a node needs Linux.
func Setup(string) error { return errNotLinux }

// RunInit returns an error: a node needs Linux.
func RunInit(*exec.Cmd) error { return errNotLinux }

// RemoveCgroup does nothing.
func RemoveCgroup(string) error { return nil }

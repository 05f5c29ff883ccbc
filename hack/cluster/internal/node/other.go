//go:build !linux

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"io"
	"os/exec"
)

// Namespaces has no meaning.
const Namespaces = 0

var errNotLinux = errors.New("a node needs Linux")

// AddSbinToPath has nothing to do.
func AddSbinToPath() error { return nil }

// Install has nothing to do.
func Install(context.Context, io.Writer) error { return nil }

// Check says that no node can run here.
func Check(string, *exec.Cmd) error { return errNotLinux }

// TrySetup says that no node can run here.
func TrySetup(string) error { return errNotLinux }

// Setup says that no node can run here.
func Setup(string) error { return errNotLinux }

// First says that no node can run here.
func RunInit(*exec.Cmd, ...io.Closer) error { return errNotLinux }

// RemoveCgroup has nothing to do.
func RemoveCgroup(string) error { return nil }

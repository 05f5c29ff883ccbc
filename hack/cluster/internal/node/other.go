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

// AdminPath has nothing to do.
func AdminPath() error { return nil }

// Install has nothing to do.
func Install(context.Context, io.Writer) error { return nil }

// Check says that no node can run here.
func Check(string, *exec.Cmd) error { return errNotLinux }

// Trial says that no node can run here.
func Trial(string) error { return errNotLinux }

// Enter says that no node can run here.
func Enter(string) error { return errNotLinux }

// First says that no node can run here.
func First(*exec.Cmd, ...io.Closer) error { return errNotLinux }

// RemoveCgroup has nothing to do.
func RemoveCgroup(string) error { return nil }

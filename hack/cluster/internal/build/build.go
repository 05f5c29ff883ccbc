// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/filelock"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/progress"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// Output is where progress is written.
type Output struct {
	W        io.Writer
	Terminal bool
}

// Ensure builds the missing components. Of two concurrent runs, the second waits
// for the first and then finds everything in the cache.
func (c *Cache) Ensure(ctx context.Context, components []recipe.Component, out Output) error {
	if len(c.Missing(components)) == 0 {
		return nil
	}
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("go is not in PATH; it is needed to build the cluster's programs")
	}
	if err := os.MkdirAll(c.Root, 0o755); err != nil {
		return err
	}
	path := filepath.Join(c.Root, "build.lock")
	release, err := filelock.Acquire(ctx, path, func() {
		_, _ = fmt.Fprintf(out.W, "waiting for another build (it holds %s)\n", path)
	})
	if err != nil {
		return err
	}
	defer release()
	c.removeLeftovers()
	if err := c.installPrebuilt(ctx, c.Missing(components), out.W); err != nil {
		return err
	}
	return c.compileAll(ctx, components, out)
}

// compileAll compiles one component at a time, because go itself uses all cores.
func (c *Cache) compileAll(ctx context.Context, components []recipe.Component, out Output) error {
	names := make([]string, len(components))
	for i, component := range components {
		names[i] = component.Name
	}
	report := progress.New(out.W, out.Terminal, names)
	for _, component := range components {
		step := report.Step(component.Name, "building")
		if c.Has(component) {
			step.Cached()
			continue
		}
		if err := c.compile(ctx, component); err != nil {
			if ctx.Err() != nil {
				step.Done("interrupted after")
				return ctx.Err()
			}
			step.Done("failed after")
			return fmt.Errorf("build %s: %w", component.Name, err)
		}
		step.Done("ok")
	}
	return nil
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package build compiles the components of a local cluster into a cache.
package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/progress"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// EnvCache is the environment variable that overrides the cache folder.
const EnvCache = "SNAPSCHED_CACHE"

// CacheDir returns the cache folder. Its contents can be rebuilt at any time.
func CacheDir() (string, error) {
	if dir := os.Getenv(EnvCache); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder (set %s): %w", EnvCache, err)
	}
	return filepath.Join(dir, "snapshotschedule"), nil
}

// Cache is the part of the cache folder that belongs to one set of versions.
type Cache struct {
	Root     string
	Versions recipe.Versions
}

// OpenCache returns the cache of some versions. It creates nothing.
func OpenCache(v recipe.Versions) (*Cache, error) {
	root, err := CacheDir()
	return &Cache{Root: filepath.Join(root, v.Hash(runtime.GOOS, runtime.GOARCH)), Versions: v}, err
}

// Bin returns the folder of the programs and the CRDs. KUBEBUILDER_ASSETS can be set to it.
func (c *Cache) Bin() string { return filepath.Join(c.Root, "bin") }

// has returns whether a component is in the cache. It is complete then, because it is renamed into place.
func (c *Cache) has(component recipe.Component) bool {
	_, err := os.Stat(filepath.Join(c.Bin(), recipe.File(component.Name)))
	return err == nil
}

func (c *Cache) missing(components []recipe.Component) []recipe.Component {
	return slices.DeleteFunc(slices.Clone(components), c.has)
}

// Ensure builds the missing components. Of two concurrent runs, the second waits for the first and then finds everything
// in the cache.
func (c *Cache) Ensure(ctx context.Context, components []recipe.Component, out io.Writer) error {
	if len(c.missing(components)) == 0 {
		return nil
	}
	if err := os.MkdirAll(c.Bin(), 0o755); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(c.Root, "build.lock"))
	locked, err := lock.TryLock()
	if err == nil && !locked {
		_, _ = fmt.Fprintf(out, "waiting for another build (it holds %s)\n", lock.Path())
		_, err = lock.TryLockContext(ctx, 100*time.Millisecond)
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	missing := c.missing(components)
	var steps []progress.Step
	for len(missing) > 0 { // one build graph at a time, because go itself uses all cores
		var graph []recipe.Component
		module := missing[0].Module
		missing = slices.DeleteFunc(missing, func(m recipe.Component) bool {
			if m.Module == module {
				graph = append(graph, m)
			}
			return m.Module == module
		})
		name := graph[0].Name
		if len(graph) > 1 {
			name += fmt.Sprintf(" and %d more", len(graph)-1)
		}
		steps = append(steps, progress.Step{Name: name, Do: func(report func(string)) error {
			if err := c.build(ctx, graph, report); err != nil {
				return fmt.Errorf("build %s: %w", name, err)
			}
			return nil
		}})
	}
	return progress.Run(out, steps)
}

// install creates files or folders elsewhere, by the names of components, and renames them, so that an interrupted build leaves
// nothing that looks complete.
func (c *Cache) install(components []recipe.Component, create func(folder string) error) error {
	unfinished := filepath.Join(c.Root, "unfinished")
	if err := errors.Join(os.RemoveAll(unfinished), os.Mkdir(unfinished, 0o755), create(unfinished)); err != nil {
		return err
	}
	for _, m := range components {
		if err := os.Rename(filepath.Join(unfinished, m.Program()), filepath.Join(c.Bin(), recipe.File(m.Name))); err != nil {
			return err
		}
	}
	return nil
}

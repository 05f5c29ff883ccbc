// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package build compiles the components of a local cluster into a cache.
package build

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

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
	if err != nil {
		return nil, err
	}
	return &Cache{Root: filepath.Join(root, v.Hash(runtime.GOOS, runtime.GOARCH)), Versions: v}, nil
}

// Bin returns the folder of the programs and the CRDs. KUBEBUILDER_ASSETS can be
// set to it.
func (c *Cache) Bin() string { return filepath.Join(c.Root, "bin") }

// Src returns the folder of a generated build module and its build logs.
func (c *Cache) Src(module string) string { return filepath.Join(c.Root, "src", module) }

// Has returns whether a component is in the cache. A component in the cache is
// complete, because it is renamed into place.
func (c *Cache) Has(component recipe.Component) bool {
	_, err := os.Stat(filepath.Join(c.Bin(), component.Name))
	return err == nil
}

// Missing returns the components that must be built.
func (c *Cache) Missing(components []recipe.Component) []recipe.Component {
	return slices.DeleteFunc(slices.Clone(components), c.Has)
}

// install creates a file or folder under a temporary name and renames it. An
// interrupted build leaves nothing that looks complete.
func (c *Cache) install(name string, create func(path string) error) error {
	if err := os.MkdirAll(c.Bin(), 0o755); err != nil {
		return err
	}
	tmp := filepath.Join(c.Bin(), fmt.Sprintf(".%s.%d.tmp", name, os.Getpid()))
	defer os.RemoveAll(tmp)
	if err := create(tmp); err != nil {
		return err
	}
	err := os.Rename(tmp, filepath.Join(c.Bin(), name))
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}

// removeLeftovers removes the temporary files of interrupted builds. The caller
// holds the lock.
func (c *Cache) removeLeftovers() {
	left, _ := filepath.Glob(filepath.Join(c.Bin(), ".*.tmp"))
	for _, path := range left {
		_ = os.RemoveAll(path)
	}
}

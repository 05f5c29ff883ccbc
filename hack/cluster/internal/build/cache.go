// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package build makes the programs of a local cluster once and keeps them.
package build

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// EnvCache names the variable that moves the cache folder.
const EnvCache = "SNAPSCHED_CACHE"

// CacheDir is where everything is kept that can be made again.
func CacheDir() (string, error) {
	if dir := os.Getenv(EnvCache); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder (set %s): %w", EnvCache, err)
	}
	return filepath.Join(dir, "snapshotschedule"), nil
}

// Cache is the folder of one recipe.
type Cache struct {
	Root     string
	Versions recipe.Versions
}

// OpenCache gives the folder of the current recipe. Nothing is created yet.
func OpenCache() (*Cache, error) {
	root, err := CacheDir()
	if err != nil {
		return nil, err
	}
	v := recipe.Current()
	return &Cache{Root: filepath.Join(root, v.Hash(runtime.GOOS, runtime.GOARCH)), Versions: v}, nil
}

// Bin holds the programs and the crds folder; it serves as KUBEBUILDER_ASSETS.
func (c *Cache) Bin() string { return filepath.Join(c.Root, "bin") }

// Src holds the generated build modules and the logs of their builds.
func (c *Cache) Src(module string) string { return filepath.Join(c.Root, "src", module) }

// Has tells whether a part is there. Since parts are renamed into place, one
// that is there is whole.
func (c *Cache) Has(p recipe.Component) bool {
	_, err := os.Stat(filepath.Join(c.Bin(), p.Name))
	return err == nil
}

// Missing are the parts that have to be made.
func (c *Cache) Missing(parts []recipe.Component) []recipe.Component {
	var out []recipe.Component
	for _, p := range parts {
		if !c.Has(p) {
			out = append(out, p)
		}
	}
	return out
}

// install makes a file or folder under a temporary name and renames it, so
// that an interrupted build leaves nothing that looks finished.
func (c *Cache) install(name string, makeAt func(path string) error) error {
	if err := os.MkdirAll(c.Bin(), 0o755); err != nil {
		return err
	}
	tmp := filepath.Join(c.Bin(), fmt.Sprintf(".%s.%d.tmp", name, os.Getpid()))
	defer os.RemoveAll(tmp)
	if err := makeAt(tmp); err != nil {
		return err
	}
	err := os.Rename(tmp, filepath.Join(c.Bin(), name))
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}

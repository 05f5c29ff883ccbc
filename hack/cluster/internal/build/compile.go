// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// compile builds one component and installs it.
func (c *Cache) compile(ctx context.Context, component recipe.Component) error {
	if component.Name == recipe.CRDs {
		return c.copyCRDs(ctx)
	}
	src := c.Src(component.Module)
	if err := c.generateModule(ctx, component.Module, src); err != nil {
		return err
	}
	return c.install(component.Name, func(path string) error {
		return runGo(ctx, src, filepath.Join(src, component.Name+".log"),
			"build", "-tags", component.Tags, "-ldflags", c.Versions.LDFlags(component), "-o", path, component.Package)
	})
}

// generateModule writes a build module unless it exists.
func (c *Cache) generateModule(ctx context.Context, module, src string) error {
	gomod := filepath.Join(src, "go.mod")
	if _, err := os.Stat(gomod); err == nil {
		return nil
	}
	if err := os.MkdirAll(src, 0o755); err != nil {
		return err
	}
	kubernetes := ""
	if module == "kubernetes" {
		dir, err := download(ctx, c.Root, c.Versions.KubernetesModule())
		if err != nil {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			return err
		}
		kubernetes = string(b)
	}
	for program, source := range recipe.GeneratedSources(module) {
		if err := writeIfMissing(filepath.Join(src, program, "main.go"), source); err != nil {
			return err
		}
	}
	text, err := c.Versions.GoMod(module, kubernetes)
	if err != nil {
		return err
	}
	return writeIfMissing(gomod, text)
}

func (c *Cache) copyCRDs(ctx context.Context) error {
	dir, err := download(ctx, c.Root, c.Versions.CRDModule())
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "config", "crd", "*snapshot.storage.k8s.io_*.yaml"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no snapshot CRDs in config/crd of %s", c.Versions.CRDModule())
	}
	return c.install(recipe.CRDs, func(path string) error {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		for _, f := range files {
			if err := copyFile(f, filepath.Join(path, filepath.Base(f)), 0o644); err != nil {
				return err
			}
		}
		return nil
	})
}

func copyFile(from, to string, mode os.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}

// writeIfMissing does not overwrite: go adds requirements to a generated go.mod, and
// resolving them again is slow.
func writeIfMissing(path, text string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// compile makes one part from modules and installs it.
func (c *Cache) compile(ctx context.Context, p recipe.Component) error {
	if p.Name == recipe.CRDs {
		return c.copyCRDs(ctx)
	}
	src := c.Src(p.Module)
	if err := c.generate(ctx, p.Module, src); err != nil {
		return err
	}
	return c.install(p.Name, func(path string) error {
		return runGo(ctx, src, filepath.Join(src, p.Name+".log"),
			"build", "-tags", p.Tags, "-ldflags", c.Versions.LDFlags(p), "-o", path, p.Package)
	})
}

// generate writes the build module of a part, once.
func (c *Cache) generate(ctx context.Context, module, src string) error {
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
		return fmt.Errorf("%s holds no snapshot CRDs in config/crd", c.Versions.CRDModule())
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

func names(parts []recipe.Component) []string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = p.Name
	}
	return out
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

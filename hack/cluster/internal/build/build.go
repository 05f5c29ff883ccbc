// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/child"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// build builds one component and installs it.
func (c *Cache) build(ctx context.Context, component recipe.Component) error {
	if component.Name == recipe.CRDs {
		return c.copyCRDs(ctx)
	}
	src := filepath.Join(c.Root, "src", component.Module)
	if err := c.generateModule(ctx, component.Module, src); err != nil {
		return err
	}
	if source, ok := recipe.Sources[component.Name]; ok {
		if err := write(filepath.Join(src, component.Name, "main.go"), []byte(source)); err != nil {
			return err
		}
	}
	return c.install(component.Name, func(path string) error {
		_, err := runGo(ctx, src, "build", "-tags", component.Tags, "-ldflags", c.Versions.LDFlags(component), "-o", path, component.Package)
		return err
	})
}

// generateModule writes a build module unless it exists: go adds requirements to it, and resolving them again is slow.
func (c *Cache) generateModule(ctx context.Context, module, src string) error {
	gomod := filepath.Join(src, "go.mod")
	if _, err := os.Stat(gomod); err == nil {
		return nil
	}
	var kubernetes []byte
	if module == "kubernetes" {
		dir, err := c.moduleDir(ctx, c.Versions.KubernetesModule())
		if err != nil {
			return err
		}
		if kubernetes, err = os.ReadFile(filepath.Join(dir, "go.mod")); err != nil {
			return err
		}
	}
	text, err := c.Versions.GoMod(module, string(kubernetes))
	if err != nil {
		return err
	}
	tmp := gomod + ".tmp" // go.mod says that the module is complete
	return errors.Join(write(tmp, []byte(text)), os.Rename(tmp, gomod))
}

func (c *Cache) copyCRDs(ctx context.Context) error {
	dir, err := c.moduleDir(ctx, c.Versions.CRDModule())
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "config", "crd", "*snapshot.storage.k8s.io_*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no snapshot CRDs in config/crd of %s", c.Versions.CRDModule())
	}
	return c.install(recipe.CRDs, func(path string) error {
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err := errors.Join(err, write(filepath.Join(path, filepath.Base(f)), text)); err != nil {
				return err
			}
		}
		return nil
	})
}

func write(path string, text []byte) error {
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o644))
}

// moduleDir downloads a module into Go's module cache and returns its folder.
func (c *Cache) moduleDir(ctx context.Context, module string) (string, error) {
	if _, err := runGo(ctx, c.Root, "mod", "download", module); err != nil {
		return "", err
	}
	dir, err := runGo(ctx, c.Root, "list", "-m", "-f", "{{.Dir}}", module)
	return strings.TrimSpace(dir), err
}

// runGo runs go, overriding what the caller may have set for other builds, and returns its output. The end of ctx
// terminates its process group, because compilers would otherwise continue for a while.
func runGo(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "GOWORK=off", "CGO_ENABLED=0",
		"GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	cmd.SysProcAttr = child.Attr(syscall.SysProcAttr{Setpgid: true})
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		err = fmt.Errorf("in %s: go %q: %w\n%s", dir, args, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.String(), err
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/child"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// build builds components of one build module with one command, and installs them.
func (c *Cache) build(ctx context.Context, components []recipe.Component, report func(string)) error {
	module := components[0].Module
	if module == "" {
		return c.install(components, func(folder string) error { return c.copyCRDs(ctx, filepath.Join(folder, recipe.CRDs), report) })
	}
	src := filepath.Join(c.Root, "src", module)
	if err := c.generateModule(ctx, module, src, report); err != nil {
		return err
	}
	flags := []string{"build", "-json", "-v", "-tags", components[0].Tags}
	var packages []string
	for _, m := range components {
		if source, ok := recipe.Sources[m.Name]; ok {
			if err := write(filepath.Join(src, m.Name, "main.go"), []byte(source)); err != nil {
				return err
			}
		}
		flags = append(flags, "-ldflags", m.Package+"="+c.Versions.LDFlags(m))
		packages = append(packages, m.Package)
	}
	list, err := runGo(ctx, src, report, append([]string{"list", "-deps", "-tags", components[0].Tags,
		"-f", `{{.ImportPath}} {{join .Imports " "}}`}, packages...)...)
	if err != nil {
		return err
	}
	progress := newPackages(list, report)
	return c.install(components, func(folder string) error {
		args := append(append(flags, "-o", folder+"/"), packages...)
		if err := runGoTo(ctx, progress, src, report, args...); err != nil {
			return fmt.Errorf("%w\n%s", err, bytes.TrimSpace(progress.output.Bytes()))
		}
		return nil
	})
}

// generateModule writes a build module unless it exists: go adds requirements to it, and resolving them again is slow.
func (c *Cache) generateModule(ctx context.Context, module, src string, report func(string)) error {
	gomod := filepath.Join(src, "go.mod")
	if _, err := os.Stat(gomod); err == nil {
		return nil
	}
	var kubernetes []byte
	if module == "kubernetes" {
		dir, err := c.moduleDir(ctx, c.Versions.KubernetesModule(), report)
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

func (c *Cache) copyCRDs(ctx context.Context, folder string, report func(string)) error {
	dir, err := c.moduleDir(ctx, c.Versions.CRDModule(), report)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "config", "crd", "*snapshot.storage.k8s.io_*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no snapshot CRDs in config/crd of %s", c.Versions.CRDModule())
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err := errors.Join(err, write(filepath.Join(folder, filepath.Base(f)), text)); err != nil {
			return err
		}
	}
	return nil
}

func write(path string, text []byte) error {
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o644))
}

// moduleDir downloads a module into Go's module cache and returns its folder.
func (c *Cache) moduleDir(ctx context.Context, module string, report func(string)) (string, error) {
	text, err := runGo(ctx, c.Root, report, "mod", "download", "-json", module)
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, text)
	}
	var downloaded struct{ Dir string }
	err = json.Unmarshal([]byte(text), &downloaded)
	return downloaded.Dir, err
}

// runGo runs go and returns its output.
func runGo(ctx context.Context, dir string, report func(string), args ...string) (string, error) {
	var stdout bytes.Buffer
	err := runGoTo(ctx, &stdout, dir, report, args...)
	return stdout.String(), err
}

// runGoTo runs go, overriding what the caller may have set for other builds. It reports go's messages, such as what it downloads. The
// end of ctx terminates its process group, because compilers would otherwise continue for a while.
func runGoTo(ctx context.Context, stdout io.Writer, dir string, report func(string), args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "GOWORK=off", "CGO_ENABLED=0",
		"GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	cmd.SysProcAttr = child.Attr(syscall.SysProcAttr{Setpgid: true})
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	stderr := messages{report: report}
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		err = fmt.Errorf("in %s: go %q: %w\n%s", dir, args, err, bytes.TrimSpace(stderr.kept.Bytes()))
	}
	return err
}

// messages reports what go writes to stderr, and keeps it.
type messages struct {
	kept   bytes.Buffer // not embedded: with its ReadFrom, nothing would call Write
	report func(string)
}

func (m *messages) Write(text []byte) (int, error) {
	m.report(string(bytes.TrimSpace(text)))
	return m.kept.Write(text)
}

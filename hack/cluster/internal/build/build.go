// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/filelock"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/progress"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// Output is where progress goes.
type Output struct {
	W        io.Writer
	Terminal bool
}

// Ensure makes what is missing of the parts. Two runs at once build once: the
// second waits for the first and finds everything there.
func (c *Cache) Ensure(ctx context.Context, parts []recipe.Component, out Output) error {
	if len(c.Missing(parts)) == 0 {
		return nil
	}
	if err := checkGo(); err != nil {
		return err
	}
	if err := os.MkdirAll(c.Root, 0o755); err != nil {
		return err
	}
	path := filepath.Join(c.Root, "build.lock")
	release, err := filelock.Acquire(ctx, path, func() {
		_, _ = fmt.Fprintf(out.W, "waiting for another build of the same (it holds %s)\n", path)
	})
	if err != nil {
		return err
	}
	defer release()
	c.sweep()
	if ready, err := c.offer(ctx, c.Missing(parts)); err != nil {
		return err
	} else if ready != "" {
		_, _ = fmt.Fprintln(out.W, ready)
	}
	return c.compileAll(ctx, parts, out)
}

// compileAll works one part after another: go itself keeps all cores busy.
func (c *Cache) compileAll(ctx context.Context, parts []recipe.Component, out Output) error {
	report := progress.New(out.W, out.Terminal, names(parts))
	for _, p := range parts {
		step := report.Step(p.Name, "building")
		if c.Has(p) {
			step.Cached()
			continue
		}
		if err := c.compile(ctx, p); err != nil {
			if ctx.Err() != nil {
				step.Done("interrupted after")
				return ctx.Err()
			}
			step.Done("failed after")
			return fmt.Errorf("build %s: %w", p.Name, err)
		}
		step.Done("ok")
	}
	return nil
}

// offer installs prebuilt binaries for the missing parts that envtest ships,
// if any can be had, and says in one line what came of it.
func (c *Cache) offer(ctx context.Context, missing []recipe.Component) (string, error) {
	var wanted []recipe.Component
	for _, p := range missing {
		if p.Envtest {
			wanted = append(wanted, p)
		}
	}
	if len(wanted) == 0 {
		return "", nil
	}
	said := ""
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		err := fromFolder(ctx, dir, c.Versions.KubernetesMinor())
		if err == nil {
			return "etcd, kube-apiserver, kubectl: taken from KUBEBUILDER_ASSETS", c.copyFrom(dir, wanted)
		}
		said = fmt.Sprintf("KUBEBUILDER_ASSETS is of no use: %v\n", err)
	}
	dir, err := c.fromSetupEnvtest(ctx)
	if err == nil {
		err = fromFolder(ctx, dir, c.Versions.KubernetesMinor())
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return said + fmt.Sprintf("no prebuilt etcd, kube-apiserver, kubectl (setup-envtest: %v); building them", err), nil
	}
	err = c.copyFrom(dir, wanted)
	// Best effort: what is left there would only be in the way.
	_ = os.RemoveAll(c.envtestStore())
	return said + "etcd, kube-apiserver, kubectl: downloaded by setup-envtest", err
}

func (c *Cache) copyFrom(dir string, parts []recipe.Component) error {
	for _, p := range parts {
		from := filepath.Join(dir, p.Name)
		if err := c.install(p.Name, func(to string) error { return copyFile(from, to, 0o755) }); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes what interrupted builds left. It is called under the lock.
func (c *Cache) sweep() {
	left, _ := filepath.Glob(filepath.Join(c.Bin(), ".*.tmp"))
	for _, path := range left {
		_ = os.RemoveAll(path)
	}
}

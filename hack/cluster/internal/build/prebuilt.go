// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

const (
	// listTimeout is short: the list shows early whether a download is possible.
	listTimeout     = 30 * time.Second
	downloadTimeout = 5 * time.Minute
)

var kubernetesVersion = regexp.MustCompile(`v(\d+\.\d+)\.\d+`)

// installPrebuilt installs prebuilt programs in place of missing components where
// it can: from KUBEBUILDER_ASSETS, or downloaded by setup-envtest.
func (c *Cache) installPrebuilt(ctx context.Context, missing []recipe.Component, out io.Writer) error {
	missing = slices.DeleteFunc(slices.Clone(missing), func(m recipe.Component) bool { return !m.Envtest })
	if len(missing) == 0 {
		return nil
	}
	const programs = "etcd, kube-apiserver, kubectl"
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		err := c.checkPrebuilt(ctx, dir)
		if err == nil {
			_, _ = fmt.Fprintln(out, programs+": copied from KUBEBUILDER_ASSETS")
			return c.copyFrom(dir, missing)
		}
		_, _ = fmt.Fprintf(out, "KUBEBUILDER_ASSETS is ignored: %v\n", err)
	}
	dir, err := c.downloadPrebuilt(ctx)
	if err == nil {
		err = c.checkPrebuilt(ctx, dir)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		_, _ = fmt.Fprintf(out, programs+": building them, because setup-envtest failed: %v\n", err)
		return nil
	}
	_, _ = fmt.Fprintln(out, programs+": downloaded by setup-envtest")
	defer os.RemoveAll(c.envtestStore())
	return c.copyFrom(dir, missing)
}

// checkPrebuilt returns an error unless the folder has etcd, kube-apiserver and
// kubectl of the right minor version.
func (c *Cache) checkPrebuilt(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := os.Stat(filepath.Join(dir, recipe.Etcd)); err != nil {
		return err
	}
	for _, command := range [][]string{{recipe.KubeAPIServer, "--version"}, {recipe.Kubectl, "version", "--client"}} {
		out, err := exec.CommandContext(ctx, filepath.Join(dir, command[0]), command[1:]...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("run its %s: %w", command[0], err)
		}
		m, want := kubernetesVersion.FindSubmatch(out), c.Versions.KubernetesMinor()
		if m == nil || string(m[1]) != want {
			line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
			return fmt.Errorf("its %s is %s, not %s", command[0], line, want)
		}
	}
	return nil
}

func (c *Cache) copyFrom(dir string, components []recipe.Component) error {
	for _, component := range components {
		from := filepath.Join(dir, component.Name)
		if err := c.install(component.Name, func(to string) error { return copyFile(from, to, 0o755) }); err != nil {
			return err
		}
	}
	return nil
}

// envtestStore is the folder to which setup-envtest downloads.
func (c *Cache) envtestStore() string { return filepath.Join(c.Root, "envtest") }

// downloadPrebuilt downloads the programs with setup-envtest and returns their
// folder.
func (c *Cache) downloadPrebuilt(ctx context.Context) (string, error) {
	store, version := c.envtestStore(), c.Versions.KubernetesMinor()+".x"
	list, err := setupEnvtest(ctx, listTimeout, "list", "--bin-dir", store, version)
	if err != nil {
		return "", err
	}
	if list == "" {
		return "", fmt.Errorf("no version %s", version)
	}
	return setupEnvtest(ctx, downloadTimeout, "use", "--bin-dir", store, "-p", "path", version)
}

func setupEnvtest(ctx context.Context, timeout time.Duration, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := goCommand(ctx, os.TempDir(), append([]string{"run", recipe.SetupEnvtest}, args...)...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := run(cmd)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "", fmt.Errorf("timed out after %s", timeout)
	}
	if err != nil {
		return "", errors.New(lastCause(stderr.String(), err))
	}
	return strings.TrimSpace(out.String()), nil
}

// lastCause shortens setup-envtest's output to the innermost error: the rest is
// wrapping and a URL.
func lastCause(stderr string, err error) string {
	for line := range strings.SplitSeq(stderr, "\n") {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "go: downloading") {
			return strings.TrimSpace(line[strings.LastIndex(line, ": ")+1:])
		}
	}
	return err.Error()
}

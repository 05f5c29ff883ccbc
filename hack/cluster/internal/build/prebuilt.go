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
	"regexp"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// How long to wait for the index of prebuilt binaries, which tells whether
// they can be had at all, and for the download itself.
const (
	indexTimeout    = 30 * time.Second
	downloadTimeout = 5 * time.Minute
)

var kubernetesVersion = regexp.MustCompile(`v(\d+\.\d+)\.\d+`)

// fromFolder gives the folder if it holds etcd, kube-apiserver and kubectl of
// the right minor version.
func fromFolder(ctx context.Context, dir, minor string) error {
	for _, p := range recipe.Components() {
		if !p.Envtest {
			continue
		}
		path := filepath.Join(dir, p.Name)
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("no %s in it", p.Name)
		}
		if p.Name == recipe.Etcd {
			continue
		}
		args := []string{"--version"}
		if p.Name == recipe.Kubectl {
			args = []string{"version", "--client"}
		}
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
		cancel()
		if err != nil {
			return fmt.Errorf("its %s does not run: %w", p.Name, err)
		}
		m := kubernetesVersion.FindSubmatch(out)
		if m == nil || string(m[1]) != minor {
			return fmt.Errorf("its %s is %s, not %s", p.Name, firstLine(string(out)), minor)
		}
	}
	return nil
}

// envtestStore is where setup-envtest unpacks what it downloads.
func (c *Cache) envtestStore() string { return filepath.Join(c.Root, "envtest") }

// fromSetupEnvtest downloads the binaries with setup-envtest and gives their
// folder. No network is the usual reason why it can't, and is found out fast.
func (c *Cache) fromSetupEnvtest(ctx context.Context) (string, error) {
	store, version := c.envtestStore(), c.Versions.KubernetesMinor()+".x"
	list, err := setupEnvtest(ctx, indexTimeout, "list", "--bin-dir", store, version)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(list) == "" {
		return "", fmt.Errorf("setup-envtest has no %s", version)
	}
	dir, err := setupEnvtest(ctx, downloadTimeout, "use", "--bin-dir", store, "-p", "path", version)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(dir), nil
}

func setupEnvtest(ctx context.Context, timeout time.Duration, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := goCommand(ctx, os.TempDir(), append([]string{"run", recipe.SetupEnvtest}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := run(cmd)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "", fmt.Errorf("no answer in %s", timeout)
	}
	if err != nil {
		return "", errors.New(reason(errs.String(), err))
	}
	return out.String(), nil
}

// reason shortens what setup-envtest said to the last part of its error: the
// rest is wrapping and a web address.
func reason(stderr string, err error) string {
	for line := range strings.SplitSeq(stderr, "\n") {
		if strings.HasPrefix(line, "go: downloading") || strings.TrimSpace(line) == "" {
			continue
		}
		if i := strings.LastIndex(line, ": "); i >= 0 {
			return strings.TrimSpace(line[i+2:])
		}
		return line
	}
	return err.Error()
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/logtail"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/proc"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/shell"
)

// goEnv returns the environment of every go command. It overrides what the caller
// may have set for other builds.
func goEnv() []string {
	return append(os.Environ(),
		"GOFLAGS=-mod=mod -buildvcs=false", "GOWORK=off", "CGO_ENABLED=0",
		"GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
}

// goCommand returns a go command. The end of ctx terminates its process group,
// because compilers would otherwise continue for a while.
func goCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, goEnv()
	cmd.SysProcAttr = proc.GroupAttr()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

func run(cmd *exec.Cmd) error {
	if err := proc.StartOnLastingThread(cmd); err != nil {
		return err
	}
	return cmd.Wait()
}

// runGo runs go with its output in a log file, and quotes its end in the error.
func runGo(ctx context.Context, dir, log string, args ...string) error {
	f, err := os.Create(log)
	if err != nil {
		return err
	}
	defer f.Close()
	cmd := goCommand(ctx, dir, args...)
	cmd.Stdout, cmd.Stderr = f, f
	if err := run(cmd); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w\n  command: cd %s && GOFLAGS=-mod=mod GOWORK=off CGO_ENABLED=0 go %s%s",
			err, shell.Quote(dir), shell.Quote(args...), logtail.Quote(log, 30))
	}
	return nil
}

// download downloads a module into Go's module cache and returns its folder.
func download(ctx context.Context, dir, module string) (string, error) {
	cmd := goCommand(ctx, dir, "mod", "download", "-json", module)
	var out, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := run(cmd)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	var m struct{ Dir, Error string }
	if jsonErr := json.Unmarshal([]byte(out.String()), &m); jsonErr == nil && m.Error != "" {
		return "", fmt.Errorf("download %s: %s", module, m.Error)
	}
	if err != nil {
		return "", fmt.Errorf("download %s: %w\n%s", module, err, strings.TrimSpace(stderr.String()))
	}
	if m.Dir == "" {
		return "", fmt.Errorf("download %s: go printed no folder", module)
	}
	return m.Dir, nil
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/proc"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/logtail"
)

// goEnv is the environment of every go command: nothing that the caller set
// for his own builds may change what is built here.
func goEnv() []string {
	return append(os.Environ(),
		"GOFLAGS=-mod=mod -buildvcs=false", "GOWORK=off", "CGO_ENABLED=0",
		"GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
}

// goCommand prepares go in dir. When ctx ends the whole process group goes,
// as go's compilers would else work on for a while.
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

// runGo runs go with its output in a log file, whose end is the error.
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
		return fmt.Errorf("%w\n  command: cd %s && GOFLAGS=-mod=mod GOWORK=off CGO_ENABLED=0 go %s\n  the last lines of %s:\n%s",
			err, dir, quote(args), log, logtail.Indented(log, 30))
	}
	return nil
}

func quote(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a
		if strings.ContainsAny(a, " $'\"") {
			out[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// download gets a module into Go's module cache and gives its folder there.
func download(ctx context.Context, dir, module string) (string, error) {
	cmd := goCommand(ctx, dir, "mod", "download", "-json", module)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := run(cmd)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	var m struct{ Dir, Error string }
	if jsonErr := json.Unmarshal([]byte(out.String()), &m); jsonErr == nil && m.Error != "" {
		return "", fmt.Errorf("download %s: %s", module, m.Error)
	}
	if err != nil {
		return "", fmt.Errorf("download %s: %w\n%s", module, err, strings.TrimSpace(errs.String()))
	}
	if m.Dir == "" {
		return "", fmt.Errorf("download %s: go named no folder", module)
	}
	return m.Dir, nil
}

// checkGo fails early and plainly.
func checkGo() error {
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("go is not in PATH; it is needed to build the cluster's programs")
	}
	return nil
}

// writeIfMissing leaves a file that is there alone: go adds to the generated go.mod,
// and starting over each time would cost a resolution.
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

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
)

func TestShellQuote(t *testing.T) {
	for in, want := range map[string]string{
		"/a/b-c.d":  "/a/b-c.d",
		"/a b":      "'/a b'",
		"it's":      `'it'\''s'`,
		"":          "''",
		"$(rm -rf)": "'$(rm -rf)'",
	} {
		if got := shellQuote(in); got != want {
			t.Errorf("shellQuote(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestPrependPutsAFolderFirstOnce(t *testing.T) {
	if got := prepend("/b", "/a:/b:/c"); got != "/b:/a:/c" {
		t.Errorf("got %s", got)
	}
}

func TestRelativePathsStartAtTheRepository(t *testing.T) {
	// Tests run in this module's own folder, as "go -C hack/cluster run ." does.
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	got, err := resolve("x")
	if want := filepath.Join(wd, "..", "..", "x"); err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	if got, err := resolve("x"); err != nil || got != filepath.Join(dir, "x") {
		t.Errorf("elsewhere got %s, %v", got, err)
	}
	if got, _ := resolve("/x/../y"); got != "/y" {
		t.Errorf("absolute got %s", got)
	}
}

func TestExitCodesAreTheCommands(t *testing.T) {
	for script, want := range map[string]int{"exit 7": 7, "kill -TERM $$": 128 + int(syscall.SIGTERM)} {
		var code exitError
		if err := commandResult(exec.Command("sh", "-c", script).Run()); !errors.As(err, &code) || int(code) != want {
			t.Errorf("%s: %v, want %d", script, err, want)
		}
	}
	if err := commandResult(nil); err != nil {
		t.Error(err)
	}
	if got := run([]string{"no-such-verb"}); got != 1 {
		t.Errorf("an unknown verb exits with %d", got)
	}
	if got := run([]string{"status", "--dir", t.TempDir()}); got != 1 {
		t.Errorf("status without a cluster exits with %d", got)
	}
}

func TestRunWantsItsDashes(t *testing.T) {
	if got := run([]string{"run", "kubectl", "get", "ns"}); got != 1 {
		t.Errorf("exit code %d", got)
	}
}

func TestTableShowsWhatIsWrong(t *testing.T) {
	out := &strings.Builder{}
	err := writeTable(out, cluster.Report{Dir: "/d", Parts: []cluster.PartReport{
		{Name: "etcd", Pid: 12, Port: 2379, State: cluster.Healthy, Uptime: "3s"},
		{Name: "mock-csi", Pid: 13, State: cluster.Stopped},
	}})
	want := `PART       PID   PORT   STATE     UPTIME
etcd       12    2379   healthy   3s
mock-csi   13    -      stopped   -

Not healthy: mock-csi stopped. Logs are in /d/logs.
`
	if err != nil || out.String() != want {
		t.Errorf("err %v, got\n%s", err, out)
	}
}

func TestKeepLogs(t *testing.T) {
	d, to := cluster.Dir(t.TempDir()), filepath.Join(t.TempDir(), "kept")
	for _, path := range []string{d.Log("etcd"), d.Audit()} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(envKeepLogs, to)
	if err := keepLogs(d); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"etcd.log", "audit.log"} {
		if _, err := os.Stat(filepath.Join(to, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestJanitorSweepsOnlyWhenItsMasterDied(t *testing.T) {
	dir := t.TempDir()
	if err := waitAndSweep(strings.NewReader("0\n"+dismissed+"\n"), cluster.Dir(dir), true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error("a dismissed janitor must touch nothing")
	}

	child := exec.Command("sh", "-c", "sleep 60 & wait")
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	pipe, master := io.Pipe()
	swept := make(chan error, 1)
	go func() { swept <- waitAndSweep(pipe, cluster.Dir(dir), true) }()
	(&janitor{pipe: master}).watchGroup(child.Process.Pid)
	_ = master.Close()
	if err := <-swept; err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = child.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("the command outlived the run")
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("the folder should be gone")
	}
}

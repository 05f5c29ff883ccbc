// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// start runs a shell script as a component is run.
func start(t *testing.T, script string) (*Process, string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	p, err := Start(Command{Name: "test", Path: "/bin/sh", Args: []string{"-c", script}, Log: log, DieWithParent: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop(0) })
	return p, log
}

func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatal("timed out waiting for ", what)
}

func logContains(path, text string) func() bool {
	return func() bool {
		b, _ := os.ReadFile(path)
		return strings.Contains(string(b), text)
	}
}

func TestStopSendsSIGTERMThenSIGKILL(t *testing.T) {
	graceful, log := start(t, `trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done`)
	waitFor(t, "up", logContains(log, "up"))
	if err := graceful.Stop(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	<-graceful.Done
	if !logContains(log, "bye")() {
		t.Error("it did not receive SIGTERM")
	}

	stubborn, log := start(t, `trap '' TERM; echo up; while :; do sleep 0.01; done`)
	waitFor(t, "up", logContains(log, "up"))
	if err := stubborn.Stop(50 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	<-stubborn.Done
	if stubborn.Alive() {
		t.Error("it still runs")
	}
}

func TestIdentityDetectsAReusedPid(t *testing.T) {
	p, log := start(t, `echo up; exec sleep 60`)
	waitFor(t, "up", logContains(log, "up"))
	older := Identity{Pid: p.Pid, StartTime: p.StartTime + "0"}
	if older.Alive() {
		t.Error("a process with another start time is alive")
	}
	if err := older.Stop(0); err != nil {
		t.Fatal(err)
	}
	if !p.Alive() {
		t.Error("Stop killed another process")
	}
	if (Identity{}).Alive() || (Identity{Pid: 1, StartTime: "x"}).Alive() || (Identity{Pid: p.Pid}).Alive() {
		t.Error("an incomplete identity is alive")
	}
	if !IdentityOf(os.Getpid()).Alive() {
		t.Error("this process is not alive")
	}
}

func TestZombieIsNotAlive(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ref := IdentityOf(cmd.Process.Pid)
	if !ref.Alive() {
		t.Fatal("it does not run")
	}
	_ = cmd.Process.Kill()
	// A zombie until Wait is called.
	waitFor(t, "the end of the process", func() bool { return !ref.Alive() })
	_ = cmd.Wait()
}

func TestStartDropsTheCallersEnvironment(t *testing.T) {
	t.Setenv("KUBECONFIG", "/other/cluster")
	p, log := start(t, `env`)
	<-p.Done
	if logContains(log, "KUBECONFIG")() || !logContains(log, "PATH=")() {
		b, _ := os.ReadFile(log)
		t.Errorf("environment:\n%s", b)
	}
}

func TestStartErrorNamesTheCommand(t *testing.T) {
	_, err := Start(Command{Name: "etcd", Path: "/nonexistent/etcd", Log: filepath.Join(t.TempDir(), "log")})
	if err == nil || !strings.Contains(err.Error(), "start etcd") {
		t.Errorf("err = %v", err)
	}
}

func TestCommandName(t *testing.T) {
	p, log := start(t, `echo up; exec sleep 60`)
	waitFor(t, "up", logContains(log, "up"))
	waitFor(t, "the name", func() bool { return CommandName(p.Pid) == "sleep" })
}

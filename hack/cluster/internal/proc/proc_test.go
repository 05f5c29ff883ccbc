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

// start runs a shell script as a part would be run.
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
	t.Fatal("never came: ", what)
}

func logHolds(path, text string) func() bool {
	return func() bool {
		b, _ := os.ReadFile(path)
		return strings.Contains(string(b), text)
	}
}

func TestStopAsksThenKills(t *testing.T) {
	polite, log := start(t, `trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done`)
	waitFor(t, "up", logHolds(log, "up"))
	if err := polite.Stop(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	<-polite.Done
	if !logHolds(log, "bye")() {
		t.Error("it wasn't asked to stop")
	}

	stubborn, log := start(t, `trap '' TERM; echo up; while :; do sleep 0.01; done`)
	waitFor(t, "up", logHolds(log, "up"))
	if err := stubborn.Stop(50 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	<-stubborn.Done
	if stubborn.Alive() {
		t.Error("it is still alive")
	}
}

func TestAReusedPidIsNotOurs(t *testing.T) {
	p, log := start(t, `echo up; exec sleep 60`)
	waitFor(t, "up", logHolds(log, "up"))
	older := Ref{Pid: p.Pid, Identity: p.Identity + "0"}
	if older.Alive() {
		t.Error("another start time is another process")
	}
	if err := older.Stop(0); err != nil {
		t.Fatal(err)
	}
	if !p.Alive() {
		t.Error("a process that wasn't ours was killed")
	}
	if (Ref{}).Alive() || (Ref{Pid: 1, Identity: "x"}).Alive() || (Ref{Pid: p.Pid}).Alive() {
		t.Error("a ref without a pid or an identity names nothing")
	}
	if !RefOf(os.Getpid()).Alive() {
		t.Error("this process is alive")
	}
}

func TestAZombieIsNotAlive(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ref := RefOf(cmd.Process.Pid)
	if !ref.Alive() {
		t.Fatal("it should run")
	}
	_ = cmd.Process.Kill()
	// Not waited for yet: nobody reaps it.
	waitFor(t, "its end", func() bool { return !ref.Alive() })
	_ = cmd.Wait()
}

func TestTheCallersEnvironmentStaysOut(t *testing.T) {
	t.Setenv("KUBECONFIG", "/somebody/elses/cluster")
	p, log := start(t, `env`)
	<-p.Done
	if logHolds(log, "KUBECONFIG")() || !logHolds(log, "PATH=")() {
		b, _ := os.ReadFile(log)
		t.Errorf("environment:\n%s", b)
	}
}

func TestStartSaysWhatFailed(t *testing.T) {
	_, err := Start(Command{Name: "etcd", Path: "/nonexistent/etcd", Log: filepath.Join(t.TempDir(), "log")})
	if err == nil || !strings.Contains(err.Error(), "start etcd") {
		t.Errorf("err = %v", err)
	}
}

func TestCommandName(t *testing.T) {
	p, log := start(t, `echo up; exec sleep 60`)
	waitFor(t, "up", logHolds(log, "up"))
	waitFor(t, "its name", func() bool { return CommandName(p.Pid) == "sleep" })
}

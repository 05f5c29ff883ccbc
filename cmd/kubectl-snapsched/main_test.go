// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asProgram has the test binary be the plugin.
const asProgram = "KUBECTL_SNAPSCHED_IS_THE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// program starts the plugin with a kubeconfig whose server does not exist.
func program(t *testing.T, stdin io.Reader, args ...string) (cmd *exec.Cmd, errOut *bytes.Buffer) {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(`{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {}}],
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd, errOut = exec.CommandContext(t.Context(), executable, args...), &bytes.Buffer{}
	cmd.Env = append(os.Environ(), asProgram+"=yes", "KUBECONFIG="+kubeconfig)
	cmd.Stdin, cmd.Stderr = stdin, errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, errOut
}

// end waits until the program has ended.
func end(t *testing.T, cmd *exec.Cmd) *os.ProcessState {
	t.Helper()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState
}

// Contract: CLI-8.
func TestASignalEndsAReadOfStandardInput(t *testing.T) {
	for name, signal := range map[string]os.Signal{"Ctrl-C": os.Interrupt, "SIGTERM": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stdin, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer write.Close() // the program never reads the end
			cmd, errOut := program(t, stdin, "preview", "-f", "-")
			stdin.Close()
			// More than fits into a pipe: when it is written, the program reads.
			if _, err := write.WriteString(strings.Repeat("# a comment\n", 20_000)); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if state := end(t, cmd); state.ExitCode() != 130 || errOut.String() != "error: interrupted\n" {
				t.Errorf("it ended with %s, and printed %q", state, errOut)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// blocked starts a program that reads from a named pipe, which knows no context.
func blocked(t *testing.T) (cmd *exec.Cmd, errOut *bytes.Buffer) {
	t.Helper()
	pipe := filepath.Join(t.TempDir(), "manifests.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd, errOut = program(t, nil, "preview", "-f", pipe)
	// Without O_NONBLOCK, this would wait for ever for a program that has ended.
	write, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	for began := time.Now(); errors.Is(err, syscall.ENXIO) && time.Since(began) < time.Minute; time.Sleep(10 * time.Millisecond) {
		write, err = os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	}
	if err != nil {
		t.Fatalf("the program should read the pipe: %v", err)
	}
	t.Cleanup(func() { write.Close() })
	return cmd, errOut
}

// Contract: CLI-8.
func TestASignalEndsWhatKnowsNoContext(t *testing.T) {
	t.Parallel()
	cmd, _ := blocked(t)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if state := end(t, cmd); state.ExitCode() != 130 {
		t.Errorf("it ended with %s", state)
	}
}

// Contract: CLI-8.
func TestASecondSignalKills(t *testing.T) {
	t.Parallel()
	cmd, _ := blocked(t)
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	for ended := false; !ended; { // two signals that come together may be one
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case <-done:
			ended = true
		case <-time.After(300 * time.Millisecond):
		}
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func start(t *testing.T, piped bool, script string) *Process {
	t.Helper()
	p, err := Start(t.Context(), Options{
		Name: "script", Command: []string{"sh", "-c", script}, Log: filepath.Join(t.TempDir(), "log"), Piped: piped,
	})
	if err != nil {
		t.Skip(err)
	}
	return p
}

func TestStopReturnsTheExitStatusAndTheLog(t *testing.T) {
	p := start(t, false, "echo begun >&2; trap 'echo oops >&2; exit 3' TERM; while :; do sleep 0.01; done")
	for log := ""; log == ""; log, _ = p.Log() {
		time.Sleep(time.Millisecond) // until the trap is set
	}
	time.Sleep(50 * time.Millisecond)
	if !p.Alive() {
		t.Fatal("it has ended")
	}
	err := p.Stop(time.Minute)
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "oops") || errors.Is(err, ErrTimeout) {
		t.Errorf("got %v", err)
	}
	if p.Alive() || p.Explain(errors.New("x")).Error() == "x" || p.Explain(nil) != nil {
		t.Error("the end is not explained")
	}
}

func TestStopKillsAfterTheTimeout(t *testing.T) {
	p := start(t, true, "exec sleep 600")
	if err := p.Stop(time.Millisecond); !errors.Is(err, ErrTimeout) {
		t.Errorf("got %v", err)
	}
}

func TestTailLeavesOutStackTracesAndStarts(t *testing.T) {
	p := start(t, false, `printf '%s\n' one '{"msg":"Starting Controller"}' '{"msg":"bad","stacktrace":"a\\n\\tb"}'`)
	<-p.Ended()
	if got, want := p.Tail(1), "{\"msg\":\"bad\"}\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := p.Tail(9), "one\n{\"msg\":\"bad\"}\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

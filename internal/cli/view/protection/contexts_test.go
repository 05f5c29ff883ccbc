// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package protection

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// Nobody waits for minutes without a line: each cluster is said when it was read, while others are still being read.
//
// Contract: CLI-20.
func TestEachClusterIsSaidWhenItWasRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	config := `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: a, context: {cluster: c}}, {name: b, context: {cluster: c}}, {name: slow, context: {cluster: c}}]
`
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	said := &lines{more: make(chan struct{}, 10)}
	f := &term.Factory{IOStreams: genericiooptions.IOStreams{ErrOut: said}, Config: genericclioptions.NewConfigFlags(true)}
	f.Config.KubeConfig = ptr.To(path)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := OfContexts(ctx, f, "*", func(ctx context.Context, one *term.Factory) (string, error) {
		switch *one.Config.Context {
		case "b":
			return "", errors.New("no")
		case "slow": // it goes on until the other two were said
			for range 2 {
				select {
				case <-said.more:
				case <-ctx.Done():
				}
			}
		}
		return "", nil
	}, func(string, string) {})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(said.String()), "\n")
	if len(got) != 3 || got[2] != "3 of 3 clusters: slow read" {
		t.Errorf("it says %q", got)
	}
	for _, want := range []string{": a read", ": b could not be read"} {
		if !slices.ContainsFunc(got, func(line string) bool { return strings.HasSuffix(line, want) }) {
			t.Errorf("no line %q in %q", want, got)
		}
	}
}

// lines is written to by one goroutine at a time.
type lines struct {
	bytes.Buffer
	more chan struct{}
}

func (l *lines) Write(p []byte) (int, error) {
	n, err := l.Buffer.Write(p)
	l.more <- struct{}{}
	return n, err
}

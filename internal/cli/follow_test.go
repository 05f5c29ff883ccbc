// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestWaitNamesTenPVCs(t *testing.T) {
	const names = "a, b, c, d, e, f, g, h, i, j"
	for given, want := range map[string]string{
		"a":              "Waiting for 1 PVC: a\n",
		names:            "Waiting for 10 PVCs: " + names + "\n",
		names + ", k, l": "Waiting for 12 PVCs: " + names + " and 2 more\n",
	} {
		var b bytes.Buffer
		f := &Factory{IOStreams: genericiooptions.IOStreams{ErrOut: &b}}
		f.waitingFor(strings.Split(given, ", "))
		if b.String() != want {
			t.Errorf("have %q, want %q", &b, want)
		}
	}
}

func TestWaitPrintsEachLineOnce(t *testing.T) {
	var b bytes.Buffer
	lines := told{}
	for _, line := range []string{"one", "two", "one"} {
		lines.once(&b, line)
	}
	if b.String() != "one\ntwo\n" {
		t.Errorf("have %q", &b)
	}
}

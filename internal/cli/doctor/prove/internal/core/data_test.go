// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// What a writer has written is read again, wherever it was cut.
//
// Contract: DOC-1, DOC-3.
func TestReadWhatWasWritten(t *testing.T) {
	paths := []string{t.TempDir(), t.TempDir()}
	if err := Fill("abcde", paths); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) { // the time passes between the records only
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		if err := Write(ctx, "abcde", paths); err != nil {
			t.Fatal(err)
		}
	})
	a, err := Read("abcde", paths[0])
	b, errB := Read("abcde", paths[1])
	if err != nil || errB != nil || a != b || !a.Mark || a.Records == 0 || a.Wrong != "" || a.Sum != SumOf("abcde") {
		t.Errorf("%+v, %v; %+v, %v", a, err, b, errB)
	}
}

// Contract: DOC-1.
func TestReadWhatASnapshotHolds(t *testing.T) {
	three := bytes.Join([][]byte{record("abcde", 1), record("abcde", 2), record("abcde", 3)}, nil)
	mark, zeros := record("abcde", 0), make([]byte, 100)
	with := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	flipped := with(three)
	flipped[recordSize+8] ^= 1
	for name, tc := range map[string]struct {
		journal []byte
		want    Reading
	}{
		"no journal":                     {nil, Reading{}},
		"three records":                  {three, Reading{Records: 3}},
		"half a record more":             {with(three, record("abcde", 4)[:20]), Reading{Records: 3}},
		"half a mark":                    {with(three, mark[:20]), Reading{Records: 3}},
		"zeros, which were not written":  {with(three, zeros), Reading{Records: 3}},
		"half a record, then zeros":      {with(three, record("abcde", 4)[:20], zeros), Reading{Records: 3}},
		"with the mark":                  {with(three, mark), Reading{Records: 3, Mark: true}},
		"a record that was left out":     {with(three, record("abcde", 5)), Reading{Records: 3, Wrong: "x"}},
		"a bit that was flipped":         {flipped, Reading{Records: 1, Wrong: "x"}},
		"a hole between records":         {with(three, make([]byte, recordSize), record("abcde", 5)), Reading{Records: 3, Wrong: "x"}},
		"something after the mark":       {with(three, mark, record("abcde", 4)), Reading{Records: 3, Mark: true, Wrong: "x"}},
		"the journal of another proof":   {record("fghij", 1), Reading{Wrong: "x"}},
		"other bytes in the last record": {with(three, []byte("abcde x")), Reading{Records: 3, Wrong: "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := Fill("abcde", []string{dir}); err != nil {
				t.Fatal(err)
			}
			if tc.journal != nil {
				if err := os.WriteFile(filepath.Join(dir, journalFile), tc.journal, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := Read("abcde", dir)
			if (got.Wrong == "") != (tc.want.Wrong == "") || err != nil || got.Sum != SumOf("abcde") {
				t.Errorf("%+v, %v", got, err)
			}
			if got.Wrong, got.Sum, tc.want.Wrong = "", "", ""; got != tc.want {
				t.Errorf("%+v", got)
			}
		})
	}
	if got, err := Read("abcde", t.TempDir()); err != nil || got.Wrong == "" {
		t.Errorf("an empty volume: %+v, %v", got, err)
	}
}

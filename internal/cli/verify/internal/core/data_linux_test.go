// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Any user of the application can make such files, and reading them does not end.
//
// Contract: VER-8.
func TestReadDataEnds(t *testing.T) {
	const hole = 1 << 40
	dir := t.TempDir()
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "data"), []byte("12345"), 0o600),
		os.WriteFile(filepath.Join(dir, "sparse"), []byte("678"), 0o600), os.Truncate(filepath.Join(dir, "sparse"), hole),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mknod(filepath.Join(dir, "zeros"), syscall.S_IFCHR|0o666, 1<<8|5); err != nil && !errors.Is(err, syscall.EPERM) {
		t.Fatal(err)
	}
	type result struct {
		files int
		bytes int64
		err   error
	}
	ended := make(chan result, 1)
	go func() {
		files, bytes, err := ReadData(dir)
		ended <- result{files, bytes, err}
	}()
	select {
	case r := <-ended:
		if r != (result{files: 2, bytes: hole + 5}) {
			t.Errorf("got %+v", r)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("still reads")
	}
}

func TestReadDataReadsWhatIsBehindHoles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sparse")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{1 << 20, 8 << 20} {
		if _, err := f.WriteAt([]byte("data"), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if files, n, err := ReadData(path); files != 1 || n != 8<<20+4 || err != nil {
		t.Errorf("got %d files with %d bytes, %v", files, n, err)
	}
}

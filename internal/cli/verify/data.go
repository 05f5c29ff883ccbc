// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrDenied means that data may not be read by this user, which says nothing about it.
var ErrDenied = errors.New("permission denied: run the drill as the user of the data, with --run-as-user and --fs-group")

// ReadData reads every byte of every file under a path, or of a device, and returns how many there are.
// What cannot be read is an error, and so is nothing at all.
func ReadData(path string) (files int, bytes int64, err error) {
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name == filepath.Join(path, "lost+found"):
			return fs.SkipDir // the file system's own, which only root may read
		case entry.IsDir(), entry.Type()&(fs.ModeSymlink|fs.ModeNamedPipe|fs.ModeSocket) != 0:
			return nil
		}
		n, err := read(name)
		files, bytes = files+1, bytes+n
		return err
	})
	switch {
	case errors.Is(err, fs.ErrPermission):
		return files, bytes, fmt.Errorf("%w: %w", ErrDenied, err)
	case err != nil:
		return files, bytes, err
	case files == 0 || bytes == 0:
		return files, bytes, fmt.Errorf("%s has no data", path)
	}
	return files, bytes, nil
}

func read(name string) (n int64, err error) {
	f, err := os.Open(name) //nolint:gosec // a file of the snapshot
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n, err = io.Copy(io.Discard, f)
	return n, err
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

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

// ReadData reads the data of every regular file under a path, or of the device that the path is, and returns how
// many bytes they have. What cannot be read is an error, and so is nothing at all.
//
// Holes are skipped, and device nodes and pipes below the path are not opened: any user of the application can make
// them, and reading them does not end.
func ReadData(path string) (files int, bytes int64, err error) {
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name == filepath.Join(path, "lost+found"):
			return fs.SkipDir // the file system's own, which only root may read
		case name == path && entry.Type()&fs.ModeDevice != 0:
		case !entry.Type().IsRegular():
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

// read returns the size of a file or device, holes included, once all its data was read.
func read(name string) (size int64, err error) {
	f, err := os.Open(name) //nolint:gosec // a file of the snapshot
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for {
		start, end, err := nextData(f, size)
		switch {
		case errors.Is(err, errNoData): // a hole up to the end
			return f.Seek(0, io.SeekEnd)
		case err != nil: // not a file system that knows its holes
			if _, err := f.Seek(size, io.SeekStart); err != nil {
				return size, err
			}
			n, err := io.Copy(io.Discard, f)
			return size + n, err
		}
		if _, err := f.Seek(start, io.SeekStart); err != nil {
			return size, err
		}
		n, err := io.CopyN(io.Discard, f, end-start)
		if size = start + n; err != nil {
			return size, fmt.Errorf("read %s at %d: %w", name, size, err)
		}
	}
}

// errNoData means that a file has no data from an offset on.
var errNoData = errors.New("no data")

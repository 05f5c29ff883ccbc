// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"errors"
	"os"
	"syscall"
)

// Linux's SEEK_DATA and SEEK_HOLE.
const seekData, seekHole = 3, 4

// nextData returns where the next data of a file is, at an offset or later.
func nextData(f *os.File, from int64) (start, end int64, err error) {
	start, err = f.Seek(from, seekData)
	if errors.Is(err, syscall.ENXIO) {
		return 0, 0, errNoData
	}
	if err == nil {
		end, err = f.Seek(start, seekHole)
	}
	return start, end, err
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A volume has two files: one of known bytes, that is there before the snapshot, and a journal that is written meanwhile.
const (
	baseFile, journalFile = "base", "journal"
	baseSize              = 1 << 20
	// recordSize is that of a record of the journal, its line break included. The last record of all is the mark.
	recordSize = 48
	// pace is the pause between two records: what is cut one after the other within less than two records looks like one instant.
	pace = time.Millisecond
)

// Reading is what a volume holds.
type Reading struct {
	// Sum is the SHA-256 of the known bytes.
	Sum string `json:"sum"`
	// Records is how many whole records the journal has. After them comes the mark, if Mark is set.
	Records int  `json:"records"`
	Mark    bool `json:"mark,omitempty"`
	// Wrong is what no writer has written.
	Wrong string `json:"wrong,omitempty"`
}

// block returns the known bytes at an offset, in steps of their hash's size.
func block(seed string, i int) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", seed, i))
	return sum[:]
}

// base returns the known bytes of a seed.
func base(seed string) []byte {
	all := make([]byte, 0, baseSize)
	for i := 0; len(all) < baseSize; i++ {
		all = append(all, block(seed, i)...)
	}
	return all
}

// SumOf returns the SHA-256 of the known bytes of a seed.
func SumOf(seed string) string {
	sum := sha256.Sum256(base(seed))
	return hex.EncodeToString(sum[:])
}

// record is number n of the journal; 0 is the mark.
func record(seed string, n int) []byte {
	return fmt.Appendf(nil, "%-*s\n", recordSize-1, fmt.Sprintf("%s %010d", seed, n))
}

// Fill writes the known bytes into volumes. When it returns, the storage has them.
func Fill(seed string, paths []string) error {
	for _, path := range paths {
		if err := appendTo(filepath.Join(path, baseFile), base(seed)); err != nil {
			return err
		}
	}
	return nil
}

// Write writes record after record into the journals of all volumes, each record into one volume after the other, and each is in the
// storage before the next one is written: at any instant, a volume has as many records as the one before it, or one less. When it is
// told to end, it writes a mark into all.
func Write(ctx context.Context, seed string, paths []string) error {
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			n = 0
		}
		for _, path := range paths {
			if err := appendTo(filepath.Join(path, journalFile), record(seed, n)); err != nil {
				return err
			}
		}
		if n == 0 {
			return nil
		}
		time.Sleep(pace)
	}
}

// Begun returns an error unless the first record is in all volumes.
func Begun(seed string, paths []string) error {
	last, err := Read(seed, paths[len(paths)-1])
	if err == nil && last.Records == 0 {
		err = errors.New("no record is written yet")
	}
	return err
}

// appendTo appends to a file, and returns when the storage has it.
func appendTo(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // of the volume
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// Read reads a volume. A journal without records is none that was never begun.
func Read(seed, path string) (r Reading, err error) {
	data, err := os.ReadFile(filepath.Join(path, baseFile)) //nolint:gosec // of the volume
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.Wrong = "the file that was written before is missing"
	case err != nil:
		return r, err
	}
	sum := sha256.Sum256(data)
	r.Sum = hex.EncodeToString(sum[:])
	journal, err := os.Open(filepath.Join(path, journalFile)) //nolint:gosec // of the volume
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	defer journal.Close()
	return r, r.readJournal(seed, journal)
}

// readJournal counts the records. After the last one there may be a part of the next, and zeros: it was being written.
func (r *Reading) readJournal(seed string, journal io.Reader) error {
	next := make([]byte, recordSize)
	for {
		n, err := io.ReadFull(journal, next)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		whole, mark := record(seed, r.Records+1), record(seed, 0)
		switch {
		case !r.Mark && bytes.Equal(next[:n], whole):
			r.Records++
			continue
		case !r.Mark && bytes.Equal(next[:n], mark):
			r.Mark = true
			continue
		}
		after, err := io.ReadAll(journal)
		rest := bytes.TrimRight(append(next[:n], after...), "\x00")
		if r.Wrong == "" && (r.Mark && len(rest) > 0 || !bytes.HasPrefix(whole, rest) && !bytes.HasPrefix(mark, rest)) {
			r.Wrong = fmt.Sprintf("after record %d, the journal has other bytes than were written", r.Records)
		}
		return err
	}
}

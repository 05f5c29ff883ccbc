// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"os"
	"path/filepath"
)

// Write puts the files into a folder, by path, in place of what is there. A folder that
// holds something other than a chart is left alone.
func Write(folder string, files map[string]string) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(folder, "Chart.yaml")); err != nil {
			return fmt.Errorf("%s is no chart and not empty: name another folder", folder)
		}
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(folder)), 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(filepath.Clean(folder)), "chart.")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	if err := os.Chmod(fresh, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(fresh, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	return os.Rename(fresh, folder)
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// WriteSection replaces a generated section of a page, or appends it.
func WriteSection(page, name, by, text string) error {
	old, err := os.ReadFile(page)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.WriteFile(page, []byte(withSection(string(old), name, by, text)), 0o644)
}

// withSection returns a page with a section between its marks.
func withSection(page, name, by, text string) string {
	begin := fmt.Sprintf("<!-- %s: written by '%s', do not edit -->", name, by)
	end := fmt.Sprintf("<!-- /%s -->", name)
	section := begin + "\n\n" + text + "\n" + end
	before, rest, found := strings.Cut(page, begin)
	if !found {
		return strings.TrimLeft(strings.TrimRight(page, "\n")+"\n\n"+section+"\n", "\n")
	}
	_, after, _ := strings.Cut(rest, end)
	return before + section + after
}

// Commit returns the abbreviated commit of a repository.
func Commit(root string) string {
	cmd := exec.Command("git", "rev-parse", "--short", "HEAD")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

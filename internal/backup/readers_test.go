// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The fields and annotations of a snapshot that only this package reads.
var read = regexp.MustCompile(`\.Status\.(ReadyToUse|Error|CreationTime|Bound\w+|VolumeGroupSnapshotName)\b|` +
	`\bAnnotation(Hold|VerifiedAt|VerifyFailed)\b|\.Source\.(VolumeSnapshotContentName|VolumeGroupSnapshotContentName|PersistentVolumeClaimName)\b|` +
	`\[v1alpha1\.Annotation(ScheduledAt|Rhythm|Claims|Volume)\]($|[^ ]| [^=])|Labels(\(\))?\[v1alpha1\.LabelGroupSnapshot\]`)

// Those that fill the cache, make a snapshot or write what this package reads.
var writers = []string{
	"snapshots/cached/strip.go", "snapshots/cached/intern.go", "snapshots/group.go", "snapshots/snapshot.go",
	"cli/holders/holders.go", "cli/migrate/internal/core/adopt.go", "cli/recovery/clone.go",
	"cli/rollback/internal/core/build.go", "cli/verify/drill.go", "cli/verify/verify.go",
}

// One rule says what is ready, cut, held, and of which slot: neither the operator nor the plugin reads that for itself.
func TestSnapshotsAreReadHereOnly(t *testing.T) {
	seen := map[string]bool{}
	for _, folder := range []string{"../snapshots", "../cli"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			file := strings.TrimPrefix(filepath.ToSlash(path), "../")
			if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "cli/clitest/") {
				return err
			}
			if seen[file] = true; slices.Contains(writers, file) {
				return nil
			}
			text, err := os.ReadFile(path)
			for i, line := range strings.Split(string(text), "\n") {
				if found := read.FindString(line); found != "" {
					t.Errorf("%s:%d reads %s, which package backup does", file, i+1, strings.TrimSpace(found))
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range writers {
		if !seen[file] {
			t.Errorf("%s does not exist", file)
		}
	}
	if len(seen) < 100 {
		t.Errorf("%d files", len(seen))
	}
}

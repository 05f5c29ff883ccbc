// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
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

// One rule says what is ready, cut, held, and of which slot: nothing in internal/snapshots reads that for itself. What fills the
// cache, and what makes a snapshot, writes these fields.
func TestSnapshotsAreReadHereOnly(t *testing.T) {
	writers := []string{"strip.go", "intern.go", "group.go", "snapshot.go"}
	files, err := filepath.Glob("../snapshots/*.go")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || slices.Contains(writers, filepath.Base(file)) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if found := read.FindString(line); found != "" {
				t.Errorf("%s:%d reads %s, which package backup does", filepath.Base(file), i+1, strings.TrimSpace(found))
			}
		}
	}
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// buildContext copies what .dockerignore lets through of the repository's files, by docker's own matcher.
func buildContext(t *testing.T) string {
	t.Helper()
	patterns, err := ignorefile.ReadAll(strings.NewReader(read(t, ".dockerignore")))
	if err != nil {
		t.Fatal(err)
	}
	ignored, err := patternmatcher.New(patterns)
	if err != nil {
		t.Fatal(err)
	}
	files, err := rootCommand("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimSuffix(string(files), "\x00"), "\x00") {
		leftOut, err := ignored.MatchesOrParentMatches(name)
		if err != nil {
			t.Fatal(err)
		}
		if !leftOut {
			copyFile(t, filepath.Join(root, name), filepath.Join(dir, name))
		}
	}
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if os.IsNotExist(err) { // deleted, and not committed yet
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// 'docker build' sees only the build context. Embedded files are the ones that it may lack.
func TestTheDockerfileBuildsFromItsContext(t *testing.T) {
	var built []string
	for line := range strings.Lines(read(t, "Dockerfile")) {
		if _, target, ok := strings.Cut(strings.TrimSpace(line), " -o "); ok && strings.HasPrefix(line, "RUN ") {
			built = append(built, strings.Fields(target)[1])
		}
	}
	if len(built) != 2 {
		t.Fatalf("the Dockerfile builds %q, want the manager and the plugin", built)
	}
	context := buildContext(t)
	for _, program := range built {
		cmd := exec.Command("go", "build", "-buildvcs=false", "-o", os.DevNull, program)
		cmd.Dir, cmd.Env = context, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", program, err, out)
		}
	}
	for _, name := range []string{"hack", "test", ".git", "docs"} {
		if _, err := os.Stat(filepath.Join(context, name)); err == nil {
			t.Errorf("the build context contains %s, which no program needs", name)
		}
	}
}

// SECURITY.md says how to compare what is in the image with its SBOM: of every program in it.
func TestTheSBOMIsComparedWithEveryProgramOfTheImage(t *testing.T) {
	page, programs := read(t, "SECURITY.md"), 0
	for line := range strings.Lines(read(t, "Dockerfile")) {
		if files, ok := strings.CutPrefix(strings.TrimSpace(line), "COPY --from=builder "); ok {
			for file := range strings.FieldsSeq(strings.TrimSuffix(files, "./")) {
				programs++
				if command := "docker cp manager:/" + filepath.Base(file); !strings.Contains(page, command) {
					t.Errorf("SECURITY.md has no %q", command)
				}
			}
		}
	}
	if programs == 0 {
		t.Error("the Dockerfile copies no program")
	}
}

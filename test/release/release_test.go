// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package release checks that the files that make a release agree: Makefile, Dockerfile, .goreleaser.yaml and the workflows. What
// each of them means is checked by its own linter, in 'make lint-release'.
package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the repository's root.
const root = "../.."

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rootCommand is a command that runs in the repository's root.
func rootCommand(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	return cmd
}

// makeCommand runs make with a PATH that begins with a folder, and returns its output.
func makeCommand(t *testing.T, path string, args ...string) (string, error) {
	t.Helper()
	cmd := rootCommand("make", append([]string{"--no-print-directory"}, args...)...)
	// MAKEFLAGS and variables of a 'make' that runs this test must not have an effect.
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "MFLAGS") || strings.HasPrefix(v, "IMG=")
	}), "PATH="+path+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// linked are the variables that the linker sets in a line of a file.
var linked = regexp.MustCompile(`-X '?([\w./]+)=`)

// maxManager bounds the size of the manager's program, most of which is resident. It is
// a third larger where anything reaches text/template, because the linker then keeps
// all methods: 'go build -ldflags=-dumpdep' shows what does, by ReflectMethod.
const maxManager = 50_000_000

func TestEveryBuildOfAReleaseSetsTheVersion(t *testing.T) {
	const version = "mapcontroller.dev/snapshotschedule/internal/version."
	want := []string{version + "version", version + "revision"}
	recipe, err := makeCommand(t, "", "-n", "image", "VERSION=v9.8.7", "REVISION=0123abc")
	if err != nil {
		t.Fatalf("make -n image: %v\n%s", err, recipe)
	}
	texts := map[string]string{"Dockerfile": read(t, "Dockerfile"), ".goreleaser.yaml": read(t, ".goreleaser.yaml"), "Makefile": recipe}
	for name, text := range texts {
		var got []string
		for _, m := range linked.FindAllStringSubmatch(text, -1) {
			got = append(got, m[1])
		}
		want := want
		if name == ".goreleaser.yaml" { // of the plugin alone, whose drills run with the release's image
			want = append(slices.Clone(want), version+"image")
		}
		// .goreleaser.yaml has no command: its builds share one list of flags.
		builds := max(1, strings.Count(text, "go build "))
		if !slices.Equal(got, slices.Repeat(want, builds)) {
			t.Errorf("%s has %d builds and sets %q, want %q in each", name, builds, got, want)
		}
	}

	// The linker ignores names that do not exist, so a program has to show what it got. No command shows its image.
	if declared := read(t, "internal/version/version.go"); !strings.Contains(declared, "var version, revision, image string") {
		t.Error("internal/version has no variable for the image")
	}
	flags := regexp.MustCompile(`-tags (\S+) -ldflags "([^"]*)"`).FindStringSubmatch(recipe)
	if flags == nil {
		t.Fatalf("make image sets no tags and linker flags:\n%s", recipe)
	}
	for folder, name := range map[string]string{"./cmd": "snapshotschedule", "./cmd/kubectl-snapsched": "kubectl-snapsched"} {
		program := filepath.Join(t.TempDir(), name)
		build := rootCommand("go", "build", "-tags", flags[1], "-ldflags", flags[2], "-o", program, folder)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", build, err, out)
		}
		out, err := exec.Command(program, "--version").Output()
		if got := string(out); err != nil || !strings.HasPrefix(got, name+" v9.8.7 (revision 0123abc, ") {
			t.Errorf("%s --version: %q, %v", name, got, err)
		}
		if info, err := os.Stat(program); folder == "./cmd" && (err != nil || info.Size() > maxManager) {
			t.Errorf("%s has %d bytes, want at most %d (%v)", name, info.Size(), maxManager, err)
		}
	}
}

func TestDockerfileAndReleaseHaveTheSameGo(t *testing.T) {
	image := regexp.MustCompile(`(?m)^FROM --platform=\$BUILDPLATFORM golang:(\S+) AS builder$`).FindStringSubmatch(read(t, "Dockerfile"))
	setup := regexp.MustCompile(`(?m)^ +go-version: (\S+)$`).FindStringSubmatch(read(t, ".github/workflows/release.yaml"))
	if image == nil || setup == nil || image[1] != setup[1] {
		t.Errorf("the Dockerfile compiles with %q, the release with %q", image, setup)
	}
}

// Fakes of make and crane record their arguments.
func TestImagePushPublishesTheImageAndItsDigest(t *testing.T) {
	folder := t.TempDir()
	calls := filepath.Join(folder, "calls")
	script := "#!/bin/sh\necho \"$*\" >> '" + calls + "'\ncase \"$1\" in push) echo example.com/a@sha256:1;; digest) echo sha256:2;; " +
		"index) exit ${FAIL:-0};; esac\n"
	fakes := map[string]string{"fake-crane": script, "fake-make": "#!/bin/sh\necho \"make $*\" >> '" + calls + "'\n"}
	for name, text := range fakes {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(folder, "digest")
	args := []string{"image-push", "IMAGE_DIGEST=" + file, "CRANE=fake-crane", "MAKE=fake-make", "IMG=example.com/a:v1", "ARCHS=amd64 s390x"}
	if out, err := makeCommand(t, folder, args...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	recorded, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	want := `make --no-print-directory image ARCH=amd64 IMAGE_ARCHIVE=bin/image-amd64.tar
push bin/image-amd64.tar example.com/a:v1-amd64
make --no-print-directory image ARCH=s390x IMAGE_ARCHIVE=bin/image-s390x.tar
push bin/image-s390x.tar example.com/a:v1-s390x
index append --tag example.com/a:v1 --manifest example.com/a@sha256:1 --manifest example.com/a@sha256:1
digest example.com/a:v1
`
	if string(recorded) != want {
		t.Errorf("the calls are\n%s\nwant\n%s", recorded, want)
	}
	if digest, err := os.ReadFile(file); err != nil || string(digest) != "sha256:2\n" {
		t.Errorf("the digest is %q, %v", digest, err)
	}
	t.Setenv("FAIL", "7")
	if out, err := makeCommand(t, folder, args...); err == nil {
		t.Errorf("the push failed, and make succeeded:\n%s", out)
	}
}

func workflows(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	texts := map[string]string{}
	for _, path := range paths {
		texts[filepath.Base(path)] = read(t, strings.TrimPrefix(path, root+"/"))
	}
	return texts
}

func TestWorkflowsRunTargetsThatExist(t *testing.T) {
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([\w-]+):`).FindAllStringSubmatch(read(t, "Makefile"), -1) {
		targets[m[1]] = true
	}
	command := regexp.MustCompile(`(?m)\bmake((?: [a-z][\w-]*)+)`)
	matrix := regexp.MustCompile(`target: \[(.*)\]`)
	for name, text := range workflows(t) {
		var used []string
		for _, m := range command.FindAllStringSubmatch(text, -1) {
			used = append(used, strings.Fields(m[1])...)
		}
		for _, m := range matrix.FindAllStringSubmatch(text, -1) {
			used = append(used, strings.Split(m[1], ", ")...)
		}
		if len(used) == 0 {
			t.Errorf("%s runs no target of the Makefile", name)
		}
		for _, target := range used {
			if !targets[target] {
				t.Errorf("%s runs make %s, which does not exist", name, target)
			}
		}
	}
}

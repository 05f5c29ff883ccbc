// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// fakeGo puts a shell script in place of go, and returns a cache of its own and a file for the script to write to.
func fakeGo(t *testing.T, script string) (c *Cache, log string) {
	t.Helper()
	dir := t.TempDir()
	log = filepath.Join(dir, "log")
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte("#!/bin/sh\nlog="+log+"\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv(EnvCache, t.TempDir())
	c, err := OpenCache(recipe.Current())
	if err != nil {
		t.Fatal(err)
	}
	return c, log
}

func component(t *testing.T, names ...string) []recipe.Component {
	t.Helper()
	return slices.DeleteFunc(recipe.Current().Components(), func(c recipe.Component) bool { return !slices.Contains(names, c.Name) })
}

func TestSeveralRunsBuildOnce(t *testing.T) {
	c, log := fakeGo(t, `
echo "$1" >> "$log"
sleep 0.05
while [ $# -gt 0 ] && [ "$1" != -o ]; do shift; done
for package in "$@"; do echo program > "$2$(basename $package)"; done
`)
	parts := component(t, recipe.Containerd, recipe.Shim, "ptp")
	var runs sync.WaitGroup
	for range 3 {
		runs.Go(func() {
			if err := c.Ensure(t.Context(), parts, io.Discard); err != nil {
				t.Error(err)
			}
			if missing := c.missing(parts); len(missing) > 0 {
				t.Errorf("missing after Ensure: %v", missing)
			}
		})
	}
	runs.Wait()
	if text, err := os.ReadFile(log); string(text) != "list\nbuild\nlist\nbuild\n" {
		t.Errorf("go was called with %q, %v", text, err)
	}
	t.Setenv("PATH", "") // what is in the cache needs no go
	if err := c.Ensure(t.Context(), parts, io.Discard); err != nil {
		t.Error(err)
	}
}

func TestAFailedBuildLeavesNothingAndSaysWhy(t *testing.T) {
	c, _ := fakeGo(t, `
[ "$1" = build ] || exit 0
while [ "$1" != -o ]; do shift; done
echo half > "$2/containerd-shim-runc-v2"
printf '%s\n' '{"ImportPath":"a","Action":"build-output","Output":"main.go:1: it does not compile\n"}'
exit 1
`)
	err := c.Ensure(t.Context(), component(t, recipe.Shim), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "it does not compile") || !strings.Contains(err.Error(), "containerd-shim-runc-v2") {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(c.Bin()); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestMessagesOfGoAreReported(t *testing.T) {
	fakeGo(t, "echo 'go: downloading x' >&2; exit 1\n")
	var got []string
	_, err := runGo(t.Context(), t.TempDir(), func(text string) { got = append(got, text) }, "list")
	if !slices.Equal(got, []string{"go: downloading x"}) || err == nil || !strings.Contains(err.Error(), "downloading x") {
		t.Errorf("reported %q, and ended with %v", got, err)
	}
}

func TestPackagesAreDoneWhenAPackageThatImportsThemIsCompiled(t *testing.T) {
	var got []string
	p := newPackages("unsafe\na unsafe\nb a\nother\nmain b C\n", func(text string) { got = append(got, text) })
	for _, text := range []string{
		`{"ImportPath":"a","Action":"build-output","Output":"a\n"}` + "\n" + `{"ImportPath":"main",`,
		`"Action":"build-output","Output":"main\n"}` + "\n",
		`{"ImportPath":"main","Action":"build-output","Output":"# main\n"}` + "\n" + `{"ImportPath":"main","Action":"build-fail"}` + "\n",
	} {
		_, _ = io.WriteString(p, text)
	}
	want := []string{"1 of 5 packages, a", "3 of 5 packages, main"}
	if output := p.output.String(); !slices.Equal(got, want) || output != "# main\n" {
		t.Errorf("reported %q, output is %q", got, output)
	}
}

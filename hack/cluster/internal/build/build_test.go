// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

func testCache(t *testing.T) *Cache {
	t.Helper()
	return &Cache{Root: t.TempDir(), Versions: recipe.Current()}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

func TestInstallIsAllOrNothing(t *testing.T) {
	c, component := testCache(t), recipe.Component{Name: recipe.Etcd}
	err := c.install(component.Name, func(path string) error {
		write(t, path, "incomplete")
		return errors.New("interrupted")
	})
	if err == nil || c.Has(component) || len(entries(t, c.Bin())) != 0 {
		t.Errorf("err = %v, left %v", err, entries(t, c.Bin()))
	}
	err = c.install(component.Name, func(path string) error {
		if c.Has(component) {
			t.Error("found before it is complete")
		}
		write(t, path, "complete")
		return nil
	})
	if err != nil || !c.Has(component) || len(entries(t, c.Bin())) != 1 {
		t.Errorf("err = %v, left %v", err, entries(t, c.Bin()))
	}
}

func TestRemoveLeftoversKeepsInstalledFiles(t *testing.T) {
	c := testCache(t)
	write(t, filepath.Join(c.Bin(), ".etcd.123.tmp"), "half")
	write(t, filepath.Join(c.Bin(), "kubectl"), "whole")
	c.removeLeftovers()
	if got := entries(t, c.Bin()); len(got) != 1 || got[0] != "kubectl" {
		t.Errorf("left %v", got)
	}
}

func TestEnsureNeedsNoGoForCachedComponents(t *testing.T) {
	c := testCache(t)
	for _, p := range recipe.Current().EnvtestAssets() {
		write(t, filepath.Join(c.Bin(), p.Name), "")
	}
	t.Setenv("PATH", t.TempDir())
	if err := c.Ensure(t.Context(), recipe.Current().EnvtestAssets(), Output{W: io.Discard}); err != nil {
		t.Error(err)
	}
	err := c.Ensure(t.Context(), recipe.Current().Components(), Output{W: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "go is not in PATH") {
		t.Errorf("err = %v", err)
	}
}

// fakeAssets creates a folder like KUBEBUILDER_ASSETS.
func fakeAssets(t *testing.T, version string) string {
	dir := t.TempDir()
	write(t, filepath.Join(dir, recipe.Etcd), "#!/bin/sh\n")
	write(t, filepath.Join(dir, recipe.KubeAPIServer), "#!/bin/sh\necho Kubernetes "+version+"\n")
	write(t, filepath.Join(dir, recipe.Kubectl), "#!/bin/sh\necho Client Version: "+version+"\n")
	return dir
}

func TestPrebuiltProgramsMustHaveTheMinorVersion(t *testing.T) {
	c := testCache(t)
	c.Versions.Kubernetes = "1.37.1"
	if err := c.checkPrebuilt(t.Context(), fakeAssets(t, "v1.37.0")); err != nil {
		t.Error(err)
	}
	if err := c.checkPrebuilt(t.Context(), fakeAssets(t, "v1.36.3")); err == nil {
		t.Error("1.36 was accepted")
	}
	if err := c.checkPrebuilt(t.Context(), t.TempDir()); err == nil {
		t.Error("an empty folder was accepted")
	}
}

func TestKubebuilderAssetsAreCopied(t *testing.T) {
	c := testCache(t)
	c.Versions.Kubernetes = "1.37.1"
	t.Setenv("KUBEBUILDER_ASSETS", fakeAssets(t, "v1.37.0"))
	out := &strings.Builder{}
	err := c.installPrebuilt(t.Context(), c.Missing(recipe.Current().Components()), out)
	if err != nil || !strings.Contains(out.String(), "KUBEBUILDER_ASSETS") {
		t.Errorf("printed %q, err %v", out, err)
	}
	for _, p := range recipe.Current().Components() {
		if c.Has(p) != p.Envtest {
			t.Errorf("has %s: %v", p.Name, c.Has(p))
		}
	}
}

func TestLastCause(t *testing.T) {
	const long = `go: downloading example.com/x v1.0.0
unable to list: unable to perform request: Get "https://example.com/index": lookup example.com: no such host
exit status 2
`
	if got := lastCause(long, errors.New("exit status 1")); got != "no such host" {
		t.Errorf("got %q", got)
	}
	if got := lastCause("", errors.New("exit status 1")); got != "exit status 1" {
		t.Errorf("got %q", got)
	}
}

func TestGoErrorContainsCommandAndOutput(t *testing.T) {
	dir := t.TempDir()
	fake := filepath.Join(dir, "bin", "go")
	write(t, fake, "#!/bin/sh\necho main.go:1: it does not compile\nexit 1\n")
	t.Setenv("PATH", filepath.Dir(fake)+":"+os.Getenv("PATH"))
	err := runGo(t.Context(), dir, filepath.Join(dir, "log"), "build", "-ldflags", "-s -w", "./x")
	if err == nil || !strings.Contains(err.Error(), "it does not compile") || !strings.Contains(err.Error(), "go build -ldflags '-s -w' ./x") {
		t.Errorf("err = %v", err)
	}
}

func TestCacheDirFollowsTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(EnvCache, dir)
	c, err := OpenCache(recipe.Current())
	if err != nil || filepath.Dir(c.Root) != dir {
		t.Errorf("root = %v, err = %v", c, err)
	}
}

func TestSetupEnvtestDownloadsAreInstalled(t *testing.T) {
	c := testCache(t)
	c.Versions.Kubernetes = "1.37.1"
	// A fake go that behaves like setup-envtest.
	fake := filepath.Join(t.TempDir(), "go")
	write(t, fake, `#!/bin/sh
case "$*" in
*" list "*) echo "(available)  v1.37.0  linux/amd64" ;;
*" use "*) echo `+fakeAssets(t, "v1.37.0")+` ;;
esac
`)
	t.Setenv("PATH", filepath.Dir(fake)+":"+os.Getenv("PATH"))
	t.Setenv("KUBEBUILDER_ASSETS", "")
	out := &strings.Builder{}
	err := c.installPrebuilt(t.Context(), c.Missing(recipe.Current().Components()), out)
	if err != nil || !strings.Contains(out.String(), "downloaded") || !c.Has(recipe.Component{Name: recipe.Kubectl}) {
		t.Errorf("printed %q, err %v", out, err)
	}
}

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
	c, part := testCache(t), recipe.Component{Name: recipe.Etcd}
	err := c.install(part.Name, func(path string) error {
		write(t, path, "half of it")
		return errors.New("interrupted")
	})
	if err == nil || c.Has(part) || len(entries(t, c.Bin())) != 0 {
		t.Errorf("err = %v, left %v", err, entries(t, c.Bin()))
	}
	err = c.install(part.Name, func(path string) error {
		if c.Has(part) {
			t.Error("it is there before it is whole")
		}
		write(t, path, "all of it")
		return nil
	})
	if err != nil || !c.Has(part) || len(entries(t, c.Bin())) != 1 {
		t.Errorf("err = %v, left %v", err, entries(t, c.Bin()))
	}
}

func TestSweepRemovesWhatAKilledBuildLeft(t *testing.T) {
	c := testCache(t)
	write(t, filepath.Join(c.Bin(), ".etcd.123.tmp"), "half")
	write(t, filepath.Join(c.Bin(), "kubectl"), "whole")
	c.sweep()
	if got := entries(t, c.Bin()); len(got) != 1 || got[0] != "kubectl" {
		t.Errorf("left %v", got)
	}
}

func TestWhatIsCachedNeedsNoGo(t *testing.T) {
	c := testCache(t)
	for _, p := range recipe.EnvtestAssets() {
		write(t, filepath.Join(c.Bin(), p.Name), "")
	}
	t.Setenv("PATH", t.TempDir())
	if err := c.Ensure(t.Context(), recipe.EnvtestAssets(), Output{W: io.Discard}); err != nil {
		t.Error(err)
	}
	err := c.Ensure(t.Context(), recipe.Components(), Output{W: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "go is not in PATH") {
		t.Errorf("err = %v", err)
	}
}

// assets fakes the binaries of envtest.
func assets(t *testing.T, version string) string {
	dir := t.TempDir()
	write(t, filepath.Join(dir, recipe.Etcd), "#!/bin/sh\n")
	write(t, filepath.Join(dir, recipe.KubeAPIServer), "#!/bin/sh\necho Kubernetes "+version+"\n")
	write(t, filepath.Join(dir, recipe.Kubectl), "#!/bin/sh\necho Client Version: "+version+"\n")
	return dir
}

func TestPrebuiltBinariesMustBeOfTheMinorVersion(t *testing.T) {
	if err := fromFolder(t.Context(), assets(t, "v1.37.0"), "1.37"); err != nil {
		t.Error(err)
	}
	if err := fromFolder(t.Context(), assets(t, "v1.36.3"), "1.37"); err == nil {
		t.Error("1.36 is not 1.37")
	}
	if err := fromFolder(t.Context(), t.TempDir(), "1.37"); err == nil {
		t.Error("an empty folder has nothing")
	}
}

func TestKubebuilderAssetsAreReused(t *testing.T) {
	c := testCache(t)
	c.Versions.Kubernetes = "1.37.1"
	t.Setenv("KUBEBUILDER_ASSETS", assets(t, "v1.37.0"))
	said, err := c.offer(t.Context(), c.Missing(recipe.Components()))
	if err != nil || !strings.Contains(said, "KUBEBUILDER_ASSETS") {
		t.Errorf("said %q, err %v", said, err)
	}
	for _, p := range recipe.Components() {
		if c.Has(p) != p.Envtest {
			t.Errorf("has %s: %v", p.Name, c.Has(p))
		}
	}
}

func TestReasonIsShort(t *testing.T) {
	const long = `go: downloading example.com/x v1.0.0
unable to list: unable to perform request: Get "https://example.com/index": lookup example.com: no such host
exit status 2
`
	if got := reason(long, errors.New("exit status 1")); got != "no such host" {
		t.Errorf("got %q", got)
	}
	if got := reason("", errors.New("exit status 1")); got != "exit status 1" {
		t.Errorf("got %q", got)
	}
}

func TestGoFailureShowsCommandAndOutput(t *testing.T) {
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
	c, err := OpenCache()
	if err != nil || filepath.Dir(c.Root) != dir {
		t.Errorf("root = %v, err = %v", c, err)
	}
}

func TestSetupEnvtestDownloadsAreReused(t *testing.T) {
	c := testCache(t)
	c.Versions.Kubernetes = "1.37.1"
	// A go that plays setup-envtest: it lists one version, then gives its folder.
	fake := filepath.Join(t.TempDir(), "go")
	write(t, fake, `#!/bin/sh
case "$*" in
*" list "*) echo "(available)  v1.37.0  linux/amd64" ;;
*" use "*) echo `+assets(t, "v1.37.0")+` ;;
esac
`)
	t.Setenv("PATH", filepath.Dir(fake)+":"+os.Getenv("PATH"))
	t.Setenv("KUBEBUILDER_ASSETS", "")
	said, err := c.offer(t.Context(), c.Missing(recipe.Components()))
	if err != nil || !strings.Contains(said, "downloaded") || !c.Has(recipe.Component{Name: recipe.Kubectl}) {
		t.Errorf("said %q, err %v", said, err)
	}
}

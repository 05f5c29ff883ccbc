// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"
)

func TestHashChangesWithEveryVersionAndPlatform(t *testing.T) {
	seen := map[string]string{Current().Hash("linux", "amd64"): "the current recipe"}
	add := func(what, hash string) {
		if other, ok := seen[hash]; ok {
			t.Errorf("%s has the hash of %s", what, other)
		}
		seen[hash] = what
	}
	fields := reflect.TypeFor[Versions]()
	for i := range fields.NumField() {
		v := Current()
		reflect.ValueOf(&v).Elem().Field(i).SetString("0.0.1")
		add("another "+fields.Field(i).Name, v.Hash("linux", "amd64"))
	}
	add("another system", Current().Hash("darwin", "amd64"))
	add("another processor", Current().Hash("linux", "arm64"))
	if again := Current().Hash("linux", "amd64"); seen[again] != "the current recipe" {
		t.Errorf("the hash of the same recipe changed to %s", again)
	}
}

func TestNamedKeepsTheOrderAndKnowsNames(t *testing.T) {
	got, err := Named([]string{Kubectl, " " + Etcd})
	if err != nil || len(got) != 2 || got[0].Name != Etcd || got[1].Name != Kubectl {
		t.Errorf("Named = %v, %v", got, err)
	}
	if _, err := Named([]string{"docker"}); err == nil || !strings.Contains(err.Error(), Etcd) {
		t.Errorf("an unknown part should name the known ones, got %v", err)
	}
}

func TestWithoutCSINothingOfItIsNeeded(t *testing.T) {
	for _, p := range ForCluster(false, true) {
		if p.CSI {
			t.Errorf("%s is not needed", p.Name)
		}
	}
	if len(ForCluster(true, true)) != len(Parts()) {
		t.Error("a whole cluster needs every part")
	}
	for _, p := range ForCluster(true, false) {
		if p.Node {
			t.Errorf("%s is needed for a node only", p.Name)
		}
	}
	if len(Assets()) != 4 {
		t.Errorf("envtest needs three programs and the CRDs, got %v", Assets())
	}
}

func TestGoModReplacesStagingModules(t *testing.T) {
	v := Versions{Kubernetes: "1.37.1"}
	const upstream = `module k8s.io/kubernetes
require k8s.io/api v0.0.0
replace (
	k8s.io/client-go => ./staging/src/k8s.io/client-go
	k8s.io/api => ./staging/src/k8s.io/api
	example.com/fork => example.com/other v1.0.0
)
`
	got, err := v.GoMod("kubernetes", upstream)
	if err != nil {
		t.Fatal(err)
	}
	want := `module build/kubernetes

go 1.26.0

require k8s.io/kubernetes v1.37.1
replace k8s.io/api => k8s.io/api v0.37.1
replace k8s.io/client-go => k8s.io/client-go v0.37.1
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := v.GoMod("kubernetes", "module k8s.io/kubernetes\n"); err == nil {
		t.Error("a go.mod without staging modules should be an error")
	}
}

func TestEveryCompiledPartHasAModuleAndAStamp(t *testing.T) {
	v := Current()
	for _, p := range Parts() {
		if p.Module == "" {
			continue
		}
		if _, err := v.GoMod(p.Module, "\tk8s.io/api => ./staging/src/k8s.io/api\n"); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
	for part, stamp := range map[string]string{
		"kubernetes":  "k8s.io/component-base/version.gitVersion=v" + v.Kubernetes,
		"snapshotter": "main.version=v" + v.Snapshotter,
		"containerd":  "version.Version=v" + v.Containerd,
	} {
		if flags := v.LDFlags(Part{Module: part}); !strings.Contains(flags, stamp) {
			t.Errorf("the flags of %s lack %s: %s", part, stamp, flags)
		}
	}
}

func TestGeneratedProgramsAreGoWithTheLicence(t *testing.T) {
	for name, source := range Generated("kubernetes") {
		if !strings.HasPrefix(source, "/*\nCopyright") {
			t.Errorf("%s: the licence header is missing", name)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "main.go", source, parser.AllErrors); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(Generated("etcd")) != 0 {
		t.Error("etcd brings its own source")
	}
}

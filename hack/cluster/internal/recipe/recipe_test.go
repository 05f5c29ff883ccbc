// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestHashChangesWithEveryVersionAndPlatform(t *testing.T) {
	seen := map[string]string{Current().Hash("linux", "amd64"): "the current versions"}
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
	add("another operating system", Current().Hash("darwin", "amd64"))
	add("another architecture", Current().Hash("linux", "arm64"))
	if again := Current().Hash("linux", "amd64"); seen[again] != "the current versions" {
		t.Errorf("the hash is not stable: %s", again)
	}
}

func TestASourceChangesOnlyItsFile(t *testing.T) {
	hash, driver, pause := Current().Hash("linux", "amd64"), File(MockCSI), File(Pause)
	defer func(old string) { Sources[MockCSI] = old }(Sources[MockCSI])
	Sources[MockCSI] += "\n"
	if File(MockCSI) == driver || File(Pause) != pause || Current().Hash("linux", "amd64") != hash || File(Etcd) != Etcd {
		t.Errorf("got %s, %s, %s", File(MockCSI), File(Pause), File(Etcd))
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

func TestOtherReleases(t *testing.T) {
	for name, test := range map[string]struct {
		kubernetes, snapshotter string
		wantCRDs, wantPackage   string
		wantErr                 bool
	}{
		"none":            {wantCRDs: Current().CRDModule(), wantPackage: "external-snapshotter/v8/cmd/"},
		"of Kubernetes":   {kubernetes: "1.33.13", wantCRDs: Current().CRDModule(), wantPackage: "external-snapshotter/v8/cmd/"},
		"a patch release": {snapshotter: "8.2.1", wantCRDs: "external-snapshotter/client/v8@v8.2.0", wantPackage: "external-snapshotter/v8/cmd/"},
		"a major release": {snapshotter: "7.0.2", wantCRDs: "external-snapshotter/client/v7@v7.0.0", wantPackage: "external-snapshotter/v7/cmd/"},
		"not a version":   {kubernetes: "latest", wantErr: true},
		"with a v":        {snapshotter: "v8.2.0", wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := Current().With(test.kubernetes, test.snapshotter)
			if (err != nil) != test.wantErr {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			if test.kubernetes != "" && v.KubernetesModule() != "k8s.io/kubernetes@v"+test.kubernetes {
				t.Errorf("Kubernetes comes from %s", v.KubernetesModule())
			}
			i := slices.IndexFunc(v.Components(), func(c Component) bool { return c.Name == SnapshotController })
			controller := v.Components()[i]
			if got := controller.Package; !strings.Contains(got, test.wantPackage) {
				t.Errorf("the snapshot controller is built from %s", got)
			}
			if one := controller.Module == "kubernetes"; one != (test.kubernetes+test.snapshotter == "") {
				t.Errorf("the snapshot controller is built in the graph %s", controller.Module)
			}
			if !strings.HasSuffix(v.CRDModule(), test.wantCRDs) {
				t.Errorf("the CRDs come from %s", v.CRDModule())
			}
			if same := v.Hash("linux", "amd64") == Current().Hash("linux", "amd64"); same != (test.kubernetes+test.snapshotter == "") {
				t.Errorf("the same cache: %v", same)
			}
		})
	}
}

// Other releases are built in graphs of their own, with the versions that build there.
func TestGraphs(t *testing.T) {
	other, err := Current().With("1.33.13", "")
	if err != nil {
		t.Fatal(err)
	}
	for module, want := range map[string]string{"kubernetes": "k8s.io/kubernetes v1.33.13", "etcd": "go.etcd.io/etcd/server/v3 v3.6.8"} {
		got, err := other.GoMod(module, "replace k8s.io/api => ./staging/src/k8s.io/api")
		if err != nil || strings.Count(got, "require ") != 1 || !strings.Contains(got, "require "+want+"\n") {
			t.Errorf("got %v and\n%s", err, got)
		}
	}
}

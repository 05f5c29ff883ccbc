// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	_ "embed" // for the sources below
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	//go:embed mockcsi.go.txt
	mockCSISource string
	//go:embed pause.go.txt
	pauseSource string
)

// Sources are the programs of the build module kubernetes that are in this package: for each component, the text of its
// main.go. They are text files because mock-csi compiles only where k8s.io/kubernetes is required, which must not be here.
var Sources = map[string]string{MockCSI: mockCSISource, Pause: pauseSource}

// File returns the name of a component in the bin folder. That of a program of Sources has a hash, so that a change of it
// rebuilds nothing else.
func File(component string) string {
	source, ok := Sources[component]
	if !ok {
		return component
	}
	return component + "-" + hash([]byte(source))
}

// KubernetesModule returns the module whose go.mod lists the staging modules.
func (v Versions) KubernetesModule() string { return "k8s.io/kubernetes@v" + v.Kubernetes }

// CRDModule returns the module that has the snapshot CRDs in config/crd.
func (v Versions) CRDModule() string { return v.snapshotterModule("client/") + "@v" + v.SnapshotCRDs }

var staging = regexp.MustCompile(`(?m)^\s*(?:replace\s+)?(\S+)\s+=>\s+\./staging/src/`)

// graph returns the build module of a part of the cluster. The default releases share their libraries: in one build graph, client-go
// is compiled once. Other releases need other versions of it, and each part has a graph of its own.
func (v Versions) graph(part string) string {
	if v == Current() {
		return "kubernetes"
	}
	return part
}

// GoMod returns the text of a build module's go.mod. The module kubernetes needs the go.mod of k8s.io/kubernetes: that
// replaces the staging modules with local folders, and others must use the published modules of the same release.
func (v Versions) GoMod(module, kubernetesGoMod string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "module build/%s\n\ngo 1.26.0\n\n", module)
	for _, m := range []struct{ graph, path, version string }{
		{"kubernetes", "k8s.io/kubernetes", v.Kubernetes},
		{v.graph("etcd"), "go.etcd.io/etcd/server/v3", v.Etcd},
		{v.graph("snapshotter"), v.snapshotterModule(""), v.Snapshotter},
		{v.graph("snapshotter"), v.snapshotterModule("client/"), v.SnapshotCRDs},
		{v.graph("provisioner"), provisionerModule, v.Provisioner},
		{"containerd", "github.com/containerd/containerd/v2", v.Containerd},
		{"cni", "github.com/containernetworking/plugins", v.CNI},
	} {
		if m.graph == module {
			fmt.Fprintf(&b, "require %s v%s\n", m.path, m.version)
		}
	}
	if module != "kubernetes" {
		return b.String(), nil
	}
	found := staging.FindAllStringSubmatch(kubernetesGoMod, -1)
	if len(found) == 0 {
		return "", fmt.Errorf("no staging modules in the go.mod of %s", v.KubernetesModule())
	}
	slices.SortFunc(found, func(a, b []string) int { return strings.Compare(a[1], b[1]) })
	_, minorAndPatch, _ := strings.Cut(v.Kubernetes, ".")
	for _, m := range found {
		fmt.Fprintf(&b, "replace %s => %s v0.%s\n", m[1], m[1], minorAndPatch)
	}
	return b.String(), nil
}

// LDFlags returns the linker flags of a component. Without the version, clients see v0.0.0, which some of them reject.
func (v Versions) LDFlags(c Component) string {
	flags := []string{"-s", "-w"}
	set := func(name, value string) { flags = append(flags, "-X", name+"="+value) }
	switch {
	case strings.HasPrefix(c.Package, v.snapshotterModule("")):
		set("main.version", "v"+v.Snapshotter)
	case strings.HasPrefix(c.Package, provisionerModule):
		set("main.version", "v"+v.Provisioner)
	case c.Module == "containerd":
		set("github.com/containerd/containerd/v2/version.Version", "v"+v.Containerd)
	case c.Module == "kubernetes":
		release := strings.Split(v.Kubernetes, ".")
		for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
			set(pkg+".gitVersion", "v"+v.Kubernetes)
			set(pkg+".gitMajor", release[0])
			set(pkg+".gitMinor", release[1])
		}
	}
	return strings.Join(flags, " ")
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	_ "embed" // for the driver's source
	"fmt"
	"regexp"
	"sort"
	"strings"
)

// MockCSISource is the main.go of the mock CSI driver. It is kept as text
// because it compiles only inside a build module that requires
// k8s.io/kubernetes, which this module must not.
//
//go:embed mockcsi.go.txt
var MockCSISource string

// PauseSource is the main.go of the program that holds a pod's namespaces.
//
//go:embed pause.go.txt
var PauseSource string

// Generated are the programs of which this module has the source: the folder
// in the build module, and the text of main.go.
func Generated(module string) map[string]string {
	if module != "kubernetes" {
		return nil
	}
	return map[string]string{"mockcsi": MockCSISource, "pause": PauseSource}
}

// KubernetesModule is the module whose go.mod lists the staging modules.
func (v Versions) KubernetesModule() string { return "k8s.io/kubernetes@v" + v.Kubernetes }

// CRDModule is the module whose config/crd folder holds the snapshot CRDs.
func (v Versions) CRDModule() string {
	return "github.com/kubernetes-csi/external-snapshotter/client/v8@v" + v.SnapshotCRDs
}

var staging = regexp.MustCompile(`(?m)^\s*(?:replace\s+)?(\S+)\s+=>\s+\./staging/src/`)

// GoMod writes the go.mod of one build module. kubernetesGoMod is the text of
// k8s.io/kubernetes' own go.mod and is looked at for that module only: it
// replaces its staging modules by folders, which a consumer must replace by
// the published modules of the same release.
func (v Versions) GoMod(module, kubernetesGoMod string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "module build/%s\n\ngo 1.26.0\n\n", module)
	require := func(path, version string) { fmt.Fprintf(&b, "require %s v%s\n", path, version) }
	switch module {
	case "kubernetes":
		require("k8s.io/kubernetes", v.Kubernetes)
		found := staging.FindAllStringSubmatch(kubernetesGoMod, -1)
		if len(found) == 0 {
			return "", fmt.Errorf("the go.mod of %s lists no staging modules", v.KubernetesModule())
		}
		var names []string
		for _, m := range found {
			names = append(names, m[1])
		}
		sort.Strings(names)
		_, patch, _ := strings.Cut(v.Kubernetes, ".")
		for _, n := range names {
			fmt.Fprintf(&b, "replace %s => %s v0.%s\n", n, n, patch)
		}
	case "etcd":
		require("go.etcd.io/etcd/server/v3", v.Etcd)
	case "snapshotter":
		require("github.com/kubernetes-csi/external-snapshotter/v8", v.Snapshotter)
		require("github.com/kubernetes-csi/external-snapshotter/client/v8", v.SnapshotCRDs)
	case "provisioner":
		require("github.com/kubernetes-csi/external-provisioner/v6", v.Provisioner)
	case "containerd":
		require("github.com/containerd/containerd/v2", v.Containerd)
	case "cni":
		require("github.com/containernetworking/plugins", v.CNI)
	default:
		return "", fmt.Errorf("no build module %q", module)
	}
	return b.String(), nil
}

// LDFlags are the linker flags of a part. Without a version stamp clients see
// v0.0.0, which some of them refuse to talk to.
func (v Versions) LDFlags(p Part) string {
	flags := []string{"-s", "-w"}
	set := func(name, value string) { flags = append(flags, "-X", name+"="+value) }
	switch p.Module {
	case "kubernetes":
		major, minor, _ := strings.Cut(v.KubernetesMinor(), ".")
		set("k8s.io/component-base/version.gitVersion", "v"+v.Kubernetes)
		set("k8s.io/component-base/version.gitMajor", major)
		set("k8s.io/component-base/version.gitMinor", minor)
		set("k8s.io/client-go/pkg/version.gitVersion", "v"+v.Kubernetes)
		set("k8s.io/client-go/pkg/version.gitMajor", major)
		set("k8s.io/client-go/pkg/version.gitMinor", minor)
	case "snapshotter":
		set("main.version", "v"+v.Snapshotter)
	case "provisioner":
		set("main.version", "v"+v.Provisioner)
	case "containerd":
		set("github.com/containerd/containerd/v2/version.Version", "v"+v.Containerd)
	}
	return strings.Join(flags, " ")
}

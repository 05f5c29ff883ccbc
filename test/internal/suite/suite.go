// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package suite has what the Ginkgo suites on a real API server share.
package suite

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// Run runs the specs of a suite that needs the programs of envtest.
func Run(t *testing.T, name string) {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: these tests need kube-apiserver and etcd. Run them with make test-integration, " +
			"or set it to what 'setup-envtest use -p path' prints")
	}
	klog.SetLogger(GinkgoLogr) // client-go's messages are shown with a spec that fails, and only there
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(25 * time.Millisecond)
	RunSpecs(t, name)
}

// CRDs are the files of all CRDs that the operator needs.
func CRDs() []string {
	GinkgoHelper()
	root := Must(repo.Root())
	return append(Must(repo.SnapshotCRDFiles()), filepath.Join(root, "config", "crd", "bases"))
}

// Start starts an API server until the end of the suite, and returns a configuration without rate limits.
func Start(environment *envtest.Environment) *rest.Config {
	GinkgoHelper()
	environment.ErrorIfCRDPathMissing, environment.CRDInstallOptions.MaxTime = true, time.Minute
	environment.ControlPlaneStartTimeout, environment.ControlPlaneStopTimeout = time.Minute, time.Minute
	config := Must(environment.Start())
	DeferCleanup(environment.Stop)
	config.QPS = -1
	return config
}

// InstallGroupCRDs installs the CRDs of group snapshots, whose kinds the other specs do without.
func InstallGroupCRDs(config *rest.Config) {
	GinkgoHelper()
	Must(envtest.InstallCRDs(config, groupCRDs()))
}

// UninstallGroupCRDs deletes them with all group snapshots, and waits until they are gone: the next spec may install them.
func UninstallGroupCRDs(ctx context.Context, config *rest.Config, api client.Client) {
	GinkgoHelper()
	all := &groupv1.VolumeGroupSnapshotList{}
	Expect(api.List(ctx, all)).To(Succeed())
	for i := range all.Items {
		v := &all.Items[i]
		Expect(api.Patch(ctx, v, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
		Expect(client.IgnoreNotFound(api.Delete(ctx, v))).To(Succeed())
	}
	Expect(envtest.UninstallCRDs(config, groupCRDs())).To(Succeed())
	served := Must(discovery.NewDiscoveryClientForConfig(config))
	Eventually(func() bool {
		_, err := served.ServerResourcesForGroupVersion(groupv1.SchemeGroupVersion.String())
		return apierrors.IsNotFound(err)
	}).Should(BeTrue())
}

func groupCRDs() envtest.CRDInstallOptions {
	GinkgoHelper()
	return envtest.CRDInstallOptions{Paths: Must(repo.GroupSnapshotCRDFiles()), ErrorIfPathMissing: true, MaxTime: time.Minute}
}

// Must returns a value unless there is an error, which fails the spec.
func Must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}

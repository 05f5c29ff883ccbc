// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/enginetest/mutationdetector"
)

var (
	restConfig *rest.Config
	// api is the client of the user and of the other controllers.
	api client.Client
)

func TestEngine(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: these tests need kube-apiserver and etcd, run them with make test-integration")
	}
	klog.SetLogger(GinkgoLogr) // client-go's messages are shown with a spec that fails, and only there
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(20 * time.Second)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	SetDefaultConsistentlyDuration(500 * time.Millisecond)
	RunSpecs(t, "Engine")
}

var _ = BeforeSuite(func() {
	logf.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	server := &envtest.Environment{
		Scheme:                   newScheme(),
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: time.Minute},
		CRDDirectoryPaths:        []string{"testdata/installed"},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: time.Minute,
		ControlPlaneStopTimeout:  time.Minute,
	}
	var err error
	restConfig, err = server.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(server.Stop)
	DeferCleanup(mutationdetector.Wait)
	restConfig.QPS = -1
	api, err = client.New(restConfig, client.Options{Scheme: newScheme()})
	Expect(err).NotTo(HaveOccurred())
	Expect(api.List(context.Background(), &BucketList{})).To(Succeed())
})

// installGadgets installs the Gadget kind until the end of the spec, or until the returned function is called.
func installGadgets() (uninstall func()) {
	GinkgoHelper()
	options := envtest.CRDInstallOptions{Paths: []string{"testdata/later"}, Scheme: newScheme(), MaxTime: time.Minute}
	_, err := envtest.InstallCRDs(restConfig, options)
	Expect(err).NotTo(HaveOccurred())
	uninstall = sync.OnceFunc(func() {
		GinkgoHelper()
		Expect(envtest.UninstallCRDs(restConfig, options)).To(Succeed())
		Eventually(func() error { return api.List(context.Background(), &GadgetList{}) }).ShouldNot(Succeed())
	})
	DeferCleanup(uninstall)
	return uninstall
}

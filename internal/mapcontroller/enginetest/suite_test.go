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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

var (
	server *rest.Config
	// user is a client of nobody's manager.
	user client.Client
)

func TestEngine(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("these tests need a kube-apiserver and an etcd, in the folder that KUBEBUILDER_ASSETS names; " +
			"run them with 'make test-integration'")
	}
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(20 * time.Second)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	SetDefaultConsistentlyDuration(500 * time.Millisecond)
	RunSpecs(t, "Engine")
}

var _ = BeforeSuite(func() {
	logf.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	env := &envtest.Environment{
		Scheme:                newScheme(),
		CRDDirectoryPaths:     []string{"testdata/installed"},
		ErrorIfCRDPathMissing: true,
	}
	var err error
	server, err = env.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(env.Stop)
	server.QPS = -1
	user, err = client.New(server, client.Options{Scheme: newScheme()})
	Expect(err).NotTo(HaveOccurred())
	Expect(user.List(context.Background(), &BucketList{})).To(Succeed())
})

// later is a definition that was installed after the suite began.
type later struct{ uninstall func() }

// installLater installs Gadgets until the end of the spec, or uninstall.
func installLater() later {
	GinkgoHelper()
	options := envtest.CRDInstallOptions{Paths: []string{"testdata/later"}, Scheme: newScheme()}
	_, err := envtest.InstallCRDs(server, options)
	Expect(err).NotTo(HaveOccurred())
	l := later{uninstall: sync.OnceFunc(func() {
		GinkgoHelper()
		Expect(envtest.UninstallCRDs(server, options)).To(Succeed())
		Eventually(func() error { return user.List(context.Background(), &GadgetList{}) }).ShouldNot(Succeed())
	})}
	DeferCleanup(l.uninstall)
	return l
}

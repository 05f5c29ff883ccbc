// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package integration runs the operator in process against a real API server, and plays the
// other controllers by hand: it binds PVCs and makes snapshots ready. What a user sees on the
// API server is what is asserted.
//
//	suite_test.go      the API server
//	manager_test.go    the operator, at a time and behind a network of the test's choice
//	network_test.go    that network: it records, delays and lies
//	world_test.go      a namespace, and what a user and the other controllers do in it
//	…                  the clauses of the contract, by section
package integration

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

var (
	ctx    = context.Background()
	scheme = runtime.NewScheme()
	config *rest.Config
	// api is the user's, and the other controllers'.
	api client.Client
)

func init() {
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(snapshotv1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
}

func TestIntegration(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: these tests need kube-apiserver and etcd. Run them with: make test-integration")
	}
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(20 * time.Second)
	SetDefaultEventuallyPollingInterval(25 * time.Millisecond)
	SetDefaultConsistentlyPollingInterval(25 * time.Millisecond)
	RunSpecs(t, "The contract, on a real API server")
}

// Each process of a parallel run has an API server of its own.
var _ = BeforeSuite(func() {
	ctrl.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	environment := &envtest.Environment{
		CRDDirectoryPaths: []string{
			filepath.Join("..", "..", "config", "crd", "bases"),
			filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "crds"),
		},
		ErrorIfCRDPathMissing: true,
	}
	// A plugin that clusters may run, and that the operator needs a permission for.
	environment.ControlPlane.GetAPIServer().Configure().
		Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
	var err error
	config, err = environment.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(environment.Stop)
	config.QPS = -1
	api, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	allowOperator()
})

// operatorUser is who the operator is to the API server: it may do what the role that is
// shipped allows, and nothing else.
const operatorUser = "operator"

func allowOperator() {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "rbac", "role.yaml"))
	Expect(err).NotTo(HaveOccurred())
	role := &rbacv1.ClusterRole{}
	Expect(yaml.UnmarshalStrict(text, role)).To(Succeed())
	Expect(api.Create(ctx, role)).To(Succeed())
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: operatorUser}}
	binding.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}
	binding.Subjects = []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: operatorUser}}
	Expect(api.Create(ctx, binding)).To(Succeed())
}

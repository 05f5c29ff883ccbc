// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package integration runs the operator in process against a real API server. The specs act as the user and as the other
// controllers: they bind PVCs and make snapshots ready. They assert on what a user sees on the API server.
//
//	suite_test.go        the API server
//	manager_test.go      the operator, with a clock and a network that the spec controls
//	network_test.go      that network: records and fails requests, changes the server's clock
//	environment_test.go  a namespace, and what a user and the other controllers do in it
//	…                    the specs, by section of the contract
package integration

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/enginetest/mutationdetector"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

var (
	ctx    = context.Background()
	scheme = cluster.Scheme
	config *rest.Config
	// api is the client of the user and of the other controllers.
	api client.Client
)

func TestIntegration(t *testing.T) {
	SetDefaultConsistentlyPollingInterval(25 * time.Millisecond)
	suite.Run(t, "Integration")
}

// Each process of a parallel run has its own API server.
var _ = BeforeSuite(func() {
	ctrl.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	server := &envtest.Environment{CRDDirectoryPaths: suite.CRDs()}
	// Clusters may enable this plugin. The operator needs a permission for it.
	server.ControlPlane.GetAPIServer().Configure().
		Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
	config = suite.Start(server)
	DeferCleanup(mutationdetector.Wait)
	api = suite.Must(client.New(config, client.Options{Scheme: scheme}))
	allowOperator()
})

// operatorUser is the operator's user. It has only the permissions of the shipped roles.
const operatorUser = "operator"

func allowOperator() {
	GinkgoHelper()
	for _, file := range []string{"role.yaml", "fleet_role.yaml"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "config", "rbac", file))
		Expect(err).NotTo(HaveOccurred())
		role := &rbacv1.ClusterRole{}
		Expect(yaml.UnmarshalStrict(text, role)).To(Succeed())
		Expect(api.Create(ctx, role)).To(Succeed())
		Expect(api.Create(ctx, bindingOf(role.Name))).To(Succeed())
	}
	// The API server knows the bindings a moment later.
	for _, resource := range []string{"snapshotschedules", "clustersnapshotschedules"} {
		Eventually(func() bool {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User:               operatorUser,
				ResourceAttributes: &authorizationv1.ResourceAttributes{Group: v1alpha1.GroupName, Resource: resource, Verb: "list"},
			}}
			Expect(api.Create(ctx, review)).To(Succeed())
			return review.Status.Allowed
		}).Should(BeTrue())
	}
}

func bindingOf(role string) *rbacv1.ClusterRoleBinding {
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: operatorUser + "-" + role}}
	binding.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
	binding.Subjects = []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: operatorUser}}
	return binding
}

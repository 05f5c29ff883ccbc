// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guardrails tests the policies of config/default, config/guardrails and config/warnings against a real API server: who may delete
// what, who may own it, who may create what a schedule adopts, and what kubectl warns of. It has an API server of its own, because the policies apply to everybody.
package guardrails

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

const (
	scheduleCRD = "snapshotschedules.snapshots.mapcontroller.dev"
	fleetCRD    = "clustersnapshotschedules.snapshots.mapcontroller.dev"
	otherCRD    = "others.example.com"

	// jane is a user with every permission.
	jane = "jane"
)

var (
	ctx    = context.Background()
	root   = filepath.Join("..", "..", "..")
	config *rest.Config
	// api is the client of jane.
	api client.Client
)

func TestGuardrails(t *testing.T) {
	suite.Run(t, "Guardrails")
}

var _ = BeforeSuite(func() {
	other := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: otherCRD}}
	other.Spec.Group, other.Spec.Scope = "example.com", apiextensionsv1.NamespaceScoped
	other.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "others", Singular: "other", Kind: "Other", ListKind: "OtherList"}
	other.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{
		Name: "v1", Served: true, Storage: true,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
	}}
	config = suite.Start(&envtest.Environment{
		CRDDirectoryPaths: slices.Concat(suite.Must(repo.SnapshotCRDFiles()), suite.Must(repo.GroupSnapshotCRDFiles()),
			[]string{filepath.Join(root, "config", "crd", "bases")}),
		CRDs: []*apiextensionsv1.CustomResourceDefinition{other},
	})
	api = as(jane)

	strict := client.WithFieldValidation(api, metav1.FieldValidationStrict)
	for _, folder := range []string{"config/default", "config/guardrails", "config/warnings"} {
		for _, o := range built(folder) {
			if strings.HasPrefix(o.GetKind(), "ValidatingAdmissionPolicy") {
				Expect(strict.Create(ctx, o)).To(Succeed(), o.GetName())
			}
		}
	}
	// The API server reads its policies asynchronously.
	probe := newSchedule(newNamespace())
	Expect(api.Create(ctx, probe)).To(Succeed())
	fleet := fleetDeletion{deletion: deletion{behind: 1}, policy: v1alpha1.DeletionDelete}.create()
	for _, o := range []client.Object{probe, fleet, newCRD(scheduleCRD)} {
		inForce(func() error { return api.Delete(ctx, o, client.DryRunAll) })
	}
	owned := newSchedule(probe.Namespace)
	owned.OwnerReferences = []metav1.OwnerReference{reference("absent")}
	inForce(func() error { return api.Create(ctx, owned.DeepCopy(), client.DryRunAll) })
	Expect(as(garbageCollector).Delete(ctx, fleet)).To(Succeed())
})

// built returns the objects of a folder of config.
func built(folder string) []*unstructured.Unstructured {
	GinkgoHelper()
	return suite.Must(repo.Decode(suite.Must(repo.Kustomize(ctx, root, folder))))
}

// inForce waits until a policy refuses a request.
func inForce(request func() error) {
	GinkgoHelper()
	Eventually(func() bool { return apierrors.IsForbidden(request()) }).Should(BeTrue(), "the policy should be in force")
}

// as returns a client of a user with every permission.
func as(user string) client.Client {
	GinkgoHelper()
	return confined(user, "system:masters")
}

// confined returns a client of a user with no permissions but those of a role or a group.
func confined(user string, groups ...string) client.Client {
	GinkgoHelper()
	impersonated := rest.CopyConfig(config)
	impersonated.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return suite.Must(client.New(impersonated, client.Options{Scheme: cluster.Scheme}))
}

func newNamespace() string {
	GinkgoHelper()
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "guarded-"}}
	Expect(api.Create(ctx, n)).To(Succeed())
	return n.Name
}

func newSchedule(namespace string) *v1alpha1.SnapshotSchedule {
	s := &v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "backup-"}}
	s.Spec.SnapshotInterval = "6h"
	return s
}

func newCRD(name string) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

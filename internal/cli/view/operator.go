// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"context"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// DocumentedNamespace is where the installation of the documentation puts the operator.
const DocumentedNamespace = "snapshotschedule-system"

// OperatorNamespaces returns in which namespaces an operator may be: those of the accounts that have its ClusterRole in the
// whole cluster or, where they are not known, that of the documentation. Whoever has the role edit in a namespace can make
// a lease, a ServiceAccount and a Deployment of any name in it, but no ClusterRoleBinding.
func OperatorNamespaces(ctx context.Context, f *term.Factory) []string {
	bindings, found := &rbacv1.ClusterRoleBindingList{}, sets.New[string]()
	// If they may not be listed, there is none.
	_ = f.List(ctx, bindings, client.MatchingLabels{"app.kubernetes.io/name": snapshots.Name})
	for _, b := range bindings.Items {
		for _, subject := range b.Subjects {
			if strings.HasSuffix(b.RoleRef.Name, "-manager-role") && subject.Kind == rbacv1.ServiceAccountKind {
				found.Insert(subject.Namespace)
			}
		}
	}
	if len(found) == 0 {
		found.Insert(DocumentedNamespace)
	}
	return sets.List(found)
}

// OperatorDeployments returns the Deployments of the operator in some namespaces, and the error of the first that could not be read.
func OperatorDeployments(ctx context.Context, f *term.Factory, namespaces []string) (all []appsv1.Deployment, err error) {
	for _, namespace := range namespaces {
		found := &appsv1.DeploymentList{}
		failed := f.List(ctx, found, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/name": snapshots.Name})
		err = cmp.Or(err, failed)
		all = append(all, found.Items...)
	}
	return all, err
}

// managerContainer is the operator's container, in its Deployment.
const managerContainer = "manager"

// ManagerImage returns the image of the operator; empty if the Deployment has no container of its name.
func ManagerImage(d *appsv1.Deployment) string {
	for _, c := range d.Spec.Template.Spec.Containers {
		if c.Name == managerContainer {
			return c.Image
		}
	}
	return ""
}

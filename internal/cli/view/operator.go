// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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

// manager returns the operator's container; an empty one if the Deployment has none of its name.
func manager(d *appsv1.Deployment) (found corev1.Container) {
	for _, c := range d.Spec.Template.Spec.Containers {
		if c.Name == managerContainer {
			return c
		}
	}
	return found
}

// ManagerImage returns the image of the operator; empty if it is not known.
func ManagerImage(d *appsv1.Deployment) string { return manager(d).Image }

// ManagerFlag returns the value of a flag of the operator; empty if it has none.
func ManagerFlag(d *appsv1.Deployment, flag string) string {
	c := manager(d)
	all := slices.Concat(c.Command, c.Args)
	for i, arg := range all {
		switch name, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "="); {
		case name != flag || name == arg:
		case given:
			return value
		case i+1 < len(all) && !strings.HasPrefix(all[i+1], "-"):
			return all[i+1]
		default:
			return "true"
		}
	}
	return ""
}

// Elects returns whether the operator takes part in leader election: else it renews no lease.
func Elects(d appsv1.Deployment) bool {
	elects, _ := strconv.ParseBool(ManagerFlag(&d, "leader-elect"))
	return elects
}

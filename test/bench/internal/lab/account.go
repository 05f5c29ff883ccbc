// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// The operator's account, as shipped. The bare client goes under the same, so that the API
// server authorizes and queues both alike.
const (
	systemNamespace = "snapshotschedule-system"
	user            = "system:serviceaccount:" + systemNamespace + ":snapshotschedule-controller-manager"
)

// admitOperator gives the account the shipped roles, and writes its kubeconfig.
func (l *Lab) admitOperator(ctx context.Context) error {
	if err := l.Namespace(ctx, systemNamespace); err != nil {
		return err
	}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	cluster := &rbacv1.ClusterRole{}
	if err := l.createFrom(ctx, "role.yaml", cluster); err != nil {
		return err
	}
	if err := l.Client.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: cluster.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: cluster.Name},
		Subjects:   subjects,
	}); err != nil {
		return err
	}
	election := &rbacv1.Role{}
	if err := l.createFrom(ctx, "leader_election_role.yaml", election); err != nil {
		return err
	}
	if err := l.Client.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: election.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: election.Name},
		Subjects:   subjects,
	}); err != nil {
		return err
	}
	account, err := l.environment.AddUser(envtest.User{Name: user, Groups: []string{"system:serviceaccounts"}}, l.config)
	if err != nil {
		return err
	}
	text, err := account.KubeConfig()
	if err != nil {
		return err
	}
	l.Kubeconfig = filepath.Join(l.dir, "kubeconfig")
	return os.WriteFile(l.Kubeconfig, text, 0o600)
}

// createFrom creates what a file of config/rbac says, in the operator's namespace if it has one.
func (l *Lab) createFrom(ctx context.Context, file string, into client.Object) error {
	text, err := os.ReadFile(filepath.Join(l.root, "config", "rbac", file))
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		return err
	}
	if _, namespaced := into.(*rbacv1.Role); namespaced {
		into.SetNamespace(systemNamespace)
	}
	return l.Client.Create(ctx, into)
}

// Namespace creates a namespace.
func (l *Lab) Namespace(ctx context.Context, name string) error {
	return l.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

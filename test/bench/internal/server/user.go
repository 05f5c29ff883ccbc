// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package server

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

	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
)

const systemNamespace = cluster.SystemNamespace

// user is the operator's, as shipped. The bare client uses the same, so that the API server authorizes
// and queues both in the same way.
var user = cluster.OperatorUser(systemNamespace)

// addOperatorUser binds the shipped roles to the user and writes its kubeconfig.
func (s *Server) addOperatorUser(ctx context.Context) error {
	if err := s.Namespace(ctx, systemNamespace); err != nil {
		return err
	}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	role := &rbacv1.ClusterRole{}
	if err := s.createFrom(ctx, "role.yaml", role); err != nil {
		return err
	}
	if err := s.Client.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   subjects,
	}); err != nil {
		return err
	}
	election := &rbacv1.Role{}
	if err := s.createFrom(ctx, "leader_election_role.yaml", election); err != nil {
		return err
	}
	if err := s.Client.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: election.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: election.Name},
		Subjects:   subjects,
	}); err != nil {
		return err
	}
	added, err := s.environment.AddUser(envtest.User{Name: user, Groups: []string{"system:serviceaccounts"}}, s.config)
	if err != nil {
		return err
	}
	text, err := added.KubeConfig()
	if err != nil {
		return err
	}
	s.kubeconfig = filepath.Join(s.dir, "kubeconfig")
	return os.WriteFile(s.kubeconfig, text, 0o600)
}

// createFrom creates the role in a file of config/rbac, in the operator's namespace if it has one.
func (s *Server) createFrom(ctx context.Context, file string, into client.Object) error {
	text, err := os.ReadFile(filepath.Join(s.root, "config", "rbac", file))
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		return err
	}
	if _, namespaced := into.(*rbacv1.Role); namespaced {
		into.SetNamespace(systemNamespace)
	}
	return s.Client.Create(ctx, into)
}

// Namespace creates a namespace.
func (s *Server) Namespace(ctx context.Context, name string) error {
	return s.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

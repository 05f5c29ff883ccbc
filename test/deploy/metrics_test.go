// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The ServiceAccounts of pods that read the metrics: one with the role for it, and one without. token is the path of
// a ServiceAccount's token in its pods.
const (
	observer = "observer"
	reader   = "reader"
	stranger = "stranger"
	token    = "/var/run/secrets/kubernetes.io/serviceaccount/token"
)

// observe creates the ServiceAccounts, until the end of the spec.
func observe(ctx context.Context) {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: observer}}
	objects := []client.Object{ns}
	for _, name := range []string{reader, stranger} {
		objects = append(objects, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: observer, Name: name}})
	}
	objects = append(objects, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: observer},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: metricsReader},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: observer, Name: reader}},
	})
	for _, o := range objects {
		Expect(cluster.Client.Create(ctx, o)).To(Succeed())
	}
	DeferCleanup(func(ctx context.Context) {
		kubectl(ctx, "delete", "clusterrolebinding/"+observer, "namespace/"+observer, "--timeout=1m")
	})
}

// metricsURL returns the URL of the operator's Service.
func metricsURL(ctx context.Context) string {
	GinkgoHelper()
	service := &corev1.Service{}
	Expect(cluster.Client.Get(ctx, client.ObjectKey{Namespace: system, Name: metricsService}, service)).To(Succeed())
	return fmt.Sprintf("https://%s:%d/metrics", service.Spec.ClusterIP, service.Spec.Ports[0].Port)
}

// scrape reads a URL from a pod with a ServiceAccount. See inpod for the optional arguments.
func scrape(ctx context.Context, pod, account, url string, args ...string) string {
	GinkgoHelper()
	p := inpodPod(observer, pod, append([]string{"get", url}, args...)...)
	p.Spec.ServiceAccountName = account
	return output(ctx, p)
}

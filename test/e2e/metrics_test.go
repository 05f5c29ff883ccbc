// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var _ = Describe("the metrics endpoint", func() {
	It("serves its metrics over HTTPS to authorized clients only", func(ctx context.Context) {
		// The server logs the port of its flag, so with port 0 it could not be found.
		l, err := net.Listen("tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		address := l.Addr().String()
		Expect(l.Close()).To(Succeed())
		cluster.Start(ctx, "--metrics-bind-address="+address)
		namespace := cluster.Namespace(ctx, "metrics")
		account(ctx, namespace, "reader")
		account(ctx, namespace, "stranger")
		create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: namespace},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "snapshotschedule-metrics-reader"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "reader"}},
		})
		insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		defer insecure.CloseIdleConnections()
		// answers returns a function that expects an answer of the endpoint, which is up before the controller.
		answers := func(scheme, token string, code int, contains string) func(Gomega) {
			return func(g Gomega) {
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+address+"/metrics", http.NoBody)
				g.Expect(err).NotTo(HaveOccurred())
				if token != "" {
					request.Header.Set("Authorization", "Bearer "+token)
				}
				answer, err := insecure.Do(request)
				g.Expect(err).NotTo(HaveOccurred())
				defer answer.Body.Close()
				page, err := io.ReadAll(answer.Body)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(answer.StatusCode).To(Equal(code), "%s", page)
				g.Expect(string(page)).To(ContainSubstring(contains))
			}
		}
		reader := cluster.Token(ctx, namespace, "reader")
		Eventually(answers("https", reader, http.StatusOK, `controller_runtime_reconcile_total{controller="snapshotschedule"`)).
			WithContext(ctx).Should(Succeed())
		Eventually(answers("https", "", http.StatusUnauthorized, "")).WithContext(ctx).Should(Succeed())
		Eventually(answers("https", cluster.Token(ctx, namespace, "stranger"), http.StatusForbidden, "")).WithContext(ctx).Should(Succeed())
		Eventually(answers("http", "", http.StatusBadRequest, "")).WithContext(ctx).Should(Succeed())
	})
})

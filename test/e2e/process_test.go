// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("the operator's process", func() {
	It("answers the probes and exits 0 soon after SIGTERM, even while it works", func(ctx context.Context) {
		namespace, history := cluster.Recorded(ctx, "stop", 5)
		operator := cluster.Start(ctx)
		Expect(operator.Probe("healthz")).To(Equal(http.StatusOK))
		Expect(operator.Probe("readyz")).To(Equal(http.StatusOK))

		cluster.Schedule(ctx, namespace, hourly)
		Eventually(history.All).WithContext(ctx).WithPolling(time.Millisecond).ShouldNot(BeEmpty())
		mark := time.Now()
		operator.Stop()
		AddReportEntry("time from SIGTERM to the exit", time.Since(mark).Round(time.Millisecond))
		Expect(time.Since(mark)).To(BeNumerically("<", 5*time.Second))

		By("the next start taking the missing snapshots, and none twice")
		cluster.Start(ctx)
		Eventually(history.All).WithContext(ctx).Should(HaveLen(5))
		eventuallySnapshots(ctx, namespace, 5)
		Expect(history.Duplicates()).To(BeEmpty())
	})

	It("serves its metrics over HTTPS to authorized clients only", func(ctx context.Context) {
		address := freeAddress()
		cluster.Start(ctx, "--metrics-bind-address="+address)
		namespace := cluster.Namespace(ctx, "metrics")
		for _, name := range []string{"reader", "stranger"} {
			account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
			Expect(cluster.Client.Create(ctx, account)).To(Succeed())
		}
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: namespace},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "snapshotschedule-metrics-reader"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "reader"}},
		}
		Expect(cluster.Client.Create(ctx, binding)).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			Expect(client.IgnoreNotFound(cluster.Client.Delete(ctx, binding))).To(Succeed())
		})

		code, _ := scrape(ctx, address, "")
		Expect(code).To(Equal(http.StatusUnauthorized), "without a token")
		code, _ = scrape(ctx, address, cluster.Token(ctx, namespace, "stranger"))
		Expect(code).To(Equal(http.StatusForbidden), "with a token that no role is bound to")
		reader := cluster.Token(ctx, namespace, "reader")
		Eventually(func(g Gomega) {
			code, page := scrape(ctx, address, reader)
			g.Expect(code).To(Equal(http.StatusOK), "with the role metrics-reader")
			g.Expect(page).To(ContainSubstring(`controller_runtime_reconcile_total{controller="snapshotschedule"`))
		}).WithContext(ctx).Should(Succeed(), "the endpoint is up before the controller")

		answer, err := http.Get("http://" + address + "/metrics")
		Expect(err).NotTo(HaveOccurred())
		defer answer.Body.Close()
		Expect(answer.StatusCode).To(Equal(http.StatusBadRequest), "without TLS")
	})
})

// scrape waits for the metrics endpoint and returns its answer.
func scrape(ctx context.Context, address, token string) (code int, page string) {
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer insecure.CloseIdleConnections()
	EventuallyWithOffset(1, func(g Gomega) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/metrics", http.NoBody)
		g.Expect(err).NotTo(HaveOccurred())
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := insecure.Do(request)
		g.Expect(err).NotTo(HaveOccurred())
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(answer.StatusCode).NotTo(Equal(http.StatusInternalServerError), "%s", text)
		code, page = answer.StatusCode, string(text)
	}).WithContext(ctx).Should(Succeed(), "the metrics endpoint should answer")
	return code, page
}

// freeAddress returns an address that nobody listens on. The metrics server logs the port of its flag,
// so with port 0 it could not be found.
func freeAddress() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ExpectWithOffset(1, err).NotTo(HaveOccurred())
	defer l.Close()
	return l.Addr().String()
}

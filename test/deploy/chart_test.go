// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// prometheusOperator is the module with the CRDs of the Prometheus operator, in the version of test/observe.
const prometheusOperator = "github.com/prometheus-operator/prometheus-operator@v0.91.0"

// applyMonitoringCRDs creates the CRDs of the objects by which Prometheus is configured.
func applyMonitoringCRDs(ctx context.Context) {
	GinkgoHelper()
	var module struct{ Dir string }
	Expect(json.Unmarshal([]byte(run(ctx, nil, "go", "mod", "download", "-json", prometheusOperator)), &module)).To(Succeed())
	args := []string{"--server-side"}
	for _, plural := range []string{"servicemonitors", "prometheusrules"} {
		args = append(args, "-f="+filepath.Join(module.Dir, "example", "prometheus-operator-crd", "monitoring.coreos.com_"+plural+".yaml"))
	}
	DeferCleanup(func(ctx context.Context) { kubectl(ctx, append([]string{"delete"}, args[1:]...)...) })
	kubectl(ctx, append([]string{"apply"}, args...)...)
	kubectl(ctx, append([]string{"wait", "--for=condition=Established", "--timeout=1m"}, args[1:]...)...)
}

// buildChart generates the chart, as 'make build-chart' does, and returns its folder.
func buildChart(ctx context.Context) string {
	GinkgoHelper()
	chart := filepath.Join(GinkgoT().TempDir(), "chart")
	objects := run(ctx, nil, "go", "tool", "-modfile=hack/tools/kustomize.mod", "kustomize", "build", "hack/helm/source")
	run(ctx, []byte(objects), "go", "-C", "hack/helm", "run", ".", "--out", chart, "--image", repository+":"+firstTag)
	return chart
}

func helm(ctx context.Context, args ...string) string {
	GinkgoHelper()
	return run(ctx, nil, "go", append([]string{"tool", "-modfile=hack/tools/helm.mod", "helm"}, args...)...)
}

// labeled returns the only object of a kind in all namespaces that has a label, as a program that selects by it finds it.
func labeled(ctx context.Context, apiVersion, kind, key, value string) *unstructured.Unstructured {
	GinkgoHelper()
	all := &unstructured.UnstructuredList{}
	all.SetAPIVersion(apiVersion)
	all.SetKind(kind + "List")
	Expect(cluster.Client.List(ctx, all, client.MatchingLabels{key: value})).To(Succeed())
	Expect(all.Items).To(HaveLen(1))
	return &all.Items[0]
}

// createReader creates a ServiceAccount that may read the metrics, in a namespace of the same name, until the end of the spec.
func createReader(ctx context.Context) (reader string) {
	GinkgoHelper()
	reader = "reader"
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: reader}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: reader, Name: reader}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: reader},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "snapshotschedule-metrics-reader"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: reader, Name: reader}},
		},
	} {
		Expect(cluster.Client.Create(ctx, o)).To(Succeed())
	}
	DeferCleanup(func(ctx context.Context) {
		kubectl(ctx, "delete", "clusterrolebinding/"+reader, "namespace/"+reader, "--timeout=1m")
	})
	return reader
}

var _ = Describe("the chart on a node", Ordered, func() {
	const (
		release    = "snapshotschedule"
		monitoring = "monitoring.coreos.com/v1"
		namespace  = "charted"
		docs       = "https://wiki.example.com/docs"
		// A lease that is released is acquired at the next check.
		handoverPause = 12 * time.Second
	)
	var (
		chart string
		w     *workload
		start audit.Mark
	)

	BeforeAll(func(ctx context.Context) {
		start = cluster.mark()
		applyMonitoringCRDs(ctx)
		chart = buildChart(ctx)
		DeferCleanup(func(ctx context.Context) {
			helm(ctx, "uninstall", release, "--namespace", system, "--wait", "--ignore-not-found")
			kubectl(ctx, "delete", "namespaces", system, namespace, "--ignore-not-found", "--timeout=2m")
			kubectl(ctx, "delete", "-k", "config/crd", "--ignore-not-found", "--timeout=1m")
		}, NodeTimeout(5*time.Minute))
	}, NodeTimeout(10*time.Minute))

	It("is installed by Helm, which waits until it is ready", func(ctx context.Context) {
		helm(ctx, "install", release, chart, "--namespace", system, "--create-namespace", "--wait", "--timeout=2m",
			"--set=prometheus.enabled=true,prometheus.labels.release=stack,prometheus.interval=45s,prometheus.docsURL="+docs,
			"--set=dashboard.enabled=true")
		kubectl(ctx, "label", "namespace", system, "pod-security.kubernetes.io/enforce=restricted")
		for _, p := range pods(ctx) {
			Expect(p.Status.ContainerStatuses).To(HaveExactElements(And(HaveField("Ready", BeTrue()), HaveField("RestartCount", BeZero()))))
		}
		w = newWorkload(ctx, namespace, 2*time.Second, 2, v1alpha1.DeletionDelete)
		w.expectSnapshots(ctx)
	}, NodeTimeout(4*time.Minute))

	It("has a ServiceMonitor that a Prometheus selects by its label, and that leads to the metrics", func(ctx context.Context) {
		monitor := labeled(ctx, monitoring, "ServiceMonitor", "release", "stack")
		var spec struct {
			Endpoints []struct{ Path, Port, Scheme, Interval, BearerTokenFile string }
			Selector  struct{ MatchLabels map[string]string }
		}
		text := suite.Must(json.Marshal(monitor.Object["spec"]))
		Expect(json.Unmarshal(text, &spec)).To(Succeed())
		Expect(spec.Endpoints).To(HaveExactElements(HaveField("Interval", "45s")))
		endpoint := spec.Endpoints[0]

		By("discovering and scraping its endpoints as Prometheus does")
		services := &corev1.ServiceList{}
		Expect(cluster.Client.List(ctx, services, client.InNamespace(monitor.GetNamespace()),
			client.MatchingLabels(spec.Selector.MatchLabels))).To(Succeed())
		Expect(services.Items).To(HaveLen(1))
		slices := &discoveryv1.EndpointSliceList{}
		Expect(cluster.Client.List(ctx, slices, client.InNamespace(monitor.GetNamespace()),
			client.MatchingLabels{discoveryv1.LabelServiceName: services.Items[0].Name})).To(Succeed())
		reader := createReader(ctx)
		active := 0
		for _, slice := range slices.Items {
			Expect(slice.Ports).To(HaveExactElements(HaveField("Name", HaveValue(Equal(endpoint.Port)))))
			for i, e := range slice.Endpoints {
				Expect(e.Conditions.Ready).To(HaveValue(BeTrue()))
				url := fmt.Sprintf("%s://%s:%d%s", endpoint.Scheme, e.Addresses[0], *slice.Ports[0].Port, endpoint.Path)
				scraper := inpodPod(reader, fmt.Sprintf("endpoint-%d", i), "get", url, endpoint.BearerTokenFile)
				scraper.Spec.ServiceAccountName = reader
				metrics := output(ctx, scraper)
				// The container's limit is 512 MiB; 90 % of it is the limit of Go's runtime.
				Expect(metrics).To(And(HavePrefix("200\n"), ContainSubstring("\ngo_gc_gomemlimit_bytes 4.83183819e+08\n"),
					ContainSubstring(`snapshotschedule_build_info{`)))
				if strings.Contains(metrics, "\nsnapshotschedule_active 1\n") {
					active++
					Expect(metrics).To(ContainSubstring("snapshotschedule_oldest_recovery_point_timestamp_seconds{namespace=%q", namespace))
				}
			}
		}
		Expect(active).To(Equal(1))
	}, NodeTimeout(3*time.Minute))

	It("has alerts that a Prometheus selects by the label, with links to the pages, and a dashboard", func(ctx context.Context) {
		text := suite.Must(labeled(ctx, monitoring, "PrometheusRule", "release", "stack").MarshalJSON())
		alerts := strings.Count(string(text), `"alert":`)
		Expect(alerts).To(BeNumerically(">", 5))
		Expect(strings.Count(string(text), `"runbook_url":"`+docs+`/runbooks/`)).To(Equal(alerts))
		Expect(labeled(ctx, "v1", "ConfigMap", "grafana_dashboard", "1").GetNamespace()).To(Equal(system))
	})

	It("takes snapshots during an upgrade to another image", func(ctx context.Context) {
		since := time.Now()
		before := pods(ctx)
		old := before[0].Status.ContainerStatuses[0].ImageID
		helm(ctx, "upgrade", release, chart, "--namespace", system, "--wait", "--timeout=2m", "--reuse-values",
			"--set=manager.image.tag="+secondTag+",prometheus.interval=1m")
		eventuallyAvailable(ctx)
		w.expectSnapshots(ctx)
		pause := w.pause(ctx, since)
		reportf("rolling update: at most %s without a snapshot", pause)
		Expect(pause).To(BeNumerically("<", handoverPause))
		for _, p := range pods(ctx) {
			Expect(before).NotTo(ContainElement(HaveField("UID", p.UID)))
			Expect(p.Status.ContainerStatuses).To(HaveExactElements(And(
				HaveField("Image", repository+":"+secondTag), HaveField("ImageID", Not(Equal(old))), HaveField("RestartCount", BeZero()))))
		}
		endpoints, _, err := unstructured.NestedSlice(labeled(ctx, monitoring, "ServiceMonitor", "release", "stack").Object, "spec", "endpoints")
		Expect(err).NotTo(HaveOccurred())
		Expect(endpoints).To(HaveExactElements(HaveKeyWithValue("interval", "1m")))
		Expect(cluster.requests(start).Where(forbidden)).To(BeEmpty())
	}, NodeTimeout(4*time.Minute))

	It("leaves schedules and snapshots when it is uninstalled, and continues with them when it is installed again", func(ctx context.Context) {
		helm(ctx, "uninstall", release, "--namespace", system, "--wait", "--timeout=2m")
		Expect(pods(ctx)).To(BeEmpty())
		snapshots, schedule := w.snapshots(ctx), w.current(ctx)
		Expect(snapshots).NotTo(BeEmpty())

		helm(ctx, "install", release, chart, "--namespace", system, "--wait", "--timeout=2m",
			"--values="+filepath.Join(chart, "ci", "everything-values.yaml"))
		w.expectSnapshots(ctx)
		w.expectAll(ctx, snapshots)
		Expect(w.current(ctx).UID).To(Equal(schedule.UID))
		for _, p := range pods(ctx) {
			Expect(p.Labels).To(HaveKeyWithValue("team", "storage"))
			Expect(p.Spec.ServiceAccountName).To(Equal("snapshotter"))
		}
		Eventually(func() error { return cluster.Client.Delete(ctx, schedule, client.DryRunAll) }).WithTimeout(30 * time.Second).
			Should(MatchError(ContainSubstring("would delete its snapshots")))
	}, NodeTimeout(4*time.Minute))

	It("leaves nothing but the CRDs when it is uninstalled", func(ctx context.Context) {
		manifest := helm(ctx, "get", "manifest", release, "--namespace", system)
		helm(ctx, "uninstall", release, "--namespace", system, "--wait", "--timeout=2m")
		left := run(ctx, []byte(manifest), "kubectl", "get", "--namespace", system, "--filename=-", "--ignore-not-found", "--output=name")
		Expect(strings.Fields(left)).To(HaveEach(HavePrefix("customresourcedefinition.")))
		Expect(strings.Fields(left)).To(HaveLen(2))
	}, NodeTimeout(3*time.Minute))
})

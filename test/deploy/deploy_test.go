// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("config/default on a node", Ordered, func() {
	// A takeover after a crash takes less than the interval of steady, so none of
	// its slots may be lost; brisk shows for how long nothing was taken.
	const (
		steadyInterval = 30 * time.Second
		briskInterval  = 2 * time.Second
		// The lease runs out after 15 s and is looked at every 2 s and a bit; the
		// first snapshot then waits for its slot.
		crashPause = 25 * time.Second
		// A lease that is given up is taken at the next look.
		handoverPause = 12 * time.Second
	)
	var steady, brisk *workload

	// paused reports the longest time without a snapshot in brisk since a moment.
	paused := func(ctx context.Context, what string, since time.Time) time.Duration {
		pause := brisk.pause(ctx, since)
		tell("%s: at most %s without a snapshot", what, pause)
		return pause
	}

	It("is applied with kubectl, and both replicas become ready by kubelet's probes", func(ctx context.Context) {
		start := time.Now()
		run(ctx, kustomize(ctx, firstTag), "kubectl", "apply", "--server-side", "-f", "-")
		eventuallyAvailable(ctx)
		tell("available %s after kubectl apply", time.Since(start).Round(time.Second/10))
		for _, p := range pods(ctx) {
			c := p.Spec.Containers[0]
			Expect(c.LivenessProbe.HTTPGet.Path).To(Equal("/healthz"))
			Expect(c.ReadinessProbe.HTTPGet.Path).To(Equal("/readyz"))
			Expect(c.Resources.Requests).To(And(HaveKey(corev1.ResourceCPU), HaveKey(corev1.ResourceMemory)))
			Expect(c.Resources.Limits).To(HaveKey(corev1.ResourceMemory))
			Expect(p.Status.ContainerStatuses).To(HaveExactElements(And(
				HaveField("Ready", BeTrue()), HaveField("Image", repository+":"+firstTag), HaveField("RestartCount", BeZero()))))
		}
	}, NodeTimeout(3*time.Minute))

	It("runs in a namespace that admits restricted pods only", func(ctx context.Context) {
		ns := &corev1.Namespace{}
		Expect(cluster.Client.Get(ctx, client.ObjectKey{Name: system}, ns)).To(Succeed())
		Expect(ns.Labels).To(HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted"))
		loose := inpodPod(system, "loose", "look")
		loose.Spec.Containers[0].SecurityContext = nil
		Expect(cluster.Client.Create(ctx, loose)).To(MatchError(ContainSubstring(`violates PodSecurity "restricted`)))
	})

	It("takes snapshots", func(ctx context.Context) {
		eventuallyLed(ctx, "")
		steady = newWorkload(ctx, "steady", steadyInterval, 3)
		brisk = newWorkload(ctx, "brisk", briskInterval, 2)
		brisk.goesOn(ctx)
		steady.goesOn(ctx)
	}, NodeTimeout(3*time.Minute))

	It("runs as nobody, with no rights over the machine and a root that can't be written", func(ctx context.Context) {
		pod, _ := leader(ctx)
		Expect(lookInto(ctx, pod)).To(And(
			HaveKeyWithValue("Name", "manager"),
			HaveKeyWithValue("Uid", "65532 65532 65532 65532"),
			HaveKeyWithValue("Gid", "65532 65532 65532 65532"),
			HaveKeyWithValue("CapEff", "0000000000000000"),
			HaveKeyWithValue("CapBnd", "0000000000000000"),
			HaveKeyWithValue("NoNewPrivs", "1"),
			// 2 is a filter: the runtime's default.
			HaveKeyWithValue("Seccomp", "2"),
			HaveKeyWithValue("root", HavePrefix("ro,"))))
	}, NodeTimeout(2*time.Minute))

	It("serves its metrics through the Service, to those who may read them", func(ctx context.Context) {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "observer"}}
		Expect(cluster.Client.Create(ctx, ns)).To(Succeed())
		for _, name := range []string{"reader", "stranger"} {
			Expect(cluster.Client.Create(ctx, &corev1.ServiceAccount{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: name}})).To(Succeed())
		}
		Expect(cluster.Client.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "observer"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: metricsReader},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ns.Name, Name: "reader"}},
		})).To(Succeed())
		service := &corev1.Service{}
		Expect(cluster.Client.Get(ctx, client.ObjectKey{Namespace: system, Name: metricsService}, service)).To(Succeed())
		url := fmt.Sprintf("https://%s:%d/metrics", service.Spec.ClusterIP, service.Spec.Ports[0].Port)

		scrape := func(pod, account string, token ...string) string {
			p := inpodPod(ns.Name, pod, append([]string{"get", url}, token...)...)
			p.Spec.ServiceAccountName = account
			return output(ctx, p)
		}
		const token = "/var/run/secrets/kubernetes.io/serviceaccount/token"
		Expect(scrape("without-token", "reader")).To(HavePrefix("401\n"))
		Expect(scrape("stranger", "stranger", token)).To(HavePrefix("403\n"))
		// Either replica may answer; only the leader has something to tell.
		const leads, standsBy = "\nsnapshotschedule_active 1\n", "\nsnapshotschedule_active 0\n"
		created := ContainSubstring("\nsnapshotschedule_snapshots_created_total{namespace=%q,schedule=%q} ", steady.namespace, steady.schedule.Name)
		Expect(scrape("leader", "reader", token, leads)).To(And(HavePrefix("200\n"), ContainSubstring(leads), created))
		Expect(scrape("standby", "reader", token, standsBy)).To(And(HavePrefix("200\n"), ContainSubstring(standsBy), Not(created)))
	}, NodeTimeout(3*time.Minute))

	It("goes on when the leader's container is killed", func(ctx context.Context) {
		since := time.Now()
		name, identity := leader(ctx)
		id := strings.TrimPrefix(podNamed(ctx, name).Status.ContainerStatuses[0].ContainerID, "containerd://")
		run(ctx, nil, "ctr", "--address", cluster.Containerd, "--namespace", "k8s.io", "tasks", "kill", "--signal", "SIGKILL", id)
		// The other replica, or the same pod with a new process: kubelet is fast.
		eventuallyLed(ctx, identity)
		brisk.goesOn(ctx)
		Expect(paused(ctx, "leader killed", since)).To(BeNumerically("<", crashPause))
		Eventually(func() int32 { return podNamed(ctx, name).Status.ContainerStatuses[0].RestartCount }).WithContext(ctx).
			Should(BeEquivalentTo(1), "kubelet should start it again")
		eventuallyAvailable(ctx)
	}, NodeTimeout(3*time.Minute))

	It("goes on when the leader's pod is deleted by force", func(ctx context.Context) {
		since := time.Now()
		name, identity := leader(ctx)
		kubectl(ctx, "-n", system, "delete", "pod", name, "--grace-period=0", "--force")
		eventuallyLed(ctx, identity)
		brisk.goesOn(ctx)
		Expect(paused(ctx, "leader's pod deleted by force", since)).To(BeNumerically("<", crashPause))
		eventuallyAvailable(ctx)
		Expect(pods(ctx)).NotTo(ContainElement(HaveField("Name", name)))
	}, NodeTimeout(3*time.Minute))

	It("comes back after the node was drained", func(ctx context.Context) {
		since := time.Now()
		before := pods(ctx)
		DeferCleanup(func(ctx context.Context) { kubectl(ctx, "uncordon", "local") })
		kubectl(ctx, "drain", "local", "--force", "--timeout=1m")
		for _, p := range pods(ctx) {
			Expect(before).NotTo(ContainElement(HaveField("UID", p.UID)))
			Expect(p.Status.Phase).To(Equal(corev1.PodPending))
		}
		_, identity := leader(ctx)
		Expect(identity).To(BeEmpty(), "a leader that is asked to end should give up its lease")
		kubectl(ctx, "uncordon", "local")
		eventuallyAvailable(ctx)
		brisk.goesOn(ctx)
		Expect(paused(ctx, "node drained", since)).To(BeNumerically("<", crashPause))
	}, NodeTimeout(3*time.Minute))

	It("is upgraded to another image while slots are served", func(ctx context.Context) {
		since := time.Now()
		before := pods(ctx)
		old := before[0].Status.ContainerStatuses[0].ImageID
		run(ctx, kustomize(ctx, secondTag), "kubectl", "apply", "--server-side", "-f", "-")
		kubectl(ctx, "-n", system, "rollout", "status", "deployment", deploymentName, "--timeout=2m")
		eventuallyAvailable(ctx)
		brisk.goesOn(ctx)
		Expect(paused(ctx, "rolling update", since)).To(BeNumerically("<", handoverPause))
		after := pods(ctx)
		Expect(after).To(HaveLen(2))
		for _, p := range after {
			Expect(before).NotTo(ContainElement(HaveField("UID", p.UID)))
			Expect(p.Status.ContainerStatuses).To(HaveExactElements(And(
				HaveField("Image", repository+":"+secondTag), HaveField("ImageID", Not(Equal(old))), HaveField("RestartCount", BeZero()))))
		}
	}, NodeTimeout(4*time.Minute))

	It("has lost no slot and served none twice", func(ctx context.Context) {
		steady.goesOn(ctx)
		brisk.goesOn(ctx)
		for _, w := range []*workload{steady, brisk} {
			w.suspend(ctx)
			w.expectReady(ctx)
		}
		slots := steady.expectEverySlot(ctx, steady.newest(ctx))
		served := 0
		for _, claim := range brisk.claims {
			served += len(brisk.taken(ctx, claim))
		}
		tell("%d slots of every %s: none lost, none served twice; %d of every %s: none served twice",
			slots, steadyInterval, served, briskInterval)
	}, NodeTimeout(3*time.Minute))

	It("has needed no right that it does not have, and made no trouble", func(ctx context.Context) {
		Expect(cluster.forbidden()).To(BeEmpty())
		for _, namespace := range []string{system, steady.namespace, brisk.namespace} {
			Expect(warnings(ctx, namespace)).To(BeEmpty())
		}
	})
})

// tell adds a line to the report, for people.
func tell(format string, args ...any) {
	AddReportEntry(fmt.Sprintf(format, args...), ReportEntryVisibilityAlways)
}

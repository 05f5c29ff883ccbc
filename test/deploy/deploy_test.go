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

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
)

var _ = Describe("config/default on a node", Ordered, func() {
	// A takeover after a crash takes less than the interval of slow, so none of its slots may be missed. fast
	// shows how long no snapshot was taken.
	const (
		slowInterval = 30 * time.Second
		fastInterval = 2 * time.Second
		// The lease expires after 15 s and is checked every 2 s or more. Then the first snapshot waits for its
		// slot.
		crashPause = 25 * time.Second
	)
	var (
		slow, fast *workload
		start      audit.Mark
	)

	// paused reports and returns the longest time without a snapshot in fast since a time.
	paused := func(ctx context.Context, what string, since time.Time) time.Duration {
		pause := fast.pause(ctx, since)
		reportf("%s: at most %s without a snapshot", what, pause)
		return pause
	}

	BeforeAll(func(ctx context.Context) {
		start = cluster.mark()
		DeferCleanup(uninstall, kustomize(ctx, root, firstTag), "slow", "fast", NodeTimeout(5*time.Minute))
	})

	It("is applied with kubectl, and both replicas become ready by kubelet's probes", func(ctx context.Context) {
		start := time.Now()
		run(ctx, kustomize(ctx, root, firstTag), "kubectl", "apply", "--server-side", "-f", "-")
		eventuallyAvailable(ctx)
		reportf("available %s after kubectl apply", time.Since(start).Round(time.Second/10))
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

	It("takes snapshots", func(ctx context.Context) {
		eventuallyLeader(ctx, "")
		slow = newWorkload(ctx, "slow", slowInterval, 3, v1alpha1.DeletionDelete)
		fast = newWorkload(ctx, "fast", fastInterval, 2, v1alpha1.DeletionDelete)
		fast.expectSnapshots(ctx)
		slow.expectSnapshots(ctx)
	}, NodeTimeout(3*time.Minute))

	It("runs as nobody, without capabilities and with a read-only root filesystem", func(ctx context.Context) {
		pod, _ := leader(ctx)
		Expect(inspect(ctx, pod)).To(And(
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

	It("keeps taking snapshots when the leader's container is killed", func(ctx context.Context) {
		since := time.Now()
		name, identity := leader(ctx)
		id := strings.TrimPrefix(getPod(ctx, name).Status.ContainerStatuses[0].ContainerID, "containerd://")
		run(ctx, nil, "ctr", "--address", cluster.State.Containerd, "--namespace", "k8s.io", "tasks", "kill", "--signal", "SIGKILL", id)
		// The other replica, or the same pod with a new process: kubelet is fast.
		eventuallyLeader(ctx, identity)
		fast.expectSnapshots(ctx)
		Expect(paused(ctx, "leader killed", since)).To(BeNumerically("<", crashPause))
		Eventually(func() int32 { return getPod(ctx, name).Status.ContainerStatuses[0].RestartCount }).WithContext(ctx).
			Should(BeEquivalentTo(1), "kubelet should start it again")
		eventuallyAvailable(ctx)
	}, NodeTimeout(3*time.Minute))

	It("takes snapshots again after the node was drained", func(ctx context.Context) {
		before := pods(ctx)
		DeferCleanup(func(ctx context.Context) { kubectl(ctx, "uncordon", "local") })
		kubectl(ctx, "drain", "local", "--force", "--timeout=1m")
		for _, p := range pods(ctx) {
			Expect(before).NotTo(ContainElement(HaveField("UID", p.UID)))
			Expect(p.Status.Phase).To(Equal(corev1.PodPending))
		}
		_, identity := leader(ctx)
		Expect(identity).To(BeEmpty(), "a leader should release its lease on SIGTERM")
		kubectl(ctx, "uncordon", "local")
		eventuallyAvailable(ctx)
		fast.expectSnapshots(ctx)
		// Until then there is no operator: how long a drain and kubelet take is the node's.
		name, _ := leader(ctx)
		started := getPod(ctx, name).Status.ContainerStatuses[0].State.Running.StartedAt.Time
		Expect(paused(ctx, "node drained", started)).To(BeNumerically("<", crashPause))
	}, NodeTimeout(3*time.Minute))

	It("has missed no slot and taken none twice", func(ctx context.Context) {
		slow.expectSnapshots(ctx)
		fast.expectSnapshots(ctx)
		for _, w := range []*workload{slow, fast} {
			w.suspend(ctx)
			w.expectReady(ctx)
		}
		slots := slow.expectEverySlot(ctx, slow.newest(ctx))
		taken := 0
		for _, claim := range fast.claims {
			taken += len(fast.taken(ctx, claim))
		}
		reportf("%d slots with interval %s: none missed, none taken twice; %d snapshots with interval %s: no slot taken twice",
			slots, slowInterval, taken, fastInterval)
	}, NodeTimeout(3*time.Minute))

	It("made no request that is not permitted, and caused no warnings", func(ctx context.Context) {
		Expect(cluster.requests(start).Where(forbidden)).To(BeEmpty())
		for _, namespace := range []string{system, slow.namespace} {
			Expect(warnings(ctx, namespace)).To(BeEmpty())
		}
		// Without an operator for seconds, recovery points of a schedule of seconds are old.
		Expect(warnings(ctx, fast.namespace)).To(Or(BeEmpty(), HaveEach(HavePrefix("RecoveryPointsOld SnapshotSchedule/"))))
	})
})

// reportf adds a line to the report.
func reportf(format string, args ...any) {
	AddReportEntry(fmt.Sprintf(format, args...), ReportEntryVisibilityAlways)
}

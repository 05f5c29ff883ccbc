// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	local "mapcontroller.dev/snapshotschedule/test/internal/cluster"
)

// Names in config/default.
const (
	system         = local.SystemNamespace
	deploymentName = "snapshotschedule-controller-manager"
)

// pods returns the operator's pods that are not being deleted.
func pods(ctx context.Context) []corev1.Pod {
	GinkgoHelper()
	all := &corev1.PodList{}
	Expect(cluster.Client.List(ctx, all, client.InNamespace(system),
		client.MatchingLabels{"control-plane": "controller-manager"})).To(Succeed())
	var current []corev1.Pod
	for _, p := range all.Items {
		if p.DeletionTimestamp == nil {
			current = append(current, p)
		}
	}
	return current
}

// leader returns the pod that holds the lease, and its identity.
func leader(ctx context.Context) (pod, identity string) {
	GinkgoHelper()
	all := &coordinationv1.LeaseList{}
	Expect(cluster.Client.List(ctx, all, client.InNamespace(system))).To(Succeed())
	Expect(len(all.Items)).To(BeNumerically("<=", 1), "there should be one lease")
	if len(all.Items) == 0 || all.Items[0].Spec.HolderIdentity == nil {
		return "", ""
	}
	identity = *all.Items[0].Spec.HolderIdentity
	pod, _, _ = strings.Cut(identity, "_")
	return pod, identity
}

// eventuallyLeader waits until one of the operator's pods holds the lease under another identity.
func eventuallyLeader(ctx context.Context, not string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		name, identity := leader(ctx)
		g.Expect(identity).NotTo(Or(BeEmpty(), Equal(not)))
		g.Expect(pods(ctx)).To(ContainElement(HaveField("Name", name)))
	}).WithContext(ctx).WithTimeout(40 * time.Second).Should(Succeed())
}

// eventuallyAvailable waits until both replicas are ready and there is no other pod.
func eventuallyAvailable(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		d := &appsv1.Deployment{}
		g.Expect(cluster.Client.Get(ctx, client.ObjectKey{Namespace: system, Name: deploymentName}, d)).To(Succeed())
		g.Expect(d.Status.ObservedGeneration).To(Equal(d.Generation))
		g.Expect(d.Status).To(And(
			HaveField("AvailableReplicas", BeEquivalentTo(2)), HaveField("UpdatedReplicas", BeEquivalentTo(2)),
			HaveField("Replicas", BeEquivalentTo(2))))
	}).WithContext(ctx).WithTimeout(2 * time.Minute).Should(Succeed())
}

func getPod(ctx context.Context, name string) *corev1.Pod {
	GinkgoHelper()
	p := &corev1.Pod{}
	Expect(cluster.Client.Get(ctx, client.ObjectKey{Namespace: system, Name: name}, p)).To(Succeed())
	return p
}

// warnings returns the warning events of a namespace, except those that the specs cause: pods of a drained node
// wait, a pod that is being deleted fails its probes, and one that a busy node starts is not ready at the first one.
func warnings(ctx context.Context, namespace string) []string {
	GinkgoHelper()
	events := &corev1.EventList{}
	Expect(cluster.Client.List(ctx, events, client.InNamespace(namespace))).To(Succeed())
	var current []string
	for _, p := range pods(ctx) {
		current = append(current, p.Name)
	}
	var found []string
	for _, e := range events.Items {
		deleted := e.InvolvedObject.Kind == "Pod" && !slices.Contains(current, e.InvolvedObject.Name)
		if e.Type == corev1.EventTypeNormal || e.Reason == "FailedScheduling" || e.Reason == "Unhealthy" && (deleted || strings.HasPrefix(e.Message, "Readiness")) {
			continue
		}
		found = append(found, fmt.Sprintf("%s %s/%s: %s", e.Reason, e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Message))
	}
	return found
}

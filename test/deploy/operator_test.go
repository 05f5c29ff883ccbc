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
)

// What config/default calls things.
const (
	system         = "snapshotschedule-system"
	deploymentName = "snapshotschedule-controller-manager"
	metricsService = "snapshotschedule-controller-manager-metrics-service"
	metricsReader  = "snapshotschedule-metrics-reader"
	operatorUser   = "system:serviceaccount:" + system + ":snapshotschedule-controller-manager"
)

// pods are the operator's that are not on their way out.
func pods(ctx context.Context) []corev1.Pod {
	GinkgoHelper()
	all := &corev1.PodList{}
	Expect(cluster.Client.List(ctx, all, client.InNamespace(system),
		client.MatchingLabels{"control-plane": "controller-manager"})).To(Succeed())
	var there []corev1.Pod
	for _, p := range all.Items {
		if p.DeletionTimestamp == nil {
			there = append(there, p)
		}
	}
	return there
}

// leader is the pod that holds the lease, and its identity there.
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

// eventuallyLed waits until one of the operator's pods leads that is not the
// one given by its identity.
func eventuallyLed(ctx context.Context, not string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		name, identity := leader(ctx)
		g.Expect(identity).NotTo(Or(BeEmpty(), Equal(not)))
		g.Expect(pods(ctx)).To(ContainElement(HaveField("Name", name)))
	}).WithContext(ctx).WithTimeout(40 * time.Second).Should(Succeed())
}

// eventuallyAvailable waits until both replicas are ready and no other pod is
// left.
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

func podNamed(ctx context.Context, name string) *corev1.Pod {
	GinkgoHelper()
	p := &corev1.Pod{}
	Expect(cluster.Client.Get(ctx, client.ObjectKey{Namespace: system, Name: name}, p)).To(Succeed())
	return p
}

// warnings are the events of a namespace that no spec has brought about: it is
// well that the pods of a drained node wait, and that a pod no longer answers
// kubelet when it is on its way out.
func warnings(ctx context.Context, namespace string) []string {
	GinkgoHelper()
	events := &corev1.EventList{}
	Expect(cluster.Client.List(ctx, events, client.InNamespace(namespace))).To(Succeed())
	var there []string
	for _, p := range pods(ctx) {
		there = append(there, p.Name)
	}
	var found []string
	for _, e := range events.Items {
		gone := e.InvolvedObject.Kind == "Pod" && !slices.Contains(there, e.InvolvedObject.Name)
		if e.Type == corev1.EventTypeNormal || e.Reason == "FailedScheduling" || e.Reason == "Unhealthy" && gone {
			continue
		}
		found = append(found, fmt.Sprintf("%s %s/%s: %s", e.Reason, e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Message))
	}
	return found
}

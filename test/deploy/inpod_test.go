// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func restricted() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false),
		RunAsNonRoot:             ptr.To(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

// inpodPod is a pod that runs inpod.
func inpodPod(namespace, name string, args ...string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "inpod", Image: inpodImage, Args: args, SecurityContext: restricted()}},
		},
	}
}

// output runs a pod to its end and returns its logs.
func output(ctx context.Context, pod *corev1.Pod) string {
	GinkgoHelper()
	Expect(cluster.Client.Create(ctx, pod)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(cluster.Client.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		g.Expect(pod.Status.Phase).To(BeElementOf(corev1.PodSucceeded, corev1.PodFailed))
	}).WithContext(ctx).Should(Succeed())
	logs := kubectl(ctx, "-n", pod.Namespace, "logs", pod.Name)
	Expect(pod.Status.Phase).To(Equal(corev1.PodSucceeded), logs)
	return logs
}

// inspect returns the kernel's restrictions of the operator in a pod, which an ephemeral container reads.
func inspect(ctx context.Context, name string) map[string]string {
	GinkgoHelper()
	pod := getPod(ctx, name)
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{
		TargetContainerName: pod.Spec.Containers[0].Name,
		EphemeralContainerCommon: corev1.EphemeralContainerCommon{
			Name: "inspect", Image: inpodImage, Args: []string{"inspect"}, SecurityContext: restricted(),
		},
	}}
	Expect(cluster.Client.SubResource("ephemeralcontainers").Update(ctx, pod)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(getPod(ctx, name).Status.EphemeralContainerStatuses).To(HaveExactElements(
			HaveField("State.Terminated", HaveValue(HaveField("ExitCode", BeZero())))))
	}).WithContext(ctx).Should(Succeed())
	seen := map[string]string{}
	Expect(json.Unmarshal([]byte(kubectl(ctx, "-n", system, "logs", name, "-c=inspect")), &seen)).To(Succeed())
	return seen
}

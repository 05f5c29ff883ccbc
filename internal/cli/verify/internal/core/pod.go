// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Own returns the pods that the Job controls, under names that its controller gives. Labels prove nothing, and neither do these: whoever
// may create pods writes them.
func (d Drill) Own() []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(d.Pods), func(p corev1.Pod) bool {
		return !metav1.IsControlledBy(&p, d.Job) || !strings.HasPrefix(p.Name, d.Job.Name+"-")
	})
}

// ClaimName returns the name of the PVC that Kubernetes makes for the volume of a drill's pod.
func ClaimName(pod *corev1.Pod) string { return pod.Name + "-" + volume }

// difference names what of a pod is not what the Job's template says, so that its end says nothing about the data; "" if
// nothing is. Admission may add containers, as long as they do not mount the volume, and settings that change nothing of
// what the command reads.
func difference(template, pod *corev1.PodSpec) string {
	if !equality.Semantic.DeepEqual(sharing(template), sharing(pod)) ||
		!equality.Semantic.DeepDerivative(template.SecurityContext, pod.SecurityContext) {
		return "security"
	}
	at := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == volume })
	want := slices.IndexFunc(template.Volumes, func(v corev1.Volume) bool { return v.Name == volume })
	if at < 0 || want < 0 || !equality.Semantic.DeepEqual(pod.Volumes[at], template.Volumes[want]) {
		return "volume " + volume
	}
	for _, side := range []struct{ template, pod []corev1.Container }{
		{template.InitContainers, pod.InitContainers}, {template.Containers, pod.Containers},
	} {
		for i := range side.pod {
			c := &side.pod[i]
			of := slices.IndexFunc(side.template, func(t corev1.Container) bool { return t.Name == c.Name })
			if of < 0 && mounts(c) || of >= 0 && !sameCommand(&side.template[of], c) {
				return "container " + c.Name
			}
		}
		for i := range side.template {
			if name := side.template[i].Name; !slices.ContainsFunc(side.pod, func(c corev1.Container) bool { return c.Name == name }) {
				return "container " + name
			}
		}
	}
	return ""
}

// sharing returns what lets others reach the processes of a pod, or start its containers again.
func sharing(p *corev1.PodSpec) corev1.PodSpec {
	return corev1.PodSpec{
		HostPID: p.HostPID, HostIPC: p.HostIPC, HostNetwork: p.HostNetwork, RestartPolicy: p.RestartPolicy,
		ShareProcessNamespace: ptr.To(ptr.Deref(p.ShareProcessNamespace, false)),
	}
}

// mounts returns whether a container has the volume of the drill.
func mounts(c *corev1.Container) bool {
	return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volume }) ||
		slices.ContainsFunc(c.VolumeDevices, func(d corev1.VolumeDevice) bool { return d.Name == volume })
}

// sameCommand returns whether two containers run the same on the same data: nothing else runs in them, and the second has no more
// rights than the first, but may have a user where that has none.
func sameCommand(a, b *corev1.Container) bool {
	of := func(c *corev1.Container) corev1.Container {
		return corev1.Container{
			Image: c.Image, Command: c.Command, Args: c.Args, WorkingDir: c.WorkingDir, Env: c.Env, EnvFrom: c.EnvFrom,
			VolumeMounts: c.VolumeMounts, VolumeDevices: c.VolumeDevices, Lifecycle: c.Lifecycle,
			LivenessProbe: c.LivenessProbe, ReadinessProbe: c.ReadinessProbe, StartupProbe: c.StartupProbe,
			RestartPolicy: c.RestartPolicy, RestartPolicyRules: c.RestartPolicyRules, Stdin: c.Stdin,
		}
	}
	return equality.Semantic.DeepEqual(of(a), of(b)) && equality.Semantic.DeepDerivative(a.SecurityContext, b.SecurityContext)
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package core decides how a snapshot is restored for a drill and what the drill has shown. It
// writes nothing.
//
//	job.go      the Job of a drill, with a volume that exists as long as its pod
//	outcome.go  what a Job and its pods say about the snapshot
//	pod.go      which pods are the Job's, and what it says
//	volume.go   what a volume that never came says about the snapshot
//	data.go     the default command of a drill: whether all data can be read
//	data_linux.go where the holes of a file are
//	data_other.go the same where drills do not run
package core

import (
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
)

const (
	// DataPath is where the data of the snapshot is, a folder or a device.
	DataPath = "/snapshot"
	// container and volume are names in the pod.
	container, volume = "verify", "snapshot"
	// nobody is the user and group of a drill where the pod that uses the source PVC names none, or root.
	nobody = 65532
	// keptFor is for how long an ended Job can be read, in seconds. Its volume is deleted with it.
	keptFor = 300
)

// Options are what a user may choose.
type Options struct {
	Image string
	// Command is run instead of the check that all data can be read.
	Command []string
	// Timeout ends the Job, whether or not it runs, and with it the pod and its volume.
	Timeout time.Duration
	// RunAsUser and FSGroup are those of the pod that uses the source PVC if they are nil. Without such a pod, the rules
	// of the namespace choose.
	RunAsUser, FSGroup *int64
}

// DefaultCommand is the one of an image that contains the plugin.
var DefaultCommand = []string{"/kubectl-snapsched", "read-data", DataPath}

// Job returns the Job of a drill of a snapshot. The claim is what the snapshot is restored to, the pod
// the one that uses the source PVC now; nil: none does.
//
// The volume is a generic ephemeral one: the pod owns its PVC, so Kubernetes deletes both at the
// deadline, and keptFor later, also if nobody is alive who started the drill.
func Job(v *snapshotv1.VolumeSnapshot, claim *corev1.PersistentVolumeClaim, user *corev1.Pod, o Options) *batchv1.Job {
	labels := map[string]string{v1alpha1.LabelDrill: string(v.UID)}
	// No schedule takes snapshots of the copy.
	annotations := map[string]string{v1alpha1.AnnotationExclude: "true"}
	command := o.Command
	if len(command) == 0 {
		command = DefaultCommand
	}
	c := corev1.Container{
		Name: container, Image: o.Image, Command: literal(command...),
		Env: []corev1.EnvVar{
			{Name: "SNAPSHOT", Value: v.Name},
			{Name: "PVC", Value: literal(backup.ClaimName(v))[0]},
		},
		// The last line of the log, which needs no right to read logs.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
		},
	}
	if ptr.Deref(claim.Spec.VolumeMode, "") == corev1.PersistentVolumeBlock {
		c.VolumeDevices = []corev1.VolumeDevice{{Name: volume, DevicePath: DataPath}}
	} else {
		c.VolumeMounts = []corev1.VolumeMount{{Name: volume, MountPath: DataPath}}
	}
	pod := corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: ptr.To(false), EnableServiceLinks: ptr.To(false),
		Containers: []corev1.Container{c},
		Volumes: []corev1.Volume{{Name: volume, VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
			VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations}, Spec: claim.Spec,
			},
		}}}},
	}
	asUser(&pod, user, o)
	return &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: v.Namespace, GenerateName: generateName(v.Name), Labels: labels,
		},
		Spec: batchv1.JobSpec{
			BackoffLimit: ptr.To[int32](0), ActiveDeadlineSeconds: ptr.To(int64(o.Timeout.Seconds())),
			TTLSecondsAfterFinished: ptr.To[int32](keptFor),
			Template:                corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		},
	}
}

// literal returns texts that kubelet gives to a container as they are: it expands $(VAR), and $$ to $.
func literal(texts ...string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = strings.ReplaceAll(text, "$", "$$")
	}
	return all
}

// asUser gives a pod the user of the data, and the nodes that can reach it. The standard for
// restricted pods forbids root.
func asUser(pod *corev1.PodSpec, user *corev1.Pod, o Options) {
	var uid, group *int64
	if user != nil {
		uid, group = ptr.To[int64](nobody), ptr.To[int64](nobody)
		pod.NodeSelector, pod.Tolerations = user.Spec.NodeSelector, slices.Clone(user.Spec.Tolerations)
		if s := user.Spec.SecurityContext; s != nil {
			uid, group = cmpUser(s.RunAsUser, uid), cmpUser(s.FSGroup, group)
		}
		for i := range user.Spec.Containers {
			if s := user.Spec.Containers[i].SecurityContext; s != nil {
				uid = cmpUser(s.RunAsUser, uid)
			}
		}
	}
	pod.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: ptr.To(true), RunAsUser: cmpUser(o.RunAsUser, uid), FSGroup: cmpUser(o.FSGroup, group),
		FSGroupChangePolicy: ptr.To(corev1.FSGroupChangeOnRootMismatch),
		SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	pod.SecurityContext.RunAsGroup = pod.SecurityContext.FSGroup
}

// cmpUser returns an ID, or another one if it is unknown or root's.
func cmpUser(id, other *int64) *int64 {
	if ptr.Deref(id, 0) == 0 {
		return other
	}
	return id
}

// generateName leaves place for what the API server and the Job controller append to the names of the
// Job, its pod and the pod's PVC.
func generateName(snapshot string) string {
	name := "verify-" + strings.ReplaceAll(snapshot, ".", "-")
	return strings.TrimRight(name[:min(len(name), validation.DNS1123LabelMaxLength-15)], "-") + "-"
}

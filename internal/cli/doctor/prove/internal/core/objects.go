// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/recovery"
	"mapcontroller.dev/snapshotschedule/internal/drivers"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

const (
	// container is that of a pod whose end is awaited.
	container = "prove"
	// nobody is the user and group of the pods.
	nobody = 65532
	// refuses is how long a driver may refuse something before it counts.
	refuses = time.Minute
	// retries is in which time a refused delete has been tried again several times.
	retries = 20 * time.Second
	// size is that of the volumes. Drivers with larger ones make those.
	size = "1Gi"
)

// Program is the command of the pods, in the operator's image.
var Program = []string{"/kubectl-snapsched", "prove-data"}

// newClaim returns a PVC of a snapshot, or an empty one. No driver restores to less than the snapshot needs.
func (p *Proof) newClaim(name string, of *snapshotv1.VolumeSnapshot) *corev1.PersistentVolumeClaim {
	needs := resource.MustParse(size)
	if of != nil {
		if restored, err := resource.ParseQuantity(backup.SizeText(of)); err == nil && restored.Cmp(needs) > 0 {
			needs = restored
		}
	}
	claim := &corev1.PersistentVolumeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace(p.ID), Name: name, Annotations: map[string]string{v1alpha1.AnnotationExclude: "true"}, // from all schedules
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &p.StorageClass,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: needs}},
		},
	}
	if slices.Contains(together, name) {
		claim.Labels = map[string]string{labelGroup: "true"}
	}
	if of != nil {
		claim.Spec.DataSource = &corev1.TypedLocalObjectReference{
			APIGroup: ptr.To(snapshotv1.GroupName), Kind: "VolumeSnapshot", Name: of.Name,
		}
	}
	return claim
}

func (p *Proof) newSnapshot(name, claim string) *snapshotv1.VolumeSnapshot {
	return &snapshotv1.VolumeSnapshot{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace(p.ID), Name: name},
		Spec:       snapshotv1.VolumeSnapshotSpec{Source: snapshotv1.VolumeSnapshotSource{PersistentVolumeClaimName: &claim}},
	}
}

func (p *Proof) newGroup(name string) *groupv1.VolumeGroupSnapshot {
	v := &groupv1.VolumeGroupSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace(p.ID), Name: name}}
	v.Spec.Source.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{labelGroup: "true"}}
	return v
}

// newPod returns a pod that does something with the volumes of PVCs.
func (p *Proof) newPod(name, what string, claims []string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace(p.ID), Name: name},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: ptr.To(false), EnableServiceLinks: ptr.To(false),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:        ptr.To(true),
				FSGroupChangePolicy: ptr.To(corev1.FSGroupChangeOnRootMismatch),
				SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
		},
	}
	if s := pod.Spec.SecurityContext; p.AsUser {
		s.RunAsUser, s.RunAsGroup, s.FSGroup = ptr.To[int64](nobody), ptr.To[int64](nobody), ptr.To[int64](nobody)
	}
	of := func(name, what string) corev1.Container {
		c := corev1.Container{
			Name: name, Image: p.Image, Command: append(append([]string{}, Program...), what, p.ID),
			TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
			},
		}
		for _, claim := range claims {
			path := "/data/" + claim
			c.Command = append(c.Command, path)
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: claim, MountPath: path})
		}
		return c
	}
	for _, claim := range claims {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
	}
	if what == "write" {
		pod.Spec.InitContainers = []corev1.Container{of("fill", "fill")}
	}
	c := of(container, what)
	if what == "write" {
		c.ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, TimeoutSeconds: 10, ProbeHandler: corev1.ProbeHandler{
			Exec: &corev1.ExecAction{Command: of("", "begun").Command},
		}}
	}
	pod.Spec.Containers = []corev1.Container{c}
	return pod
}

// missing returns what creates the PVCs and the pod that are not there.
func (p *Proof) missing(s *Seen, pod, what string, claims []string, snapshots ...string) (do []change.Change) {
	for i, claim := range claims {
		if s.Claims[claim] == nil {
			var from *snapshotv1.VolumeSnapshot
			if i < len(snapshots) {
				from = s.Snapshots[snapshots[i]]
			}
			do = append(do, change.Change{Create: p.newClaim(claim, from)})
		}
	}
	if s.Pods[pod] == nil {
		do = append(do, change.Change{Create: p.newPod(pod, what, claims)})
	}
	return do
}

// writes has a pod write into volumes, until the first record is in all of them.
func (p *Proof) writes(s *Seen, pod string, claims ...string) Verdict {
	if do := p.missing(s, pod, "write", claims); len(do) > 0 {
		return Verdict{Do: do}
	}
	if c := statusOf(s.Pods[pod]); c != nil && c.Ready {
		return Verdict{State: OK}
	}
	return p.stuck(s, pod, claims)
}

// reads has a pod read volumes, which may first have to be restored from snapshots. It is ok once it has: what it has read
// is p.read. The pod goes then: as long as there is one, even one that has ended, its PVCs cannot be deleted.
func (p *Proof) reads(s *Seen, pod string, claims []string, snapshots ...string) Verdict {
	if p.read[pod] != nil {
		return Verdict{State: OK}
	}
	if do := p.missing(s, pod, "read", claims, snapshots...); len(do) > 0 {
		return Verdict{Do: do}
	}
	c := statusOf(s.Pods[pod])
	if c == nil || c.State.Terminated == nil || c.State.Terminated.ExitCode != 0 {
		return p.stuck(s, pod, claims)
	}
	var all []Reading
	if err := json.Unmarshal([]byte(c.State.Terminated.Message), &all); err != nil || len(all) != len(claims) {
		return Verdict{State: Unknown, Words: "the pod's answer cannot be read"}
	}
	if p.read == nil {
		p.read = map[string][]Reading{}
	}
	p.read[pod] = all
	return Verdict{Do: []change.Change{{Delete: s.Pods[pod]}}}
}

func statusOf(pod *corev1.Pod) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == container {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

// stuck returns why a pod does not begin, or has failed.
func (p *Proof) stuck(s *Seen, pod string, claims []string) Verdict {
	for _, c := range append(s.Pods[pod].Status.InitContainerStatuses, s.Pods[pod].Status.ContainerStatuses...) {
		if end := c.State.Terminated; end != nil && end.ExitCode != 0 {
			words := cmp.Or(strings.TrimSpace(end.Message), end.Reason, fmt.Sprintf("exit code %d", end.ExitCode))
			return Verdict{State: Unknown, Words: "the pod failed: " + report.Text(words, backup.MaxDriverWords)}
		}
	}
	words := ""
	for _, claim := range claims {
		said, final := p.said(s, "PersistentVolumeClaim", claim)
		if bound := s.Claims[claim]; bound.Status.Phase == corev1.ClaimBound {
			continue
		}
		if words = cmp.Or(words, said); final && s.Since > refuses {
			return Verdict{State: Failed, Words: said}
		}
	}
	said, _ := p.said(s, "Pod", pod)
	return Verdict{Words: cmp.Or(words, said, "pod "+pod+" does not run yet")}
}

// said returns the last warning about an object, and whether it is an answer of the driver that it will give again.
func (p *Proof) said(s *Seen, kind, name string) (words string, final bool) {
	var last *corev1.Event
	for i := range s.Events {
		e := &s.Events[i]
		if e.Type == corev1.EventTypeWarning && e.InvolvedObject.Kind == kind && e.InvolvedObject.Name == name &&
			(last == nil || !drivers.EventTime(e).Before(drivers.EventTime(last))) {
			last = e
		}
	}
	if last == nil {
		return "", false
	}
	if code, text, ok := drivers.Answer(last.Message); ok {
		return report.Text(code+": "+text, backup.MaxDriverWords), !drivers.Transient(code)
	}
	return report.Text(last.Reason+": "+last.Message, backup.MaxDriverWords), false
}

// ContentOf and VolumeOf return the names of the content of the snapshot, and of the volume that it was taken of; empty before they
// are known.
func ContentOf(s *Seen) string { return s.ContentOf[first] }

// VolumeOf is like ContentOf.
func VolumeOf(s *Seen) string { return s.VolumeOf[data] }

// CopyOf returns the name of the content of the copy by the snapshot of a proof; empty before there is one.
func CopyOf(s *Seen, id string) string {
	if v := s.Snapshots[first]; v != nil {
		return recovery.CloneName(v.UID, Namespace(id), copied)
	}
	return ""
}

// clone returns what lends the data of the snapshot to PVC copy, as the command restore does in another namespace.
func (p *Proof) clone(s *Seen) *recovery.Clone {
	v := s.Snapshots[first]
	if v == nil {
		return nil
	}
	c := recovery.NewClone(recovery.Source{Snapshot: v, Content: s.Contents[s.ContentOf[first]]},
		recovery.Plan{Claim: p.newClaim(copied, v)}, Namespace(p.ID))
	c.Content, c.Snapshot, c.Claim = s.Contents[c.Name], s.Snapshots[c.Name], s.Claims[copied]
	return c
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

type (
	spec     = v1alpha1.SnapshotScheduleSpec
	claim    = corev1.PersistentVolumeClaim
	snapshot = snapshotv1.VolumeSnapshot
	schedule = v1alpha1.SnapshotSchedule
)

// environment is a namespace, and what a user and the other controllers do in it.
type environment struct{ namespace string }

func newEnvironment() *environment {
	GinkgoHelper()
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "env-"}}
	Expect(api.Create(ctx, n)).To(Succeed())
	return &environment{namespace: n.Name}
}

// createSchedule creates a schedule with an interval of an hour.
func (env *environment) createSchedule(name string, changes ...func(*spec)) *schedule {
	GinkgoHelper()
	s := &schedule{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: name}}
	s.Spec.SnapshotInterval = "1h"
	for _, change := range changes {
		change(&s.Spec)
	}
	Expect(api.Create(ctx, s)).To(Succeed())
	return s
}

func suspended(s *spec) { s.Suspend = true }

func ttl(d v1alpha1.Duration) func(*spec) { return func(s *spec) { s.SnapshotTTL = d } }

func selecting(key, value string) func(*spec) {
	return func(s *spec) {
		s.Selector.MatchLabels = map[string]v1alpha1.LabelValue{key: v1alpha1.LabelValue(value)}
	}
}

// createPendingClaim creates a PVC that is not bound. Labels are pairs of key and value.
func (env *environment) createPendingClaim(name string, labels ...string) *claim {
	GinkgoHelper()
	c := &claim{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: name, Labels: toMap(labels)}}
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	Expect(api.Create(ctx, c)).To(Succeed())
	return c
}

// createClaim creates a bound PVC.
func (env *environment) createClaim(name string, labels ...string) *claim {
	GinkgoHelper()
	c := env.createPendingClaim(name, labels...)
	setPhase(c, corev1.ClaimBound)
	return c
}

// setPhase does what the PV controller does.
func setPhase(c *claim, phase corev1.PersistentVolumeClaimPhase) {
	GinkgoHelper()
	before := c.DeepCopy()
	c.Status.Phase = phase
	Expect(api.Status().Patch(ctx, c, client.MergeFrom(before))).To(Succeed())
}

// deleteClaim deletes a PVC and removes its finalizer, as the PVC protection controller does.
func deleteClaim(c *claim) {
	GinkgoHelper()
	Expect(api.Delete(ctx, c)).To(Succeed())
	removeFinalizers(c)
}

// deleteOrphaning deletes a schedule with --cascade=orphan, and does what the garbage collector then does. Creation times are in whole
// seconds: afterwards, a new schedule is younger than the snapshots.
func (env *environment) deleteOrphaning(s *schedule) {
	GinkgoHelper()
	Expect(api.Delete(ctx, s, client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
	left := env.snapshots()
	for _, v := range left {
		mergePatch(&v, `{"metadata":{"ownerReferences":null}}`)
	}
	removeFinalizers(s)
	Eventually(isDeleted(s)).Should(BeTrue())
	Eventually(time.Now).Should(BeTemporally(">", left[len(left)-1].CreationTimestamp.Add(2*time.Second)))
}

// mergePatch applies a JSON merge patch.
func mergePatch(o client.Object, patch string) {
	GinkgoHelper()
	Expect(api.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

func addFinalizer(o client.Object) {
	GinkgoHelper()
	mergePatch(o, `{"metadata":{"finalizers":["test/hold"]}}`)
}

// removeFinalizers does what the controllers of foreign finalizers do. The object may be deleted already.
func removeFinalizers(o client.Object) {
	GinkgoHelper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	Expect(client.IgnoreNotFound(api.Patch(ctx, o, patch))).To(Succeed())
}

func setLabel(o client.Object, key, value string) {
	GinkgoHelper()
	mergePatch(o, fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, key, value))
}

func removeLabel(o client.Object, key string) {
	GinkgoHelper()
	mergePatch(o, fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, key))
}

// requeue changes a PVC, so that the operator reconciles its key.
func requeue(c *claim) {
	GinkgoHelper()
	setLabel(c, "touched", time.Now().Format("150405.000000"))
}

func setAnnotation(o client.Object, key, value string) {
	GinkgoHelper()
	mergePatch(o, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value))
}

// createSnapshot creates a ready snapshot for a slot in the past, as the operator would have done. Its creationTimestamp is now.
func (env *environment) createSnapshot(s *schedule, c *claim, ago time.Duration, changes ...func(*snapshot)) *snapshot {
	GinkgoHelper()
	slot := time.Now().Add(-ago).UTC().Truncate(time.Second)
	v := &snapshot{ObjectMeta: metav1.ObjectMeta{
		Namespace:   env.namespace,
		Name:        fmt.Sprintf("%s-%s-%s-ago", s.Name, c.Name, ago),
		Labels:      map[string]string{v1alpha1.LabelMapKey: string(c.UID), v1alpha1.LabelSchedule: s.Name},
		Annotations: map[string]string{v1alpha1.AnnotationScheduledAt: slot.Format(time.RFC3339)},
	}}
	v.Spec.Source.PersistentVolumeClaimName = &c.Name
	Expect(controllerutil.SetControllerReference(s, v, scheme)).To(Succeed())
	for _, change := range changes {
		change(v)
	}
	Expect(api.Create(ctx, v)).To(Succeed())
	makeReady(v)
	return v
}

// makeReady does what the snapshot controller does.
func makeReady(v *snapshot) {
	GinkgoHelper()
	now := metav1.Now()
	setStatus(v, snapshotv1.VolumeSnapshotStatus{CreationTime: &now, ReadyToUse: ptr.To(true)})
}

func setStatus(v *snapshot, status snapshotv1.VolumeSnapshotStatus) {
	GinkgoHelper()
	before := v.DeepCopy()
	before.Status = nil
	v.Status = &status
	Expect(api.Status().Patch(ctx, v, client.MergeFrom(before))).To(Succeed())
}

// snapshots returns the snapshots of the namespace, oldest slot first.
func (env *environment) snapshots() []snapshot {
	GinkgoHelper()
	var list snapshotv1.VolumeSnapshotList
	Expect(api.List(ctx, &list, client.InNamespace(env.namespace))).To(Succeed())
	slices.SortFunc(list.Items, func(a, b snapshot) int {
		return cmp.Or(cmp.Compare(slotOf(a), slotOf(b)), cmp.Compare(a.Name, b.Name))
	})
	return list.Items
}

func slotOf(v snapshot) string { return v.Annotations[v1alpha1.AnnotationScheduledAt] }

// snapshotsOf returns the snapshots whose source is a PVC of this name.
func (env *environment) snapshotsOf(claim string) []snapshot {
	GinkgoHelper()
	return slices.DeleteFunc(env.snapshots(), func(v snapshot) bool {
		return ptr.Deref(v.Spec.Source.PersistentVolumeClaimName, "") != claim
	})
}

func (env *environment) snapshotNames() []string {
	GinkgoHelper()
	names := []string{}
	for _, v := range env.snapshots() {
		names = append(names, v.Name)
	}
	return names
}

// waitForSnapshot waits until a PVC has exactly one snapshot.
func (env *environment) waitForSnapshot(claim string) *snapshot {
	GinkgoHelper()
	return &env.waitForSnapshots(claim, 1)[0]
}

func (env *environment) waitForSnapshots(claim string, n int) (found []snapshot) {
	GinkgoHelper()
	Eventually(func() []snapshot { found = env.snapshotsOf(claim); return found }).Should(HaveLen(n), "snapshots of "+claim)
	return found
}

// barrier creates a PVC with these labels and waits for its snapshot. By then, the operator has seen every earlier change of a PVC.
func (env *environment) barrier(labels ...string) {
	GinkgoHelper()
	c := env.createClaim(fmt.Sprintf("barrier-%d", time.Now().UnixNano()), labels...)
	env.waitForSnapshot(c.Name)
}

func get[T client.Object](o T) T {
	GinkgoHelper()
	Expect(api.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
	return o
}

// settled returns a value once it has not changed for a second.
func settled[T comparable](of func() T) (value T) {
	GinkgoHelper()
	since := time.Now()
	Eventually(func() time.Duration {
		if now := of(); now != value {
			value, since = now, time.Now()
		}
		return time.Since(since)
	}).Should(BeNumerically(">", time.Second))
	return value
}

func isDeleted(o client.Object) func() bool {
	return func() bool {
		return apierrors.IsNotFound(api.Get(ctx, client.ObjectKeyFromObject(o), o.DeepCopyObject().(client.Object)))
	}
}

// status returns the current status of a schedule.
func status(s *schedule) v1alpha1.SnapshotScheduleStatus {
	GinkgoHelper()
	return get(s.DeepCopy()).Status
}

// selected and detached return the counts that are absent while they are not known.
func selected(s *schedule) int32 {
	GinkgoHelper()
	return ptr.Deref(status(s).Inputs, v1alpha1.Inputs{}).PersistentVolumeClaims.Total
}

func detached(s *schedule) func() v1alpha1.Detached {
	return func() v1alpha1.Detached { return ptr.Deref(status(s).Detached, v1alpha1.Detached{}) }
}

// condition returns status and reason of a condition of the current generation, such as "True Scheduled".
func condition(s *schedule, kind string) func() string {
	return func() string {
		fresh := get(s.DeepCopy())
		return current(fresh.Status.Conditions, kind, fresh.Generation)
	}
}

func current(all []metav1.Condition, kind string, generation int64) string {
	c := meta.FindStatusCondition(all, kind)
	if c == nil || c.ObservedGeneration != generation {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}

func readyCondition(s *schedule) func() string { return condition(s, v1alpha1.ConditionReady) }

func protected(s *schedule) func() string { return condition(s, v1alpha1.ConditionProtected) }

func readyMessage(s *schedule) string { return conditionMessage(s, v1alpha1.ConditionReady) }

func pausedMessage(s *schedule) string { return conditionMessage(s, v1alpha1.ConditionRetentionPaused) }

func conditionMessage(s *schedule, kind string) string {
	GinkgoHelper()
	if c := meta.FindStatusCondition(status(s).Conditions, kind); c != nil {
		return c.Message
	}
	return ""
}

func problems(s *schedule) func() []v1alpha1.Problem {
	return func() []v1alpha1.Problem { return status(s).Problems }
}

// problem matches a problem of a PVC by its reason and a part of its message.
func problem(claim, reason, message string) any {
	return And(HaveField("PersistentVolumeClaim", claim), HaveField("Reason", reason), HaveField("Message", ContainSubstring(message)))
}

// events returns the events of the schedules of the namespace, such as "Warning CreateFailed SnapshotSchedule/backup: note".
func (env *environment) events() []string {
	GinkgoHelper()
	return slices.DeleteFunc(env.allEvents(), ofCondition)
}

// ofCondition returns whether an event is of a condition that turned False.
func ofCondition(event string) bool {
	return strings.Contains(event, ": Ready is False: ") || strings.Contains(event, ": Protected is False: ")
}

// conditionEvents returns the events of conditions that turned False.
func (env *environment) conditionEvents() []string {
	GinkgoHelper()
	return slices.DeleteFunc(env.allEvents(), func(event string) bool { return !ofCondition(event) })
}

func (env *environment) allEvents() []string {
	GinkgoHelper()
	var list eventsv1.EventList
	Expect(api.List(ctx, &list, client.InNamespace(env.namespace))).To(Succeed())
	var all []string
	for _, e := range list.Items {
		if strings.HasSuffix(e.Regarding.Kind, "SnapshotSchedule") { // a ClusterSnapshotSchedule's are in namespace default
			all = append(all, fmt.Sprintf("%s %s %s/%s: %s", e.Type, e.Reason, e.Regarding.Kind, e.Regarding.Name, e.Note))
		}
	}
	return all
}

// describedEvents returns what 'kubectl describe' shows as the events of a PVC, with the related object.
func describedEvents(c *claim) func() []string {
	return func() []string {
		GinkgoHelper()
		var list corev1.EventList
		Expect(api.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingFields{
			"involvedObject.kind": "PersistentVolumeClaim", "involvedObject.name": c.Name, "involvedObject.uid": string(c.UID),
		})).To(Succeed())
		var all []string
		for _, e := range list.Items {
			all = append(all, fmt.Sprintf("%s %s %s/%s: %s", e.Type, e.Reason, e.Related.Kind, e.Related.Name, e.Message))
		}
		return all
	}
}

func toMap(list []string) map[string]string {
	m := map[string]string{}
	for i := 0; i+1 < len(list); i += 2 {
		m[list[i]] = list[i+1]
	}
	return m
}

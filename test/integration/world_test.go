// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// world is a namespace, and what a user and the other controllers do in it.
type world struct{ namespace string }

func newWorld() *world {
	GinkgoHelper()
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "world-"}}
	Expect(api.Create(ctx, n)).To(Succeed())
	return &world{namespace: n.Name}
}

// schedule creates one with an interval of an hour.
func (w *world) schedule(name string, changes ...func(*spec)) *schedule {
	GinkgoHelper()
	s := &schedule{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
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
	return func(s *spec) { s.Selector.MatchLabels = map[string]string{key: value} }
}

// pendingClaim creates a PVC that nobody has bound yet. Labels are pairs.
func (w *world) pendingClaim(name string, labels ...string) *claim {
	GinkgoHelper()
	c := &claim{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: pairs(labels)}}
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	Expect(api.Create(ctx, c)).To(Succeed())
	return c
}

func (w *world) claim(name string, labels ...string) *claim {
	GinkgoHelper()
	c := w.pendingClaim(name, labels...)
	w.phase(c, corev1.ClaimBound)
	return c
}

// phase is what the PV controller does.
func (w *world) phase(c *claim, phase corev1.PersistentVolumeClaimPhase) {
	GinkgoHelper()
	before := c.DeepCopy()
	c.Status.Phase = phase
	Expect(api.Status().Patch(ctx, c, client.MergeFrom(before))).To(Succeed())
}

// remove deletes a PVC, and takes the finalizer off as the PVC protection controller does.
func (w *world) remove(c *claim) {
	GinkgoHelper()
	Expect(api.Delete(ctx, c)).To(Succeed())
	w.letGo(c)
}

func (w *world) letGo(c *claim) {
	GinkgoHelper()
	Expect(client.IgnoreNotFound(api.Patch(ctx, c, patch(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
}

func patch(text string) client.Patch {
	return client.RawPatch("application/merge-patch+json", []byte(text))
}

func label(o client.Object, key, value string) {
	GinkgoHelper()
	Expect(api.Patch(ctx, o, patch(fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, key, value)))).To(Succeed())
}

func unlabel(o client.Object, key string) {
	GinkgoHelper()
	Expect(api.Patch(ctx, o, patch(fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, key)))).To(Succeed())
}

func annotate(o client.Object, key, value string) {
	GinkgoHelper()
	Expect(api.Patch(ctx, o, patch(fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)))).To(Succeed())
}

// past creates a snapshot as the operator would have, for a slot so long ago: ready, and of an
// age that the API server measures from now on.
func (w *world) past(s *schedule, c *claim, ago time.Duration, changes ...func(*snapshot)) *snapshot {
	GinkgoHelper()
	slot := time.Now().Add(-ago).UTC().Truncate(time.Second)
	v := &snapshot{ObjectMeta: metav1.ObjectMeta{
		Namespace:   w.namespace,
		Name:        fmt.Sprintf("%s-%s-ago", c.Name, ago),
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

// makeReady is what the snapshot controller does when all goes well.
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

// snapshots of the namespace, oldest slot first.
func (w *world) snapshots() []snapshot {
	GinkgoHelper()
	var list snapshotv1.VolumeSnapshotList
	Expect(api.List(ctx, &list, client.InNamespace(w.namespace))).To(Succeed())
	slices.SortFunc(list.Items, func(a, b snapshot) int {
		return cmp.Or(cmp.Compare(slot(a), slot(b)), cmp.Compare(a.Name, b.Name))
	})
	return list.Items
}

func slot(v snapshot) string { return v.Annotations[v1alpha1.AnnotationScheduledAt] }

// of is the snapshots of a PVC's name.
func (w *world) of(claim string) []snapshot {
	GinkgoHelper()
	return slices.DeleteFunc(w.snapshots(), func(v snapshot) bool {
		return ptr.Deref(v.Spec.Source.PersistentVolumeClaimName, "") != claim
	})
}

func (w *world) names() []string {
	GinkgoHelper()
	names := []string{}
	for _, v := range w.snapshots() {
		names = append(names, v.Name)
	}
	return names
}

// first waits until a PVC has its one and only snapshot.
func (w *world) first(claim string) *snapshot {
	GinkgoHelper()
	return &w.count(claim, 1)[0]
}

func (w *world) count(claim string, n int) (found []snapshot) {
	GinkgoHelper()
	Eventually(func() []snapshot { found = w.of(claim); return found }).Should(HaveLen(n), "snapshots of "+claim)
	return found
}

// marker returns when the operator has done what a new PVC asks for: by then it has seen what
// came before. The PVC has the labels given.
func (w *world) marker(labels ...string) {
	GinkgoHelper()
	c := w.claim(fmt.Sprintf("marker-%d", time.Now().UnixNano()), labels...)
	w.first(c.Name)
}

func get[T client.Object](o T) T {
	GinkgoHelper()
	Expect(api.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
	return o
}

func gone(o client.Object) func() bool {
	return func() bool {
		return api.Get(ctx, client.ObjectKeyFromObject(o), o.DeepCopyObject().(client.Object)) != nil
	}
}

// status of a schedule, as it is now.
func status(s *schedule) v1alpha1.SnapshotScheduleStatus {
	GinkgoHelper()
	return get(s.DeepCopy()).Status
}

// condition is its reason, and its status before it: "True Scheduled".
func condition(s *schedule, kind string) func() string {
	return func() string {
		fresh := s.DeepCopy()
		if err := api.Get(ctx, client.ObjectKeyFromObject(s), fresh); err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(fresh.Status.Conditions, kind)
		if c == nil || c.ObservedGeneration != fresh.Generation {
			return ""
		}
		return string(c.Status) + " " + c.Reason
	}
}

func ready(s *schedule) func() string { return condition(s, v1alpha1.ConditionReady) }

func message(s *schedule) string {
	GinkgoHelper()
	if c := meta.FindStatusCondition(status(s).Conditions, v1alpha1.ConditionReady); c != nil {
		return c.Message
	}
	return ""
}

// events of the namespace, as "Reason note".
func (w *world) events() []string {
	GinkgoHelper()
	var list eventsv1.EventList
	Expect(api.List(ctx, &list, client.InNamespace(w.namespace))).To(Succeed())
	var all []string
	for _, e := range list.Items {
		all = append(all, fmt.Sprintf("%s %s %s/%s: %s", e.Type, e.Reason, e.Regarding.Kind, e.Regarding.Name, e.Note))
	}
	return all
}

func pairs(list []string) map[string]string {
	m := map[string]string{}
	for i := 0; i+1 < len(list); i += 2 {
		m[list[i]] = list[i+1]
	}
	return m
}

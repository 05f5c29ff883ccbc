// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/simulation/kube"
)

// users are those of the cluster, and backup tools. What they do is drawn from r, which is new for each of their actions.
type users struct {
	*world
	r                 *rand.Rand
	claims, schedules []string
	quiet             bool
}

const appLabel = "app"

// actions are drawn by weight.
var actions = []struct {
	weight int
	name   string
	do     func(*users)
}{
	{12, "break a driver", (*users).breakDriver},
	{10, "repair drivers", (*users).repairDrivers},
	{12, "let requests fail", (*users).setFaults},
	{8, "let requests succeed", func(u *users) { u.faults = faults{} }},
	{8, "freeze a watch", func(u *users) { u.freeze(kube.Kind(u.r.IntN(int(kube.Snapshots)+1)), u.anyTime()) }},
	{5, "crash an operator", (*users).crashOperator},
	{3, "start a second operator", (*users).startSecond},
	{6, "move clocks", (*users).moveClocks},
	{10, "delete a PVC", (*users).deleteClaim},
	{14, "create PVCs again", (*users).recreateClaims},
	{10, "relabel a PVC", (*users).relabelClaim},
	{6, "restore a snapshot", (*users).restore},
	{6, "delete a snapshot", func(u *users) { u.onSnapshot(func(s *snapshotv1.VolumeSnapshot) { u.delete(kube.Snapshots, s.Name) }) }},
	{6, "hold a snapshot", func(u *users) {
		u.onSnapshot(func(s *snapshotv1.VolumeSnapshot) {
			u.annotate(kube.Snapshots, s.Name, v1alpha1.AnnotationHold, new(""))
		})
	}},
	{4, "remove holds", (*users).removeHolds},
	{4, "release a snapshot", (*users).release},
	{4, "restore a snapshot object", (*users).recreateSnapshot},
	{4, "import a snapshot", (*users).importSnapshot},
	{2, "copy a snapshot under another controller", func(u *users) {
		u.onSnapshot(func(s *snapshotv1.VolumeSnapshot) { u.createSnapshot("foreign-"+stamp(), s, u.foreignController()) })
	}},
	{8, "request a snapshot", (*users).requestNow},
	{16, "edit a schedule", (*users).editSchedule},
	{3, "break a spec", (*users).breakSpec},
	{4, "suspend a schedule", (*users).suspend},
	{3, "delete a schedule", (*users).deleteSchedule},
	{8, "create schedules again", (*users).recreateSchedules},
	// What the operator's caches do not show for hours: rare by chance, and what the guards before a delete are for.
	{3, "delete a schedule unseen", (*users).deleteScheduleUnseen},
	{5, "edit a schedule unseen", (*users).editScheduleUnseen},
	{5, "delete snapshots that stay", (*users).deleteStuck},
	{5, "delete snapshots unseen", func(u *users) { u.freeze(kube.Snapshots, u.hours()); u.deleteNewest(u.anyClaim()) }},
}

// act takes one action.
func (u *users) act() (name string) {
	total := 0
	for _, a := range actions {
		total += a.weight
	}
	draw := u.r.IntN(total)
	for _, a := range actions {
		if draw -= a.weight; draw < 0 {
			u.locked(func() { a.do(u) })
			return a.name
		}
	}
	return ""
}

// later adds a consequence of an action, which is dropped if it would come when users are quiet.
func (u *users) later(d time.Duration, do func(u *users)) {
	seed := u.r.Uint64()
	u.after(d, func() {
		if !u.quiet {
			then := *u
			then.r = rand.New(rand.NewPCG(seed, 0))
			do(&then)
		}
	})
}

func (u *users) anyClaim() string    { return pick(u.r, u.claims...) }
func (u *users) anySchedule() string { return pick(u.r, u.schedules...) }
func (u *users) hours() time.Duration {
	return between(u.r, time.Hour, 2*day)
}

func (u *users) anyTime() time.Duration {
	return pick(u.r, between(u.r, time.Second, time.Minute), between(u.r, time.Minute, 3*time.Hour), u.hours())
}

// onSnapshot does something with a snapshot, if there is one.
func (u *users) onSnapshot(do func(*snapshotv1.VolumeSnapshot)) {
	if all := u.snapshots(); len(all) > 0 {
		do(pick(u.r, all...))
	}
}

func stamp() string { return time.Now().UTC().Format("0102150405") }

func (u *users) editSpec(name string, change func(*v1alpha1.SnapshotScheduleSpec)) {
	u.edit(kube.Schedules, name, func(o client.Object) { change(&o.(*v1alpha1.SnapshotSchedule).Spec) })
}

// annotate sets an annotation, or removes it.
func (w *world) annotate(k kube.Kind, name, key string, value *string) {
	w.edit(k, name, func(o client.Object) {
		annotations := maps.Clone(o.GetAnnotations())
		if annotations == nil {
			annotations = map[string]string{}
		}
		if delete(annotations, key); value != nil {
			annotations[key] = *value
		}
		o.SetAnnotations(annotations)
	})
}

func (w *world) delete(k kube.Kind, name string) {
	must(client.IgnoreNotFound(w.server.Delete(k, client.ObjectKey{Namespace: namespace, Name: name}, metav1.DeleteOptions{})))
}

func (w *world) create(o client.Object) client.Object {
	o.SetNamespace(namespace)
	created, err := w.server.Create(o)
	must(err)
	return created
}

// PVCs

func (u *users) createClaim(name string, source *corev1.TypedLocalObjectReference) {
	if u.find(kube.Claims, name) != nil {
		return
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{appLabel: pick(u.r, "a", "a", "b")}, Finalizers: []string{finalizerInUse},
		},
		Spec: corev1.PersistentVolumeClaimSpec{DataSource: source},
	}
	if source != nil {
		claim.Spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: source.APIGroup, Kind: source.Kind, Name: source.Name}
	}
	pending := between(u.r, time.Second, time.Minute)
	if source != nil || oneIn(u.r, 6) {
		pending = between(u.r, time.Minute, 3*day)
	}
	uid := u.create(claim).GetUID()
	u.after(pending, func() { u.bindClaim(name, uid) })
}

func (w *world) bindClaim(name string, uid types.UID) {
	claim := w.find(kube.Claims, name)
	if claim == nil || claim.GetUID() != uid || claim.GetDeletionTimestamp() != nil {
		return
	}
	_, err := w.server.UpdateStatus(kube.Claims, client.ObjectKeyFromObject(claim), func(o client.Object) error {
		o.(*corev1.PersistentVolumeClaim).Status.Phase = corev1.ClaimBound
		return nil
	})
	must(err)
}

func (u *users) deleteClaim() {
	name := u.anyClaim()
	u.delete(kube.Claims, name)
	if oneIn(u.r, 2) { // and creates it again soon, under the same name
		u.later(between(u.r, time.Second, 2*time.Hour), func(u *users) { u.createClaim(name, nil) })
	}
}

func (u *users) recreateClaims() {
	for _, name := range u.claims {
		u.createClaim(name, nil)
	}
}

// relabelClaim takes a PVC out of a schedule or back in, half of the time for a while only.
func (u *users) relabelClaim() {
	name := u.anyClaim()
	claim := u.find(kube.Claims, name)
	if claim == nil {
		return
	}
	before := claim.GetLabels()[appLabel]
	u.relabel(name, pick(u.r, "a", "b", "none"))
	if oneIn(u.r, 2) {
		u.later(between(u.r, time.Second, 40*time.Hour), func(u *users) { u.relabel(name, before) })
	}
}

func (u *users) relabel(name, value string) {
	u.edit(kube.Claims, name, func(o client.Object) { o.SetLabels(map[string]string{appLabel: value}) })
}

// restore creates a PVC from a snapshot, and deletes it after some time.
func (u *users) restore() {
	u.onSnapshot(func(s *snapshotv1.VolumeSnapshot) {
		name := pick(u.r, "restored", "restored-again")
		u.createClaim(name, &corev1.TypedLocalObjectReference{APIGroup: new(snapshotv1.GroupName), Kind: "VolumeSnapshot", Name: s.Name})
		u.later(between(u.r, time.Hour, 6*day), func(u *users) { u.delete(kube.Claims, name) })
	})
}

// requestNow asks for a snapshot, of all PVCs of a schedule or of some of them, by a clock that may be wrong, or in a malformed way. On a
// PVC the request must be ignored.
func (u *users) requestNow() {
	at := time.Now().Add(pick(u.r, 0, 0, -time.Minute, 3*time.Hour, -20*day)).UTC().Format(time.RFC3339)
	if oneIn(u.r, 6) {
		at = "now"
	}
	k, name := kube.Schedules, u.anySchedule()
	switch u.r.IntN(4) {
	case 0:
		at += " " + u.anyClaim()
	case 1:
		at += " none," + strings.Join(u.claims[u.r.IntN(len(u.claims)):], ",")
	case 2:
		k, name = kube.Claims, u.anyClaim()
	}
	u.annotate(k, name, v1alpha1.AnnotationRequestedAt, &at)
}

// Snapshots

func (u *users) removeHolds() {
	for _, s := range u.snapshots() {
		if _, held := s.Annotations[v1alpha1.AnnotationHold]; held {
			u.annotate(kube.Snapshots, s.Name, v1alpha1.AnnotationHold, nil)
		}
	}
}

// release takes a snapshot out of its schedule, in one of the ways that a user has.
func (u *users) release() {
	u.onSnapshot(func(s *snapshotv1.VolumeSnapshot) {
		if s.Labels[v1alpha1.LabelMapKey] == "" {
			return
		}
		way := u.r.IntN(4)
		u.edit(kube.Snapshots, s.Name, func(o client.Object) {
			labels := maps.Clone(o.GetLabels())
			switch way {
			case 0, 1:
				delete(labels, v1alpha1.LabelMapKey)
			case 2:
				labels[v1alpha1.LabelMapKey] = ""
			case 3:
				labels[v1alpha1.LabelSchedule] = "another"
			}
			o.SetLabels(labels)
		})
	})
}

// recreateSnapshot is a backup tool that restores a snapshot after its deletion, without a controller: an orphan.
func (u *users) recreateSnapshot() {
	u.onSnapshot(func(s *snapshotv1.VolumeSnapshot) {
		u.later(between(u.r, time.Hour, 10*day), func(u *users) { u.createSnapshot(s.Name, s, nil) })
	})
}

// importSnapshot makes a snapshot of data which exists only in the storage: a series gets one without a controller, with the slot of one
// of its snapshots, with a slot of its own in the past, or with none.
func (u *users) importSnapshot() {
	u.onSnapshot(func(like *snapshotv1.VolumeSnapshot) {
		name, imported := "imported-"+stamp(), like.DeepCopy()
		switch u.r.IntN(3) {
		case 0:
			imported.Annotations = nil
		case 1:
			at := time.Now().Add(-between(u.r, 0, 90*day)).UTC().Format(time.RFC3339)
			imported.Annotations = map[string]string{v1alpha1.AnnotationScheduledAt: at}
		}
		imported.Spec.Source = snapshotv1.VolumeSnapshotSource{VolumeSnapshotContentName: &name}
		u.createSnapshot(name, imported, nil)
	})
}

// foreignController is the namespace, which stands for any object: the garbage collector requires that an owner exists.
func (w *world) foreignController() []metav1.OwnerReference {
	uid := w.server.Find(kube.Namespaces, client.ObjectKey{Name: namespace}).GetUID()
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: namespace, UID: uid, Controller: new(true)}}
}

func (w *world) createSnapshot(name string, like *snapshotv1.VolumeSnapshot, owners []metav1.OwnerReference) {
	if w.find(kube.Snapshots, name) != nil {
		return
	}
	annotations := maps.Clone(like.Annotations)
	delete(annotations, v1alpha1.AnnotationHold)
	w.create(&snapshotv1.VolumeSnapshot{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: like.Labels, Annotations: annotations, OwnerReferences: owners}, Spec: like.Spec,
	})
}

// deleteStuck deletes the newest snapshots of a PVC whose driver is down: they stay, terminating, and count for nothing.
func (u *users) deleteStuck() {
	name := u.anyClaim()
	u.driver.modes[name] = down
	u.deleteNewest(name)
}

func (u *users) deleteNewest(claim string) {
	n := 1 + u.r.IntN(3)
	for _, s := range slices.Backward(u.snapshots()) { // by name, and so by slot
		if n > 0 && strings.HasPrefix(s.Name, claim+"-") {
			u.delete(kube.Snapshots, s.Name)
			n--
		}
	}
}

// Drivers, networks, operators and clocks

func (u *users) breakDriver() { u.driver.modes[u.anyClaim()] = mode(u.r.IntN(int(modes))) }

func (u *users) repairDrivers() {
	if oneIn(u.r, 2) {
		clear(u.driver.modes)
		return
	}
	delete(u.driver.modes, u.anyClaim())
}

func (u *users) setFaults() {
	u.faults = faults{
		crashes: pick(u.r, 0, 0, 4, 30), refusals: pick(u.r, 0, 2, 6, 20), lost: pick(u.r, 0, 4, 20), delays: pick(u.r, 0, 2, 10),
		staleLists: oneIn(u.r, 2),
	}
}

// freeze lets no operator see a kind's events for a while, and half of the time none of those that it misses. Two operators with
// different views, or one whose status is refused every few seconds, would send many requests and find nothing new.
func (u *users) freeze(k kube.Kind, d time.Duration) {
	relist := oneIn(u.r, 2)
	for _, o := range u.operators {
		switch {
		case len(u.operators) > 1:
			d = min(d, 20*time.Second)
		case k == kube.Schedules:
			d = min(d, 3*time.Hour)
		}
		o.frozen[k], o.relist[k] = time.Now().Add(d), relist
	}
}

func (u *users) crashOperator() {
	for _, o := range u.operators {
		u.crash(o)
		return
	}
}

// startSecond starts a second operator for a while, as happens when a lease is lost without being noticed.
func (u *users) startSecond() {
	if len(u.operators) != 1 || slices.ContainsFunc(u.operators[0].frozen[:], time.Now().Before) {
		return
	}
	second := u.start(u.listLag)
	u.after(between(u.r, time.Minute, 90*time.Minute), func() {
		second.kill()
		u.restart()
	})
}

// moveClocks moves the operators' clock or the Date header for a while: by so little that it must be tolerated, or by so much that
// nothing may be deleted.
func (u *users) moveClocks() {
	off := pick(u.r, 20*time.Second, -20*time.Second, 40*time.Second, -40*time.Second, 5*time.Minute, -5*time.Minute,
		2*time.Hour, -2*time.Hour, day, -day, 3650*day, -3650*day)
	if oneIn(u.r, 3) {
		u.setClocks(0, off)
	} else {
		u.setClocks(off, 0)
	}
	u.later(between(u.r, time.Minute, 2*day), func(u *users) { u.setClocks(0, 0) })
}

// newUsers creates some PVCs and schedules.
func newUsers(w *world, r *rand.Rand) *users {
	u := &users{world: w, r: r}
	for i := range 1 + r.IntN(3) {
		u.claims = append(u.claims, fmt.Sprintf("data-%d", i))
	}
	for i := range 1 + r.IntN(3)/2 {
		u.schedules = append(u.schedules, fmt.Sprintf("plan-%d", i))
	}
	u.recreateClaims()
	u.recreateSchedules()
	return u
}

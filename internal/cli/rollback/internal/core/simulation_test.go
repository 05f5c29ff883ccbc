// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

const (
	ns = "shop"
	// data says, on volumes and snapshots, what they hold.
	data      = "data"
	oldData   = "written until now"
	earlier   = "of the snapshot"
	finalizer = "kubernetes.io/pvc-protection"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// cluster simulates the controllers that a rollback works with: volume binder, provisioner, snapshot controller, StatefulSet
// controller and retention.
type cluster struct {
	tb rapid.TB
	*store
	now   time.Time
	next  int
	waits bool // the storage class waits for a consumer

	// What the rollback knows during one run.
	undo, scaled, released bool
	began                  time.Time
	own                    *Lock
	runs                   int
	user, undoID           string
	// goal is which of its snapshots a PVC goes back to.
	goal string
	// schedule takes and deletes snapshots, by the operator's own decisions.
	schedule *v1alpha1.SnapshotSchedule
	judges   *snapshots.Judge
	// unchecked is set where the data of the first snapshots need not stay.
	unchecked bool
	// broken is set while the driver cuts nothing.
	broken bool
	// raised is how many replicas somebody else has asked for.
	raised int32
}

// newCluster returns a cluster with a StatefulSet of replicas pods with a PVC each, which have two snapshots and a group
// snapshot of all.
func newCluster(tb rapid.TB, replicas int32, waits bool) *cluster {
	s := &cluster{
		tb: tb, store: &store{objects: map[string]client.Object{}}, now: noon, began: noon, waits: waits, raised: replicas, user: "jane", goal: "-0",
	}
	s.schedule = newSchedule()
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "db"}}
	set.Spec.Replicas = &replicas
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	s.create(set)
	record := map[string]types.UID{}
	for i := range replicas {
		name := fmt.Sprintf("data-db-%d", i)
		p := s.newPVC(name)
		p.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": "mock", "pv.kubernetes.io/bind-completed": "yes"}
		s.create(p)
		p.CreationTimestamp = metav1.NewTime(noon.AddDate(0, 0, -50))
		s.bind(p, s.newVolume(oldData))
		record[name] = p.UID
		for age, hold := range []string{"", "2026-11-22T00:00:00Z"} {
			v := s.newSnapshot(fmt.Sprintf("%s-%d", name, age), name)
			v.Labels = map[string]string{v1alpha1.LabelMapKey: string(p.UID), v1alpha1.LabelSchedule: "nightly"}
			v.Annotations = map[string]string{data: earlier}
			if hold != "" {
				v.Annotations[v1alpha1.AnnotationHold] = hold
			}
			s.create(v)
			slot := time.Date(2026, 11, 21-age, 2, 0, 0, 0, time.UTC)
			v.CreationTimestamp, v.Status.CreationTime = metav1.NewTime(slot), ptr.To(metav1.NewTime(slot))
			v.Annotations[v1alpha1.AnnotationScheduledAt] = slot.Format(time.RFC3339)
			s.must(s.update(v))
		}
	}
	group := &groupv1.VolumeGroupSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "db"}}
	text, err := json.Marshal(record)
	s.must(err)
	group.Annotations = map[string]string{v1alpha1.AnnotationClaims: string(text)}
	group.Status = &groupv1.VolumeGroupSnapshotStatus{ReadyToUse: ptr.To(true), CreationTime: &metav1.Time{Time: noon}}
	s.create(group)
	s.settle()
	return s
}

func (s *cluster) must(err error) {
	if err != nil {
		s.tb.Fatal(err)
	}
}

func (s *cluster) create(o client.Object) {
	s.next++
	o.SetUID(types.UID(fmt.Sprintf("uid-%d", s.next)))
	o.SetCreationTimestamp(metav1.NewTime(s.now))
	if p, ok := o.(*corev1.PersistentVolumeClaim); ok {
		p.Finalizers, p.Status.Phase = []string{finalizer}, corev1.ClaimPending
	}
	s.put(o)
}

func (s *cluster) newPVC(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"app": "db"}},
		Spec:       corev1.PersistentVolumeClaimSpec{StorageClassName: ptr.To("fast"), Resources: requests("1Gi")},
	}
}

func requests(size string) corev1.VolumeResourceRequirements {
	return corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}}
}

func (s *cluster) newSnapshot(name, claim string) *snapshotv1.VolumeSnapshot {
	v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	v.Spec.Source.PersistentVolumeClaimName = &claim
	v.Status = &snapshotv1.VolumeSnapshotStatus{ReadyToUse: ptr.To(true)}
	return v
}

func (s *cluster) newVolume(content string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pv-%d", s.next), Annotations: map[string]string{data: content}}}
	v.Spec.PersistentVolumeReclaimPolicy, v.Spec.StorageClassName = corev1.PersistentVolumeReclaimDelete, "fast"
	v.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	s.create(v)
	return v
}

func (s *cluster) bind(p *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) {
	v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: ns, Name: p.Name, UID: p.UID}
	s.must(s.update(v))
	p.Spec.VolumeName, p.Status.Phase = v.Name, corev1.ClaimBound
	s.must(s.update(p))
}

func (s *cluster) pvcs() map[string]*corev1.PersistentVolumeClaim {
	return byName[*corev1.PersistentVolumeClaim](s.store)
}

func (s *cluster) volumes() map[string]*corev1.PersistentVolume {
	return byName[*corev1.PersistentVolume](s.store)
}

func (s *cluster) pods() []*corev1.Pod { return all[*corev1.Pod](s.store) }

func (s *cluster) snapshots() []*snapshotv1.VolumeSnapshot {
	return all[*snapshotv1.VolumeSnapshot](s.store)
}

func (s *cluster) groups() []*groupv1.VolumeGroupSnapshot {
	return all[*groupv1.VolumeGroupSnapshot](s.store)
}

func (s *cluster) set() *appsv1.StatefulSet {
	return all[*appsv1.StatefulSet](s.store)[0]
}

// tick lets every controller act once.
func (s *cluster) tick() {
	s.tickSet()
	s.tickClaims()
	s.tickVolumes()
	pvcs, volumes, alive := s.pvcs(), s.volumes(), map[string]bool{}
	for _, p := range pvcs {
		alive[string(p.UID)] = true
	}
	for _, v := range s.groups() {
		for _, uid := range backup.ClaimsOf(v) {
			if _, held := backup.HeldUntil(v); !held && !alive[string(uid)] {
				s.must(client.IgnoreNotFound(s.delete(v)))
			}
		}
	}
	for _, v := range s.snapshots() {
		if p := pvcs[*v.Spec.Source.PersistentVolumeClaimName]; !backup.ReadyToUse(v) && !s.broken && p != nil && volumes[p.Spec.VolumeName] != nil {
			v.Annotations[data] = volumes[p.Spec.VolumeName].Annotations[data]
			v.Status = &snapshotv1.VolumeSnapshotStatus{ReadyToUse: ptr.To(true), CreationTime: ptr.To(metav1.NewTime(s.now))}
			s.must(s.update(v))
		}
	}
	s.tickSchedule()
}

// settle lets them act until all is done.
func (s *cluster) settle() {
	for range 4 {
		s.tick()
	}
}

// tickSet creates the pods of the StatefulSet and their PVCs, and deletes those that are too many.
func (s *cluster) tickSet() {
	set, pvcs, pods := s.set(), s.pvcs(), map[string]bool{}
	for _, p := range s.pods() {
		pods[p.Name] = true
		if owner := metav1.GetControllerOf(p); owner != nil && p.Name >= fmt.Sprintf("db-%d", *set.Spec.Replicas) {
			s.must(s.delete(p))
		}
	}
	for i := range *set.Spec.Replicas {
		claim := fmt.Sprintf("data-db-%d", i)
		if pvcs[claim] == nil {
			p := s.newPVC(claim)
			p.Labels = nil
			s.create(p)
		}
		if pod := (&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprintf("db-%d", i)}}); !pods[pod.Name] {
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
			pod.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
			}}}
			s.create(pod)
		}
	}
}

func (s *cluster) used(claim string) bool {
	for _, p := range s.pods() {
		if (Pod{Object: p}).uses(claim) {
			return true
		}
	}
	return false
}

func (s *cluster) tickClaims() {
	for _, p := range s.pvcs() {
		switch {
		case p.DeletionTimestamp != nil && !s.used(p.Name):
			p.Finalizers = nil
			s.must(s.update(p))
		case p.Status.Phase != corev1.ClaimBound && p.DeletionTimestamp == nil:
			s.bindOrProvision(p)
		}
	}
}

func (s *cluster) bindOrProvision(p *corev1.PersistentVolumeClaim) {
	for _, v := range s.volumes() {
		ref := v.Spec.ClaimRef
		mine := ref != nil && ref.Namespace == ns && ref.Name == p.Name && (ref.UID == "" || ref.UID == p.UID)
		if mine && (p.Spec.VolumeName == "" || p.Spec.VolumeName == v.Name) {
			s.bind(p, v)
			return
		}
	}
	if p.Spec.VolumeName != "" || s.waits && !s.used(p.Name) {
		return
	}
	content := "empty"
	if source := p.Spec.DataSource; source != nil {
		v := byName[*snapshotv1.VolumeSnapshot](s.store)[source.Name]
		if v == nil {
			return
		}
		content = v.Annotations[data]
	}
	s.bind(p, s.newVolume(content))
}

func (s *cluster) tickVolumes() {
	pvcs := s.pvcs()
	for _, v := range s.volumes() {
		ref := v.Spec.ClaimRef
		if ref == nil || ref.Namespace != ns || ref.UID == "" || pvcs[ref.Name] != nil && pvcs[ref.Name].UID == ref.UID {
			continue
		}
		if v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
			s.must(s.delete(v))
		}
	}
}

// observe is what the command reads.
func (s *cluster) observe() *State { return s.observeOf("data-db-0", "data-db-1") }

func (s *cluster) observeOf(names ...string) *State {
	set := s.set()
	o := &State{
		Namespace: ns, Now: s.now, Began: s.began, Workload: NewWorkload(set), PVCs: s.pvcs(), Volumes: map[string]*corev1.PersistentVolume{},
		NewID: fmt.Sprintf("%08x", s.runs), User: s.user, Undo: s.undo, UndoID: s.undoID, Own: s.own, Released: s.released, Scaled: s.scaled,
	}
	for name, v := range s.volumes() { // those that the command reads
		if ref := v.Spec.ClaimRef; ref == nil || ref.Namespace == ns {
			o.Volumes[name] = v
		}
	}
	s.must(o.ReadRecords())
	for _, r := range o.records {
		for _, r := range r {
			if v := s.volumes()[r.Volume]; v != nil {
				o.Volumes[v.Name] = v
			}
		}
	}
	for _, p := range s.pods() {
		o.Pods = append(o.Pods, Pod{p, metav1.GetControllerOf(p)})
	}
	lock, err := o.Underway(names)
	s.must(err)
	if s.own != nil {
		lock = s.own
	}
	if lock != nil && len(names) == 2 { // the workload was named
		names = lock.Names()
	}
	for _, name := range names {
		o.Claims = append(o.Claims, s.claim(o, name, lock))
	}
	return o
}

// claim is what the command reads of a PVC.
func (s *cluster) claim(o *State, name string, lock *Lock) *Claim {
	c := &Claim{Name: name, WaitsForConsumer: s.waits, Groups: s.groups()}
	goal := types.UID("")
	if lock != nil {
		goal = lock.Goal(name).SnapshotUID
	}
	forward := !s.undo && (lock == nil || lock.Undo == "")
	for _, v := range s.snapshots() {
		switch {
		case *v.Spec.Source.PersistentVolumeClaimName != c.Name:
			continue
		case v.Labels[v1alpha1.LabelRollback] != "" && v.Labels[v1alpha1.LabelMapKey] == "":
			c.Safeties = append(c.Safeties, v)
			continue
		}
		c.Snapshots = append(c.Snapshots, v)
		if forward && (goal == v.UID || goal == "" && (v.Name == c.Name+s.goal || v.Annotations[v1alpha1.AnnotationScheduledAt] == s.goal)) {
			c.Target = v
		}
	}
	if c.Target == nil && forward {
		if goal == "" {
			s.tb.Fatalf("the snapshot of %s is lost", c.Name)
		}
		c.Target = &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Name: lock.Goal(name).Snapshot, UID: goal}}
	}
	if p := o.PVCs[c.Name]; p != nil && c.Target != nil {
		c.Manifest = s.newPVC("restored")
		c.Manifest.Labels = nil
		c.Manifest.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "VolumeSnapshot", Name: c.Target.Name}
	}
	return c
}

// apply sends a change as the command does.
func (s *cluster) apply(c change.Change) (ok bool) {
	var err error
	switch {
	case c.Create != nil:
		if s.get(c.Create) == nil {
			s.create(c.Create.DeepCopyObject().(client.Object))
		}
	case c.Delete != nil:
		if p, ok := c.Delete.(*corev1.PersistentVolumeClaim); ok && p.Spec.VolumeName == "" && !strings.Contains(p.Name, "rollback") {
			s.tb.Fatalf("%s is deleted, which somebody has created meanwhile", p.Name)
		}
		if live := s.get(c.Delete); live != nil && live.GetResourceVersion() != c.Delete.GetResourceVersion() {
			return false
		}
		err = client.IgnoreNotFound(s.delete(c.Delete))
	default:
		err = s.patch(c.Object, c.Patch)
	}
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		s.tb.Fatal(err)
	}
	return err == nil
}

// restart is what another run of the command knows.
func (s *cluster) restart() {
	s.runs++
	s.scaled, s.released, s.own, s.began = false, false, nil, s.now
}

// step takes one step, and calls between before each of its changes, which says whether the command is killed there.
func (s *cluster) step(between func() bool) (done bool, err error) {
	o := s.observe()
	step, err := Next(o)
	if err != nil || step.Number == 0 {
		return err == nil, err
	}
	return false, s.take(o, step, between)
}

// take applies a step as the command does.
func (s *cluster) take(o *State, step Step, between func() bool) error {
	lost := false
	for i, c := range slices.Concat(step.Renewals, step.Changes) {
		if between() {
			s.restart()
			return nil
		}
		before := *s.set().Spec.Replicas
		if !s.apply(c) {
			if lost = true; i < len(step.Renewals) {
				return nil
			}
		}
		if after := *s.set().Spec.Replicas; after > before && step.Number != 10 {
			s.tb.Fatalf("step %d scales up", step.Number)
		}
		if err := s.safe(); err != nil && !s.unchecked {
			s.tb.Fatalf("step %d, %s: %v", step.Number, step.Text, err)
		}
	}
	s.scaled = s.scaled || step.Scales
	if !lost && len(step.Renewals)+len(step.Changes) > 0 {
		own := *o.Lock()
		own.User = s.user
		s.own, s.released = &own, step.Releases
	}
	if step.Ends != nil && Untouched(o) {
		s.restart()
		s.undo = true
		return nil
	}
	return step.Ends
}

// safe returns an error if something has no holder that no controller deletes.
func (s *cluster) safe() error {
	if len(s.groups()) == 0 {
		return errors.New("the group snapshot is gone")
	}
	pvcs := s.pvcs()
	for i := range 2 {
		name := fmt.Sprintf("data-db-%d", i)
		holders := map[string]int{}
		for _, v := range s.volumes() {
			ref := v.Spec.ClaimRef
			p := (*corev1.PersistentVolumeClaim)(nil)
			if ref != nil {
				p = pvcs[ref.Name]
			}
			used := p != nil && p.UID == ref.UID && p.DeletionTimestamp == nil
			if ref != nil && strings.HasPrefix(ref.Name, name) && (used || v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRetain) {
				holders[v.Annotations[data]]++
			}
		}
		for _, v := range s.snapshots() {
			_, held := backup.HeldUntil(v)
			p := pvcs[name]
			attached := p != nil && v.Labels[v1alpha1.LabelMapKey] == string(p.UID) && p.DeletionTimestamp == nil
			if *v.Spec.Source.PersistentVolumeClaimName == name && (held || attached) && v.Annotations[v1alpha1.AnnotationRollbackOf] == "" {
				holders[v.Annotations[data]]++
			}
			if v.Annotations[v1alpha1.AnnotationRollbackOf] != "" && len(v.Labels) != 1 {
				return fmt.Errorf("safety snapshot %s has labels %v", v.Name, v.Labels)
			}
		}
		for _, content := range []string{oldData, earlier} {
			if holders[content] == 0 {
				return fmt.Errorf("nothing keeps the data %q of %s", content, name)
			}
		}
	}
	return nil
}

// finished returns an error unless all is as a rollback leaves it.
func (s *cluster) finished(want string) error {
	pvcs, volumes := s.pvcs(), s.volumes()
	for name, p := range pvcs {
		v := volumes[p.Spec.VolumeName]
		switch {
		case !strings.HasPrefix(name, "data-db-") || strings.Contains(name, "rollback"):
			return fmt.Errorf("%s is left", name)
		case v == nil || v.Annotations[data] != want:
			return fmt.Errorf("%s has %+v", name, v)
		case v.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete:
			return fmt.Errorf("%s has reclaim policy %s", v.Name, v.Spec.PersistentVolumeReclaimPolicy)
		case p.Annotations[v1alpha1.AnnotationExclude] != "" || p.Annotations[v1alpha1.AnnotationRollback] != "":
			return fmt.Errorf("%s has annotations %v", name, p.Annotations)
		case p.Labels["app"] != "db" || p.Annotations["volume.kubernetes.io/storage-provisioner"] != "mock":
			return fmt.Errorf("%s has labels %v and annotations %v", name, p.Labels, p.Annotations)
		}
	}
	for _, v := range volumes {
		if v.Spec.ClaimRef.UID == "" {
			return fmt.Errorf("%s is still reserved for %s", v.Name, v.Spec.ClaimRef.Name)
		}
	}
	for _, v := range s.groups() {
		for name, uid := range backup.ClaimsOf(v) {
			if p := pvcs[name]; p == nil || p.UID != uid || len(v.Annotations) > 1 {
				return fmt.Errorf("group snapshot %s has annotations %v, and %s is %+v", v.Name, v.Annotations, name, p)
			}
		}
	}
	safe := map[string]bool{}
	for _, v := range s.snapshots() {
		if v.Annotations[v1alpha1.AnnotationRollbackOf] != "" && v.Annotations[data] == oldData && backup.ReadyToUse(v) {
			safe[*v.Spec.Source.PersistentVolumeClaimName] = true
		}
		claim := pvcs[*v.Spec.Source.PersistentVolumeClaimName]
		hold := v.Annotations[v1alpha1.AnnotationHold]
		wantHold := map[bool]string{true: "2026-11-22T00:00:00Z"}[strings.HasSuffix(v.Name, "-1")]
		if end, held := backup.HeldUntil(v); strings.HasSuffix(v.Name, s.goal) && (held || want == earlier) {
			if end.Sub(s.now) > 25*time.Hour || end.Before(noon.Add(24*time.Hour)) {
				return fmt.Errorf("the target %s is held until %s", v.Name, end)
			}
			wantHold = hold
		}
		if v.Annotations[v1alpha1.AnnotationRollbackOf] != "" {
			continue
		}
		switch {
		case claim == nil || v.Labels[v1alpha1.LabelMapKey] != string(claim.UID):
			return fmt.Errorf("%s has map key %s", v.Name, v.Labels[v1alpha1.LabelMapKey])
		case hold != wantHold:
			return fmt.Errorf("%s has annotations %v", v.Name, v.Annotations)
		}
	}
	if want == earlier && len(safe) != len(pvcs) {
		return fmt.Errorf("safety snapshots of %v only", safe)
	}
	if l, _ := lockOn(s.set()); l != nil {
		return fmt.Errorf("the lock of %s is left", l.ID)
	}
	if got := *s.set().Spec.Replicas; got != s.raised {
		return fmt.Errorf("%d replicas instead of %d", got, s.raised)
	}
	return nil
}

// Killed anywhere, run again, undone midway, and while others scale and create PVCs: at every moment something keeps
// the data from before, the restored data and the safety snapshot, and the rollback ends or stops.
//
// Contract: BACK-1.
func TestRollbackKeepsAllDataWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newCluster(t, 2, rapid.Bool().Draw(t, "waits for consumer"))
		peace := rapid.Bool().Draw(t, "nobody interferes")
		chance := func(name string, percent int) bool { return rapid.IntRange(0, 99).Draw(t, name) < percent }
		disturb := func() {
			if peace {
				return
			}
			if chance("raise", 2) {
				set := s.set()
				set.Spec.Replicas = ptr.To[int32](2)
				s.must(s.update(set))
			}
			if chance("foreign", 2) && s.pvcs()["data-db-0"] == nil {
				p := s.newPVC("data-db-0")
				p.Spec.VolumeName = "foreign"
				s.create(p)
			}
		}
		between := func() bool {
			if chance("tick", 50) {
				s.tick()
			}
			disturb()
			return chance("kill", 15)
		}
		undoable, undoDone := rapid.Bool().Draw(t, "undo"), rapid.Bool().Draw(t, "undo when it is finished")
		var stopped error
		for range 1000 {
			var done bool
			s.now = s.now.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "seconds")) * time.Second)
			s.tick()
			done, stopped = s.step(between)
			if s.undo && stopped != nil && strings.Contains(stopped.Error(), "no rollback to undo") { // killed before the first step, or after the last one
				done, stopped = true, nil
			}
			if done && undoDone && !s.undo {
				s.settle()
				if err := s.finished(earlier); err != nil {
					t.Fatal(err)
				}
				s.undo = true
				s.restart()
				continue
			}
			if done || stopped != nil {
				if !done && !peace && chance("again", 50) && !strings.Contains(stopped.Error(), "has created another PVC") {
					s.restart() // who runs it again has stopped what interfered
					continue
				}
				break
			}
			if undoable && !s.undo && chance("undo", 3) {
				s.undo = true
				s.restart()
			}
			if err := s.safe(); err != nil {
				t.Fatal(err)
			}
		}
		want := earlier
		if s.undo {
			want = oldData
		}
		step, err := Next(s.observe())
		if s.undo && err != nil && strings.Contains(err.Error(), "no rollback to undo") {
			err = nil
		}
		switch {
		case stopped != nil && peace:
			t.Fatalf("stopped: %v", stopped)
		case stopped != nil:
			s.settle()
			if err := s.safe(); err != nil {
				t.Fatalf("stopped: %v: %v", stopped, err)
			}
		case err != nil || step.Number != 0:
			t.Fatalf("not done: step %d, %s: %v", step.Number, step.Text, err)
		default:
			s.settle()
			if err := s.finished(want); err != nil {
				t.Fatal(err)
			}
		}
	})
}

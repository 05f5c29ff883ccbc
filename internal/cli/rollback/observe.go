// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/recovery"
	"mapcontroller.dev/snapshotschedule/internal/cli/rollback/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// observe reads all that the next step depends on.
func (r *rollbackRun) observe(ctx context.Context) (*core.State, error) {
	// Without the monotonic reading, which stands still while a machine sleeps.
	now := r.began.Add(r.f.Clock.Now().Round(0).Sub(r.started.Round(0)))
	s := &core.State{
		Namespace: r.f.Namespace, Began: r.began, Now: now, Image: r.image,
		NewID: r.newID, User: r.user, Undo: r.undo != "", TakeOver: r.takeOver, SkipSafety: r.skipSafety,
		Own: r.own, Released: r.released, Scaled: r.scaled,
		PVCs: map[string]*corev1.PersistentVolumeClaim{},
	}
	if r.undo != latestRollback {
		s.UndoID = r.undo
	}
	claims, found, pods := &corev1.PersistentVolumeClaimList{}, &snapshotv1.VolumeSnapshotList{}, &corev1.PodList{}
	for _, list := range []client.ObjectList{claims, found, pods} {
		if err := r.f.List(ctx, list, client.InNamespace(r.f.Namespace)); err != nil {
			return nil, err
		}
	}
	for i := range claims.Items {
		s.PVCs[claims.Items[i].Name] = &claims.Items[i]
	}
	if err := r.readVolumes(ctx, s); err != nil {
		return nil, err
	}
	if err := r.readPods(ctx, s, pods.Items); err != nil {
		return nil, err
	}
	if err := r.readWorkload(ctx, s); err != nil {
		return nil, err
	}
	lock, names, err := r.underway(s)
	if err != nil {
		return nil, err
	}
	groups, _, err := view.ReadGroups(ctx, r.f, r.f.Namespace)
	if err != nil {
		return nil, err
	}
	read := &rollbackObjects{
		snapshots: found.Items, claims: claims.Items, groups: groups[r.f.Namespace], lock: lock,
		classes: sync.OnceValues(func() (snapshots.Classes, error) { return view.ReadClasses(ctx, r.f) }),
		cluster: sync.OnceValues(func() (recovery.Cluster, error) { return steps.ReadCluster(ctx, r.f) }),
	}
	for _, name := range names {
		c, err := r.readClaim(ctx, s, name, read)
		if err != nil {
			return nil, err
		}
		if c != nil {
			s.Claims = append(s.Claims, c)
		}
	}
	if len(s.Claims) == 0 {
		return nil, fmt.Errorf("no PVC of %s has a ready snapshot at or before %s", r.workload.Name(), r.time)
	}
	return s, nil
}

// rollbackObjects are what was read for all PVCs of a rollback.
type rollbackObjects struct {
	snapshots []snapshotv1.VolumeSnapshot
	claims    []corev1.PersistentVolumeClaim
	groups    []client.Object
	// lock is the unfinished rollback; nil if there is none.
	lock *core.Lock
	// classes and cluster read the classes of snapshots and of volumes, once, where a PVC needs them.
	classes func() (snapshots.Classes, error)
	cluster func() (recovery.Cluster, error)
}

// underway returns the unfinished rollback, and the PVCs of it or, without one, those that are asked for.
func (r *rollbackRun) underway(s *core.State) (*core.Lock, []string, error) {
	names := r.claims
	if len(names) == 0 {
		names = core.ClaimsOf(s.Workload, core.Replicas(s), slices.Collect(maps.Keys(s.PVCs)))
		names = slices.Concat(names, core.RecordedOf(s))
	}
	if r.own != nil {
		return r.own, r.own.Names(), nil
	}
	lock, err := s.Underway(names)
	if lock != nil && !slices.ContainsFunc(r.claims, func(name string) bool { return !slices.Contains(lock.Names(), name) }) {
		names = lock.Names()
	}
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s has no PVCs", s.Workload.Name())
	}
	return lock, names, err
}

// readVolumes reads all PersistentVolumes once, and then those that matter: what is or was of a PVC of the namespace, and what
// a record names. A PVC that is not bound to the volume that it names is no reason to read that: whoever creates PVCs writes it.
func (r *rollbackRun) readVolumes(ctx context.Context, s *core.State) error {
	s.Volumes = map[string]*corev1.PersistentVolume{}
	if len(r.seen) == 0 {
		all := &corev1.PersistentVolumeList{}
		if err := r.f.List(ctx, all); err != nil {
			return err
		}
		for i := range all.Items {
			v := &all.Items[i]
			ref := v.Spec.ClaimRef
			if ref == nil || ref.Namespace != r.f.Namespace {
				continue
			}
			r.seen[v.Name] = true
			records, err := core.RecordsOf(v)
			if err != nil {
				return err
			}
			for _, record := range records {
				r.seen[record.Volume] = true
			}
		}
	}
	for _, p := range s.PVCs {
		if p.Status.Phase == corev1.ClaimBound && len(validation.IsDNS1123Subdomain(p.Spec.VolumeName)) == 0 {
			r.seen[p.Spec.VolumeName] = true
		}
	}
	delete(r.seen, "")
	for name := range r.seen {
		v, _, err := view.ReadIfAllowed(ctx, r.f.Client, name, &corev1.PersistentVolume{})
		if err != nil {
			return err
		}
		if v != nil {
			s.Volumes[name] = v
		}
	}
	return s.ReadRecords()
}

// readPods finds out what controls the pods.
func (r *rollbackRun) readPods(ctx context.Context, s *core.State, pods []corev1.Pod) error {
	deployments := map[types.UID]*metav1.OwnerReference{}
	for i := range pods {
		owner := metav1.GetControllerOf(&pods[i])
		if !slices.ContainsFunc(pods[i].Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil }) {
			continue
		}
		if owner != nil && owner.Kind == "ReplicaSet" {
			if _, known := deployments[owner.UID]; !known {
				set := &appsv1.ReplicaSet{}
				if err := client.IgnoreNotFound(r.f.Get(ctx, owner.Name, set)); err != nil {
					return err
				}
				deployments[owner.UID] = metav1.GetControllerOf(set)
			}
			if of := deployments[owner.UID]; of != nil {
				owner = of
			}
		}
		s.Pods = append(s.Pods, core.Pod{Object: &pods[i], Owner: owner})
	}
	return nil
}

// readWorkload reads the workload that was named, or the one that uses the PVCs, or that a
// record names.
func (r *rollbackRun) readWorkload(ctx context.Context, s *core.State) error {
	name := r.workloadName
	if r.workload != nil {
		name = r.workload.Name()
	}
	if name = cmp.Or(name, core.WorkloadOf(s, r.claims)); name == "" {
		return nil
	}
	kind, short, ok := strings.Cut(name, "/")
	if !ok {
		kind, short = "", name
	}
	var found []*core.Workload
	for kinds, o := range map[string]client.Object{
		"deployment deployments deploy": &appsv1.Deployment{}, "statefulset statefulsets sts": &appsv1.StatefulSet{},
	} {
		if ok && !slices.Contains(strings.Fields(kinds), strings.TrimSuffix(strings.ToLower(kind), ".apps")) {
			continue
		}
		if err := r.f.Get(ctx, short, o); err == nil {
			found = append(found, core.NewWorkload(o))
		} else if !apierrors.IsNotFound(err) {
			return err
		}
	}
	switch {
	case len(found) == 0 && r.workloadName == "" && r.workload == nil:
		// It was deleted after it was scaled to 0. The record on the volume has the lock, too.
		r.printed.Once(r.f.Out, fmt.Sprintf("%s no longer exists: nothing is scaled", name))
		return nil
	case len(found) == 0:
		return fmt.Errorf("%s does not exist in namespace %s: specify a Deployment or StatefulSet that does, or PVCs with --pvc",
			name, r.f.Namespace)
	case len(found) > 1:
		return fmt.Errorf("there are %d Deployments and StatefulSets %s in namespace %s: name one, such as statefulset/db",
			len(found), name, r.f.Namespace)
	}
	r.workload, s.Workload = found[0], found[0]
	return nil
}

// readClaim reads what there is of a PVC; nil if it is left out, because the workload is at 0 and it has no snapshot of that time.
func (r *rollbackRun) readClaim(ctx context.Context, s *core.State, name string, read *rollbackObjects) (*core.Claim, error) {
	c := &core.Claim{Name: name, Again: r.again}
	p := s.PVCs[name]
	addSnapshots(c, s, read)
	if err := r.addGroups(c, read.groups); err != nil {
		return nil, err
	}
	forward := r.undo == "" && (read.lock == nil || read.lock.Undo == "")
	if forward {
		if read.lock == nil && r.leavesOut(c, s) {
			r.printed.Once(r.f.Out, fmt.Sprintf("PersistentVolumeClaim %s is left out: it has no ready snapshot at or before %s", name, r.time))
			return nil, nil
		}
		if err := r.addTarget(c, read, s); err != nil {
			return nil, err
		}
	}
	if p == nil {
		return c, nil
	}
	if err := r.readStorage(ctx, c, p, read); err != nil {
		return nil, err
	}
	if !forward || read.lock != nil && s.Recorded(read.lock.ID, name) || c.Target.ResourceVersion == "" {
		return c, nil
	}
	return c, r.readManifest(ctx, c, p, read)
}

// leavesOut returns whether a PVC of a workload that is at 0 has no snapshot of the time.
func (r *rollbackRun) leavesOut(c *core.Claim, s *core.State) bool {
	return r.time != "" && len(r.claims) == 0 && core.Replicas(s) == 0 && recovery.Newest(c.Snapshots, r.asOf, s.Now) == nil
}

// addSnapshots adds the snapshots of a PVC, and those that rollbacks took of what they replaced.
func addSnapshots(c *core.Claim, s *core.State, read *rollbackObjects) {
	c.Snapshots = recovery.OfClaim(read.snapshots, c.Name, s.PVCs[c.Name])
	keys := core.MapKeys(s, c.Name)
	for i := range read.snapshots {
		v := &read.snapshots[i]
		switch {
		case recovery.OfRollback(v):
			if backup.ClaimName(v) == c.Name {
				c.Safeties = append(c.Safeties, v)
			}
		case backup.Imported(v) && keys[types.UID(v.Labels[v1alpha1.LabelMapKey])] && !slices.Contains(c.Snapshots, v):
			c.Snapshots = append(c.Snapshots, v)
		}
	}
}

// addTarget adds the snapshot that a PVC goes back to. An unfinished rollback has chosen it.
func (r *rollbackRun) addTarget(c *core.Claim, read *rollbackObjects, s *core.State) error {
	goal := core.Goal{}
	if read.lock != nil {
		goal = read.lock.Goal(c.Name)
	}
	switch target := r.targets[c.Name]; {
	case target != nil && goal.SnapshotUID != "" && goal.SnapshotUID != target.UID:
		return fmt.Errorf("PersistentVolumeClaim %s: rollback %s to VolumeSnapshot %s has begun meanwhile: run the command again",
			c.Name, read.lock.ID, goal.Snapshot)
	case target != nil:
	case goal.SnapshotUID != "":
		if err := r.goesTo(c, read, goal, s); err != nil {
			return err
		}
		r.targets[c.Name] = &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{
			Namespace: r.f.Namespace, Name: goal.Snapshot, UID: goal.SnapshotUID,
		}}
	default:
		target, err := r.choose(c, read.snapshots, s)
		if err != nil {
			return err
		}
		r.targets[c.Name] = target
	}
	c.Target = r.targets[c.Name]
	addTargetAsRead(c, read)
	return nil
}

// addTargetAsRead completes the target, and adds it to the snapshots of the PVC.
func addTargetAsRead(c *core.Claim, read *rollbackObjects) {
	for i := range read.snapshots {
		v := &read.snapshots[i]
		if v.UID != c.Target.UID || backup.ClaimName(v) != "" && backup.ClaimName(v) != c.Name {
			continue
		}
		if c.Target = v; !slices.Contains(c.Snapshots, v) {
			c.Snapshots = append(c.Snapshots, v)
		}
	}
}

// addGroups adds the group snapshots of a PVC, which are held and carried over like its snapshots.
func (r *rollbackRun) addGroups(c *core.Claim, groups []client.Object) error {
	if r.f.GroupsDenied != nil && slices.ContainsFunc(c.Snapshots, func(v *snapshotv1.VolumeSnapshot) bool { return backup.GroupMember(v) }) {
		return fmt.Errorf("PersistentVolumeClaim %s is in group snapshots, which a rollback has to hold: %w", c.Name, r.f.GroupsDenied)
	}
	for _, o := range groups {
		if _, is := backup.ClaimsOf(o)[c.Name]; is {
			c.Groups = append(c.Groups, o.(*groupv1.VolumeGroupSnapshot))
		}
	}
	return nil
}

// choose chooses the snapshot that a PVC goes back to.
func (r *rollbackRun) choose(
	c *core.Claim, found []snapshotv1.VolumeSnapshot, s *core.State,
) (*snapshotv1.VolumeSnapshot, error) {
	if r.time != "" {
		return recovery.Choose(c.Snapshots, c.Name, r.asOf, s.Now)
	}
	i := slices.IndexFunc(found, func(v snapshotv1.VolumeSnapshot) bool { return v.Name == r.snapshot })
	if i < 0 {
		return nil, fmt.Errorf("VolumeSnapshot %s does not exist", r.snapshot)
	}
	v := &found[i]
	if source := backup.ClaimName(v); source != "" && source != c.Name {
		return nil, fmt.Errorf("VolumeSnapshot %s was taken of PersistentVolumeClaim %s, not of %s", v.Name, source, c.Name)
	}
	return v, nil
}

// readManifest plans the PVC that the snapshot is restored to, as restore does.
func (r *rollbackRun) readManifest(ctx context.Context, c *core.Claim, p *corev1.PersistentVolumeClaim, read *rollbackObjects) error {
	source, err := steps.SourceOf(ctx, r.f.Client, c.Target, read.claims)
	if err != nil {
		return err
	}
	source.Claim = p // whose class, size and modes the new one must have
	cluster, err := read.cluster()
	if err != nil {
		return err
	}
	plan, err := recovery.Claim(source, cluster, recovery.Options{Name: core.RestoredName(p.Name, r.newID)})
	c.Manifest, c.WaitsForConsumer, c.Unrestorable = plan.Claim, plan.WaitsForConsumer, err
	for _, note := range plan.Notes {
		r.printed.Once(r.f.ErrOut, "Warning: "+note)
	}
	return nil
}

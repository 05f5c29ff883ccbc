// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/restore"
	"mapcontroller.dev/snapshotschedule/internal/cli/rollback"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// observe reads all that the next step depends on.
func (r *rollbackRun) observe(ctx context.Context) (*rollback.State, error) {
	s := &rollback.State{
		Namespace: r.namespace, Began: r.began, Now: r.began.Add(r.Clock.Since(r.started)), Scaled: r.scaled, Image: r.image,
		PVCs: map[string]*corev1.PersistentVolumeClaim{},
	}
	claims, found, pods := &corev1.PersistentVolumeClaimList{}, &snapshotv1.VolumeSnapshotList{}, &corev1.PodList{}
	for _, list := range []client.ObjectList{claims, found, pods} {
		if err := r.list(ctx, list, client.InNamespace(r.namespace)); err != nil {
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
	names := r.claims
	if len(names) == 0 {
		names = rollback.ClaimsOf(s.Workload, rollback.Replicas(s), slices.Collect(maps.Keys(s.PVCs)))
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no PVCs", s.Workload.Name())
	}
	groups, _, err := r.readGroups(ctx, r.namespace)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		c, err := r.readClaim(ctx, s, name, found.Items, claims.Items)
		if err == nil {
			err = r.addGroups(c, groups[r.namespace])
		}
		if err != nil {
			return nil, err
		}
		s.Claims = append(s.Claims, c)
	}
	return s, nil
}

// readVolumes reads all PersistentVolumes once, and then those that matter.
func (r *rollbackRun) readVolumes(ctx context.Context, s *rollback.State) error {
	s.Volumes = map[string]*corev1.PersistentVolume{}
	if len(r.seen) == 0 {
		all := &corev1.PersistentVolumeList{}
		if err := r.list(ctx, all); err != nil {
			return err
		}
		for _, v := range all.Items {
			if ref := v.Spec.ClaimRef; ref != nil && ref.Namespace == r.namespace {
				r.seen[v.Name] = true
			}
		}
	}
	for _, p := range s.PVCs {
		r.seen[p.Spec.VolumeName] = true
	}
	delete(r.seen, "")
	for name := range r.seen {
		v, _, err := read(ctx, r.client, name, &corev1.PersistentVolume{})
		if err != nil {
			return err
		}
		if v != nil {
			s.Volumes[name] = v
		}
	}
	return nil
}

// readPods finds out what controls the pods.
func (r *rollbackRun) readPods(ctx context.Context, s *rollback.State, pods []corev1.Pod) error {
	deployments := map[types.UID]*metav1.OwnerReference{}
	for i := range pods {
		owner := metav1.GetControllerOf(&pods[i])
		if !slices.ContainsFunc(pods[i].Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil }) {
			continue
		}
		if owner != nil && owner.Kind == "ReplicaSet" {
			if _, known := deployments[owner.UID]; !known {
				set := &appsv1.ReplicaSet{}
				if err := client.IgnoreNotFound(r.get(ctx, owner.Name, set)); err != nil {
					return err
				}
				deployments[owner.UID] = metav1.GetControllerOf(set)
			}
			if of := deployments[owner.UID]; of != nil {
				owner = of
			}
		}
		s.Pods = append(s.Pods, rollback.Pod{Pod: &pods[i], Owner: owner})
	}
	return nil
}

// readWorkload reads the workload that was named, or the one that uses the PVCs, or that a
// record names.
func (r *rollbackRun) readWorkload(ctx context.Context, s *rollback.State) error {
	name := r.workloadName
	if r.workload != nil {
		name = r.workload.Name()
	}
	if name = cmp.Or(name, rollback.WorkloadOf(s, r.claims)); name == "" {
		return nil
	}
	kind, short, ok := strings.Cut(name, "/")
	if !ok {
		kind, short = "", name
	}
	var found []*rollback.Workload
	for kinds, o := range map[string]client.Object{
		"deployment deployments deploy": &appsv1.Deployment{}, "statefulset statefulsets sts": &appsv1.StatefulSet{},
	} {
		if ok && !slices.Contains(strings.Fields(kinds), strings.TrimSuffix(strings.ToLower(kind), ".apps")) {
			continue
		}
		if err := r.get(ctx, short, o); err == nil {
			found = append(found, rollback.NewWorkload(o))
		} else if !apierrors.IsNotFound(err) {
			return err
		}
	}
	if len(found) != 1 {
		return fmt.Errorf("there are %d Deployments and StatefulSets %s in namespace %s: name one, such as statefulset/db",
			len(found), name, r.namespace)
	}
	r.workload, s.Workload = found[0], found[0]
	return nil
}

func (r *rollbackRun) readClaim(
	ctx context.Context, s *rollback.State, name string, found []snapshotv1.VolumeSnapshot, claims []corev1.PersistentVolumeClaim,
) (*rollback.Claim, error) {
	c := &rollback.Claim{Name: name, Again: r.again}
	p := s.PVCs[name]
	c.Snapshots = restore.OfClaim(found, name, p)
	keys := rollback.MapKeys(s, name)
	for i := range found {
		v := &found[i]
		if restore.Imported(v) && keys[types.UID(v.Labels[v1alpha1.LabelMapKey])] && !slices.Contains(c.Snapshots, v) {
			c.Snapshots = append(c.Snapshots, v)
		}
	}
	if !r.undo {
		if err := r.addTarget(c, found, s); err != nil {
			return nil, err
		}
	}
	if p != nil {
		if err := r.readSchedule(ctx, c, p); err != nil {
			return nil, err
		}
	}
	if r.undo || p == nil || rollback.Begun(s, name) {
		return c, nil
	}
	return c, r.readManifest(ctx, c, p, claims)
}

// addTarget adds the snapshot that a PVC goes back to, which is chosen once.
func (r *rollbackRun) addTarget(c *rollback.Claim, found []snapshotv1.VolumeSnapshot, s *rollback.State) error {
	if r.targets[c.Name] == nil {
		target, err := r.choose(c, found, s)
		if err != nil {
			return err
		}
		r.targets[c.Name] = target
	}
	c.Target = r.targets[c.Name]
	if !slices.ContainsFunc(c.Snapshots, func(v *snapshotv1.VolumeSnapshot) bool { return v.UID == c.Target.UID }) {
		for i := range found {
			if found[i].UID == c.Target.UID {
				c.Snapshots = append(c.Snapshots, &found[i])
			}
		}
	}
	return nil
}

// addGroups adds the group snapshots of a PVC, which are held and carried over like its snapshots.
func (r *rollbackRun) addGroups(c *rollback.Claim, groups []client.Object) error {
	if r.groupsDenied != nil && slices.ContainsFunc(c.Snapshots, func(v *snapshotv1.VolumeSnapshot) bool { return snapshots.GroupMember(v) }) {
		return fmt.Errorf("PersistentVolumeClaim %s is in group snapshots, which a rollback has to hold: %w", c.Name, r.groupsDenied)
	}
	for _, o := range groups {
		if _, is := snapshots.ClaimsOf(o)[c.Name]; is {
			c.Groups = append(c.Groups, o.(*groupv1.VolumeGroupSnapshot))
		}
	}
	return nil
}

// choose chooses the snapshot that a PVC goes back to.
func (r *rollbackRun) choose(
	c *rollback.Claim, found []snapshotv1.VolumeSnapshot, s *rollback.State,
) (*snapshotv1.VolumeSnapshot, error) {
	if r.time != "" {
		// A rollback that is run again must not choose its own safety snapshot, nor that of a PVC for which it is finished.
		before := slices.DeleteFunc(slices.Clone(c.Snapshots), func(v *snapshotv1.VolumeSnapshot) bool {
			_, safety := v.Annotations[v1alpha1.AnnotationRollbackOf]
			return safety
		})
		return restore.Choose(before, c.Name, r.asOf, s.Now)
	}
	i := slices.IndexFunc(found, func(v snapshotv1.VolumeSnapshot) bool { return v.Name == r.snapshot })
	if i < 0 {
		return nil, fmt.Errorf("VolumeSnapshot %s does not exist", r.snapshot)
	}
	v := &found[i]
	if source := sourceName(v); source != "" && source != c.Name {
		return nil, fmt.Errorf("VolumeSnapshot %s was taken of PersistentVolumeClaim %s, not of %s", v.Name, source, c.Name)
	}
	return v, nil
}

// readManifest plans the PVC that the snapshot is restored to, as restore does.
func (r *rollbackRun) readManifest(
	ctx context.Context, c *rollback.Claim, p *corev1.PersistentVolumeClaim, claims []corev1.PersistentVolumeClaim,
) error {
	source, err := (&restoration{Factory: r.Factory}).source(ctx, c.Target, claims)
	if err != nil {
		return err
	}
	source.Claim = p // whose class, size and modes the new one must have
	classes := &storagev1.StorageClassList{}
	err = r.list(ctx, classes)
	if err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	cluster := restore.Cluster{StorageClasses: classes.Items, ClassesUnknown: err != nil}
	plan, err := restore.Claim(source, cluster, restore.Options{Name: rollback.RestoredName(p.Name, p.UID, c.Target.UID)})
	c.Manifest, c.WaitsForConsumer, c.Unrestorable = plan.Claim, plan.WaitsForConsumer, err
	for _, note := range plan.Notes {
		r.told.once(r.ErrOut, "Warning: "+note)
	}
	return nil
}

// readSchedule finds the schedule that the safety snapshot belongs to: the first that selects the PVC.
func (r *rollbackRun) readSchedule(ctx context.Context, c *rollback.Claim, p *corev1.PersistentVolumeClaim) (err error) {
	if r.schedules == nil {
		if r.schedules, err = r.readSchedules(ctx, r.namespace, ""); err != nil {
			return err
		}
	}
	var templates []*v1alpha1.SnapshotTemplateSpec
	// An imported one's class may be of another driver, and a member of a group snapshot has none.
	if v := c.Target; v != nil && v.Spec.Source.PersistentVolumeClaimName != nil && v.Spec.VolumeSnapshotClassName != nil {
		templates = append(templates, &v1alpha1.SnapshotTemplateSpec{VolumeSnapshotClassName: v.Spec.VolumeSnapshotClassName})
	}
	for _, s := range r.schedules {
		judge, err := snapshots.NewJudge(scheme, s, snapshots.Classes{})
		if err == nil && judge.Selects(p) && s.DeletionTimestamp == nil {
			c.Schedule = cmp.Or(c.Schedule, s.Name)
			templates = append(templates, &s.Spec.SnapshotTemplate.Spec)
		}
	}
	c.Class, err = r.safetyClass(ctx, p, append(templates, &v1alpha1.SnapshotTemplateSpec{}))
	return err
}

// safetyClass returns the class for a snapshot of a PVC: that of the first template under which one fits, such as the driver's
// default, which is nil. A driver may have several classes and no default: then it is the first one that deletes data with
// its snapshot. To whoever may not read classes, each that is named fits.
func (r *rollbackRun) safetyClass(
	ctx context.Context, p *corev1.PersistentVolumeClaim, templates []*v1alpha1.SnapshotTemplateSpec,
) (*string, error) {
	list := &snapshotv1.VolumeSnapshotClassList{}
	err := r.list(ctx, list)
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	classes := snapshots.Classes{Known: err == nil, All: items(list)}
	for _, template := range templates {
		if class, refused := classes.Choose(p, template); refused.Reason == "" {
			return class, nil
		}
	}
	for i := range list.Items { // by name
		class := &list.Items[i]
		_, refused := classes.Choose(p, &v1alpha1.SnapshotTemplateSpec{VolumeSnapshotClassName: &class.Name})
		if refused.Reason == "" && class.DeletionPolicy == snapshotv1.VolumeSnapshotContentDelete {
			return &class.Name, nil
		}
	}
	return templates[0].VolumeSnapshotClassName, nil // such as the target's, which was taken of a PVC of an in-tree driver
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"context"
	"fmt"
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/rollback/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// readStorage finds out how the storage takes the safety snapshot.
func (r *rollbackRun) readStorage(ctx context.Context, c *core.Claim, p *corev1.PersistentVolumeClaim, read *rollbackObjects) error {
	classes, err := read.classes()
	if err == nil && r.schedules == nil {
		err = r.readSchedules(ctx)
	}
	if err != nil {
		return err
	}
	c.Class, c.Full = safetyClass(p, classes, r.templates(c, p)), full(c, p, classes)
	return nil
}

func (r *rollbackRun) readSchedules(ctx context.Context) (err error) {
	if r.schedules, err = view.ReadSchedules(ctx, r.f, r.f.Namespace, ""); err == nil {
		r.origins, err = view.ReadOrigins(ctx, r.f, r.schedules)
	}
	return err
}

// full says why the storage takes no snapshot of the present data; empty if it takes one.
func full(c *core.Claim, p *corev1.PersistentVolumeClaim, classes snapshots.Classes) string {
	var all []client.Object
	for _, v := range c.Snapshots {
		all = append(all, v)
	}
	for _, v := range c.Groups {
		all = append(all, v)
	}
	limit, class, of := classes.PerVolume(p, all)
	for _, v := range c.Safeties { // which are of no schedule
		if limit > 0 && v.CreationTimestamp.After(p.CreationTimestamp.Time) {
			of = append(of, v)
		}
	}
	if limit == 0 || len(of) < limit {
		return ""
	}
	names := make([]string, len(of))
	for i, v := range of {
		names[i] = v.GetName()
	}
	slices.Sort(names)
	return fmt.Sprintf("class %s allows %d snapshots of a volume, and there are %d: %s", class, limit, len(of), strings.Join(names, ", "))
}

// templates returns what may say by which class the safety snapshot is taken: the target, the schedules that select the PVC, and the
// default of the driver.
func (r *rollbackRun) templates(c *core.Claim, p *corev1.PersistentVolumeClaim) (all []*v1alpha1.SnapshotTemplateSpec) {
	// An imported one's class may be of another driver, and a member of a group snapshot has none.
	if v := c.Target; v != nil && !backup.Imported(v) && backup.ClassOf(v) != nil {
		all = append(all, &v1alpha1.SnapshotTemplateSpec{VolumeSnapshotClassName: backup.ClassOf(v)})
	}
	for _, s := range r.schedules {
		judge, err := snapshots.NewJudge(term.Scheme, s, snapshots.Classes{}, r.origins.Of(s)...)
		if err == nil && judge.Selects(p) && s.DeletionTimestamp == nil {
			all = append(all, &r.origins.Decided(s).Spec.SnapshotTemplate.Spec)
		}
	}
	return append(all, &v1alpha1.SnapshotTemplateSpec{})
}

// safetyClass returns the class for a snapshot of a PVC: that of the first template under which one fits, such as the driver's
// default, which is nil. A driver may have several classes and no default: then it is the first one that deletes data with
// its snapshot. To whoever may not read classes, each that is named fits.
func safetyClass(p *corev1.PersistentVolumeClaim, classes snapshots.Classes, templates []*v1alpha1.SnapshotTemplateSpec) *string {
	for _, template := range templates {
		if class, refused := classes.Choose(p, template); refused.Reason == "" {
			return class
		}
	}
	for _, o := range classes.All { // by name
		class, is := o.(*snapshotv1.VolumeSnapshotClass)
		if !is || class.DeletionPolicy != snapshotv1.VolumeSnapshotContentDelete {
			continue
		}
		if _, refused := classes.Choose(p, &v1alpha1.SnapshotTemplateSpec{VolumeSnapshotClassName: &class.Name}); refused.Reason == "" {
			return &class.Name
		}
	}
	return templates[0].VolumeSnapshotClassName // such as the target's, which was taken of a PVC of an in-tree driver
}

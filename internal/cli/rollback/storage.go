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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/rollback/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// readStorage finds out how the storage takes the safety snapshot.
func (r *rollbackRun) readStorage(ctx context.Context, c *core.Claim, p *corev1.PersistentVolumeClaim) error {
	if err := r.readSchedule(ctx, c, p); err != nil {
		return err
	}
	return r.addFull(ctx, c, p)
}

// addFull says why the storage takes no snapshot of the present data.
func (r *rollbackRun) addFull(ctx context.Context, c *core.Claim, p *corev1.PersistentVolumeClaim) error {
	classes, err := view.ReadClasses(ctx, r.f)
	if err != nil {
		return err
	}
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
		return nil
	}
	names := make([]string, len(of))
	for i, v := range of {
		names[i] = v.GetName()
	}
	slices.Sort(names)
	c.Full = fmt.Sprintf("class %s allows %d snapshots of a volume, and there are %d: %s", class, limit, len(of), strings.Join(names, ", "))
	return nil
}

// readSchedule finds the class of the safety snapshot.
func (r *rollbackRun) readSchedule(ctx context.Context, c *core.Claim, p *corev1.PersistentVolumeClaim) (err error) {
	if r.schedules == nil {
		if r.schedules, err = view.ReadSchedules(ctx, r.f, r.f.Namespace, ""); err != nil {
			return err
		}
		if r.origins, err = view.ReadOrigins(ctx, r.f, r.schedules); err != nil {
			return err
		}
	}
	var templates []*v1alpha1.SnapshotTemplateSpec
	// An imported one's class may be of another driver, and a member of a group snapshot has none.
	if v := c.Target; v != nil && !backup.Imported(v) && backup.ClassOf(v) != nil {
		templates = append(templates, &v1alpha1.SnapshotTemplateSpec{VolumeSnapshotClassName: backup.ClassOf(v)})
	}
	for _, s := range r.schedules {
		judge, err := snapshots.NewJudge(term.Scheme, s, snapshots.Classes{}, r.origins.Of(s)...)
		if err == nil && judge.Selects(p) && s.DeletionTimestamp == nil {
			templates = append(templates, &r.origins.Decided(s).Spec.SnapshotTemplate.Spec)
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
	err := r.f.List(ctx, list)
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	classes := snapshots.Classes{Known: err == nil, All: view.Items(list)}
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

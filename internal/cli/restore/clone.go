// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/holders"
	"mapcontroller.dev/snapshotschedule/internal/cli/recovery"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/drivers"
)

// checkClone checks the flags of a restore to another namespace.
func (r *restoration) checkClone() error {
	switch {
	case r.toNamespace != "" && r.f.DryRun == term.DryRunServer:
		return r.f.DryRun.OneWrite(2) // the PVC, and what lends it the data
	case r.toNamespace == "" && r.sharedHandle:
		return errors.New("--shared-handle is for --to-namespace")
	case r.toNamespace == r.f.Namespace:
		return fmt.Errorf("the snapshots are in namespace %s already: leave out --to-namespace", r.f.Namespace)
	}
	return nil
}

// checkCloneRights asks first: a copy that may not go on would leave what lends the data.
func (r *restoration) checkCloneRights(ctx context.Context) error {
	term.Say(r.f.ErrOut, "A copy in another namespace goes through a VolumeSnapshotContent, for which you need cluster-wide rights.")
	return r.f.Need(ctx, "this")
}

// clone restores snapshots to the other namespace.
func (r *restoration) clone(ctx context.Context) error {
	r.choice.Waiting.Enabled = false // a copy waits without that, and needs no permission to watch
	if err := r.checkCloneRights(ctx); err != nil {
		return err
	}
	clones, err := r.planClones(ctx)
	dead, deadErr := r.deadClones(ctx, clones)
	switch err := errors.Join(err, deadErr); {
	case r.f.DryRun.On() && err == nil:
		return r.dryRunClones(clones)
	case r.f.DryRun.On(), deadErr != nil:
		return err
	}
	if err == nil {
		err = r.copy(ctx, clones)
	}
	r.removeDead(ctx, dead)
	return err
}

// deadFor is how long a copy may take to remove what dead ones have left. Somebody's finalizer may keep that forever.
const deadFor = 30 * time.Second

// removeDead removes dead copies, after all that the command was asked for.
func (r *restoration) removeDead(ctx context.Context, dead []*recovery.Clone) {
	ctx, cancel := context.WithTimeoutCause(ctx, deadFor, fmt.Errorf("%w after %s", term.ErrTimeout, term.Span(deadFor)))
	defer cancel()
	for _, c := range dead {
		if ctx.Err() != nil {
			return // the next copy finds it
		}
		if err := r.runClones(ctx, []*recovery.Clone{c}); err != nil {
			r.f.Warn("%s", strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
}

// copy makes the copies, and prints their PVCs.
func (r *restoration) copy(ctx context.Context, clones []*recovery.Clone) error {
	if err := r.runClones(ctx, clones); err != nil {
		return err
	}
	all := make([]client.Object, len(clones))
	for i, c := range clones {
		c.Claim.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
		all[i] = c.Claim
	}
	return r.print("is in namespace "+r.toNamespace, all...)
}

// planClones plans the copies of all snapshots before the first write.
func (r *restoration) planClones(ctx context.Context) (clones []*recovery.Clone, err error) {
	found, err := r.choice.Choose(ctx)
	if err != nil {
		return nil, err
	}
	all, err := r.choice.Plan(ctx, found, r.toNamespace)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		for _, note := range p.Plan.Notes {
			r.f.Warn("%s", note)
		}
		c := recovery.NewClone(p.Source, p.Plan, r.toNamespace)
		if c.SharedHandle = r.sharedHandle; !c.SharedHandle {
			if c.SharedHandle, err = r.proven(ctx, p.Source); err != nil {
				return nil, err
			}
		}
		if err := r.observeClone(ctx, c); err != nil {
			return nil, err
		}
		clones = append(clones, c)
	}
	return clones, nil
}

// proven returns whether the class of a snapshot says that a copy was proven with the driver that holds it, in its present version. Only
// administrators of the cluster write classes, but whoever takes a snapshot names one of them.
func (r *restoration) proven(ctx context.Context, of recovery.Source) (bool, error) {
	if of.Class == nil || of.Content == nil || of.Class.Driver != of.Content.Spec.Driver ||
		ptr.Deref(of.Content.Spec.VolumeSnapshotClassName, "") != of.Class.Name || // users may change what a VolumeSnapshot names
		of.Class.Annotations[v1alpha1.AnnotationProven] == "" {
		return false, nil
	}
	now, err := r.f.ServerTime(ctx)
	if err != nil {
		return false, fmt.Errorf("read the API server's clock: %w", err)
	}
	driver, gone, err := view.ReadIfAllowed(ctx, r.f.Client, of.Class.Driver, &storagev1.CSIDriver{})
	proof, said := drivers.Proven(of.Class, now)
	if driver == nil && !gone && proof.Version != drivers.UnknownVersion { // it may be another one by now
		return false, err
	}
	return said && proof.Holds(drivers.FactCopies, drivers.VersionOf(driver)), err
}

// deadClones returns what interrupted copies have left of which the original was deleted meanwhile, and mentions others.
func (r *restoration) deadClones(ctx context.Context, planned []*recovery.Clone) (dead []*recovery.Clone, err error) {
	left := &snapshotv1.VolumeSnapshotContentList{}
	if err := r.f.List(ctx, left, client.MatchingLabels{v1alpha1.LabelCopyTo: r.toNamespace}); err != nil {
		return nil, err
	}
	for i := range left.Items {
		name := left.Items[i].Name
		of, uid := recovery.CloneOf(&left.Items[i])
		if of.Namespace != r.f.Namespace || slices.ContainsFunc(planned, func(c *recovery.Clone) bool { return c.Name == name }) {
			continue
		}
		original, err := view.LookUp(ctx, r.f.Client, of, &snapshotv1.VolumeSnapshot{})
		switch {
		case err != nil:
			return nil, err
		case original != nil && original.UID == uid:
			r.f.Warn("a copy of %s to namespace %s is unfinished: restore that snapshot to it again to finish the copy", of.Name, r.toNamespace)
			continue
		}
		c := &recovery.Clone{
			Of: of, Namespace: r.toNamespace, Name: name,
			Unrestorable: fmt.Errorf("the VolumeSnapshot %s of an unfinished copy was deleted", of.Name),
		}
		if err := r.observeClone(ctx, c); err != nil {
			return nil, err
		}
		dead = append(dead, c)
	}
	return dead, nil
}

// observeClone reads what the next step depends on: the content before the snapshot that it is bound to.
func (r *restoration) observeClone(ctx context.Context, c *recovery.Clone) (err error) {
	namespace, err := view.LookUp(ctx, r.f.Client, client.ObjectKey{Name: r.toNamespace}, &corev1.Namespace{})
	switch {
	case err != nil:
		return err
	case namespace == nil:
		c.NamespaceErr = fmt.Errorf("namespace %s does not exist", r.toNamespace)
	case namespace.DeletionTimestamp != nil:
		c.NamespaceErr = fmt.Errorf("namespace %s is being deleted", r.toNamespace)
	}
	if c.Original, err = r.original(ctx, c); err != nil {
		return err
	}
	name := client.ObjectKey{Name: c.Name}
	if c.Content, err = view.LookUp(ctx, r.f.Client, name, &snapshotv1.VolumeSnapshotContent{}); err != nil {
		return err
	}
	name.Namespace = r.toNamespace
	if c.Snapshot, err = view.LookUp(ctx, r.f.Client, name, &snapshotv1.VolumeSnapshot{}); err != nil {
		return err
	}
	claims := &corev1.PersistentVolumeClaimList{}
	if err := r.f.List(ctx, claims, client.InNamespace(r.toNamespace)); err != nil {
		return err
	}
	c.SetClaim(claims.Items)
	return nil
}

// original reads the original of a copy. Another snapshot of its name is none, but a dead copy may have held it.
func (r *restoration) original(ctx context.Context, c *recovery.Clone) (recovery.Source, error) {
	v, err := view.LookUp(ctx, r.f.Client, c.Of, &snapshotv1.VolumeSnapshot{})
	switch {
	case err != nil || v == nil || c.Manifest == nil:
		return recovery.Source{Snapshot: v}, err
	case recovery.CloneName(v.UID, r.toNamespace, c.Manifest.Name) != c.Name:
		return recovery.Source{}, nil
	}
	return steps.SourceOf(ctx, r.f.Client, v, nil)
}

// dryRunClones prints what would be created.
func (r *restoration) dryRunClones(clones []*recovery.Clone) error {
	var all []client.Object
	for _, c := range clones {
		if err := c.Refused(); err != nil {
			return err
		}
		all = append(all, c.Missing()...)
	}
	return r.print("created", all...)
}

// runClones takes the steps of copies until the PVCs are bound and nothing else is left.
func (r *restoration) runClones(ctx context.Context, clones []*recovery.Clone) error {
	began, err := r.f.ServerTime(ctx)
	if err != nil {
		return fmt.Errorf("read the API server's clock: %w", err)
	}
	started := r.f.Clock.Now()
	now := func() time.Time { return began.Add(r.f.Clock.Since(started)) }
	machines := make([]steps.Machine[*recovery.Clone], len(clones))
	for i, c := range clones {
		machines[i] = &copying{of: r, clone: c, now: now}
	}
	runner := &steps.Runner{Factory: r.f, Out: r.f.ErrOut, Printed: steps.Printed{}}
	if err := steps.Run(ctx, runner, machines...); err != nil {
		return err
	}
	var consumers []string
	for _, c := range clones {
		if step, err := c.Next(now()); err == nil && step.Unawaited {
			consumers = append(consumers, c.Claim.Name)
		}
	}
	if len(consumers) > 0 { // the copies are finished once they have their first pods
		r.f.Warn("%s: bound with the first pod that uses it. Until then, the VolumeSnapshot and the VolumeSnapshotContent of the copy stay, "+
			"and the hold. Run the command again once that pod is scheduled, within %.0f h, to remove them",
			strings.Join(consumers, ", "), holders.For.Hours())
	}
	return nil
}

// copying is the run of one copy.
type copying struct {
	of    *restoration
	clone *recovery.Clone
	now   func() time.Time
	wrote bool // or may have
}

// Observe reads what the next step depends on.
func (c *copying) Observe(ctx context.Context) (*recovery.Clone, error) {
	return c.clone, c.of.observeClone(ctx, c.clone)
}

// Next decides the next step.
func (c *copying) Next(clone *recovery.Clone) (change.Step, error) { return clone.Next(c.now()) }

// Sent notes that there may be something to finish.
func (c *copying) Sent(_ *recovery.Clone, _ change.Step, o steps.Outcome) error {
	c.wrote = c.wrote || o.Some
	return o.Err
}

// Unfinished says how to go on. What was read may be older than the write, or the hold, after which the command had to end.
func (c *copying) Unfinished(ctx context.Context, clone *recovery.Clone, err error) error {
	cut := c.wrote && ctx.Err() != nil
	if clone.Manifest == nil || !cut && clone.Content == nil && clone.Snapshot == nil && clone.Claim == nil {
		return err
	}
	return fmt.Errorf("%w\nA copy is unfinished, and VolumeSnapshot %s is held for it, for up to %.0f h. "+
		"Run the same command again to continue, with the name of that VolumeSnapshot", err, clone.Of.Name, holders.For.Hours())
}

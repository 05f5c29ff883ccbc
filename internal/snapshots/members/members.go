// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"errors"
	"sync"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/informer"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// VerbLabel is the verb of a label that could not be written.
const VerbLabel mapcontroller.Verb = "label"

// The members of a group snapshot are sought again after half of the time since it was cut, within these bounds, for a day: a
// driver that left a PVC out makes no member of it later. A label that is refused is tried again after a second, which doubles up
// to slowest.
const (
	soonest   = time.Second
	latest    = time.Hour
	searchFor = 24 * time.Hour
	slowest   = 5 * time.Minute
)

// Members finds and labels the members of group snapshots.
type Members struct {
	// Engine is the engine of schedules, once it is there.
	Engine mapcontroller.Access

	options mapcontroller.Options
	api     client.Client
	live    client.Reader
	labeled *informer.Stores

	mu sync.Mutex
	// searches are those of the group snapshots that lack members.
	searches map[types.NamespacedName]search

	listing sync.Mutex
	listed  time.Time
	// unlabeled are the VolumeSnapshots without the label, by namespace and by the UID of the group snapshot that they name as owner.
	unlabeled map[string]map[types.UID][]client.ObjectKey
}

type search struct {
	of types.UID
	// next is when the members are sought again.
	next time.Time
	// err is why the last of some failures failed. reported is set once a pass of the engine has it.
	err      error
	failures int
	reported bool
}

// New returns Members. Start starts them.
func New(o mapcontroller.Options) *Members {
	return &Members{options: o, labeled: informer.NewStores(), searches: map[types.NamespacedName]search{}}
}

// Failed returns the labels of members that could not be written, for a pass over a key. Those of an earlier pass are backing off.
func (m *Members) Failed(key mapcontroller.Request) (failed []mapcontroller.Failure) {
	if !backup.IsGroupKey(key.MapKey) {
		return nil
	}
	groups := m.Engine.Outputs(key)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range groups {
		if s := m.searches[client.ObjectKeyFromObject(o)]; s.err != nil && s.of == o.GetUID() {
			failed = append(failed, mapcontroller.Failure{Verb: VerbLabel, Object: o, Err: s.err, BackingOff: s.reported})
			s.reported = true
			m.searches[client.ObjectKeyFromObject(o)] = s
		}
	}
	return failed
}

// Reconcile labels the members of a group snapshot, wakes its key, and returns when to seek those that it still lacks.
func (m *Members) Reconcile(ctx context.Context, req reconcile.Request) (result reconcile.Result, _ error) {
	group, _ := m.options.Stores.Get(&groupv1.VolumeGroupSnapshot{}, req.NamespacedName).(*groupv1.VolumeGroupSnapshot)
	if group == nil {
		m.set(req.NamespacedName, nil)
		return result, nil
	}
	key, ours := m.Engine.KeyOf(group)
	if key.Parent.Name != "" {
		defer m.Engine.Enqueue(key, 0)
	}
	if schedule := m.Engine.Parent(key.Parent); !ours || isDeleting(schedule) || !lacks(group, m.Of(group)) {
		m.set(req.NamespacedName, nil)
		if !ours { // it may be adopted, or its schedule created again
			result.RequeueAfter = latest
		}
		return result, nil
	}
	s := m.searchOf(group)
	now, cut := m.options.Clock.Now(), backup.Of(group)
	age := now.Sub(cut.AgeBase(now))
	if wait := s.next.Sub(now); wait <= 0 || wait > latest { // else an event came early
		err := m.label(ctx, group)
		switch {
		case ctx.Err() != nil:
			return result, nil
		case err == nil:
			s = search{of: group.UID, next: now.Add(min(max(age/2, soonest), latest))}
		case apierrors.IsConflict(err): // also if another manager was faster
			s.next = now.Add(soonest)
		default:
			logf.FromContext(ctx).Error(err, "Failed to label members of a group snapshot")
			s.err, s.reported, s.next = err, false, now.Add(min(soonest<<min(s.failures, 10), slowest))
			s.failures++
		}
		m.set(req.NamespacedName, &s)
	}
	if s.failures > 0 || age < searchFor {
		result.RequeueAfter = s.next.Sub(now)
	}
	return result, nil
}

func (m *Members) searchOf(group client.Object) search {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.searches[client.ObjectKeyFromObject(group)]; s.of == group.GetUID() {
		return s
	}
	return search{of: group.GetUID()}
}

// set keeps the search of a group snapshot; nil: drops it.
func (m *Members) set(name types.NamespacedName, s *search) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s == nil {
		delete(m.searches, name)
	} else {
		m.searches[name] = *s
	}
}

// isDeleting returns whether an object that the cache may not have is being deleted.
func isDeleting(o client.Object) bool { return o != nil && backup.Terminating(o) }

// lacks returns whether a group snapshot that is cut lacks a member of a PVC of its record.
func lacks(group *groupv1.VolumeGroupSnapshot, members []client.Object) bool {
	taken := backup.Of(group)
	if !backup.IsGroupKey(group.Labels[v1alpha1.LabelMapKey]) || taken.Uncut() || taken.Deleting {
		return false
	}
	missing := backup.ClaimsOf(group)
	for _, o := range members {
		delete(missing, backup.ClaimName(o))
	}
	return len(missing) > 0
}

// label labels the members of a group snapshot. If the process crashes between the list and a patch, the next search finds the rest.
func (m *Members) label(ctx context.Context, group *groupv1.VolumeGroupSnapshot) error {
	named, err := m.naming(ctx, group)
	errs := []error{err}
	for _, name := range named {
		v := &snapshotv1.VolumeSnapshot{}
		err := m.live.Get(ctx, name, v)
		if err == nil && backup.GroupLabel(v) == "" && backup.IsMember(v, group) {
			err = m.labelOne(ctx, group, v)
		}
		errs = append(errs, client.IgnoreNotFound(err))
	}
	return errors.Join(errs...)
}

// labelOne labels a member while the PVC that it names has the UID of the record. One whose PVC is not in the record is labeled,
// too, so that it is seen: it never counts.
func (m *Members) labelOne(ctx context.Context, group *groupv1.VolumeGroupSnapshot, v *snapshotv1.VolumeSnapshot) error {
	if uid, known := backup.ClaimsOf(group)[backup.ClaimName(v)]; known {
		claim := &metav1.PartialObjectMetadata{}
		claim.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
		err := m.live.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: backup.ClaimName(v)}, claim)
		if err != nil || claim.UID != uid {
			return err
		}
	}
	labeled := v.DeepCopy()
	metav1.SetMetaDataLabel(&labeled.ObjectMeta, v1alpha1.LabelGroupSnapshot, group.Name)
	ctx, cancel := context.WithTimeout(ctx, mapcontroller.RequestTimeout)
	defer cancel()
	return m.api.Patch(ctx, labeled, client.MergeFromWithOptions(v, client.MergeFromWithOptimisticLock{}))
}

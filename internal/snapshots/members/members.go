// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/informer"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

const (
	// VerbLabel is the verb of a label that could not be written.
	VerbLabel mapcontroller.Verb = "label"
	// name is the controller's name, in logs and metrics.
	name = "snapshotschedule-members"
	// The members of a group snapshot are sought again after half of the time since this process first did, within these bounds, for a
	// day after the cut: a driver that left a PVC out makes no member of it later.
	soonest   = time.Second
	latest    = time.Hour
	searchFor = 24 * time.Hour
	slowest   = 5 * time.Minute // the longest delay after an attempt that failed: it begins at soonest, and doubles
	// enough is how long an attempt goes on to further members: while admission hangs, each takes as long as a request may.
	enough  = 5 * time.Second
	workers = 64 // a namespace whose admission hangs has half of those that are left
)

// Members finds and labels the members of group snapshots.
type Members struct {
	// Engine is the engine of schedules, once it is there.
	Engine mapcontroller.Access

	options mapcontroller.Options
	api     client.Client
	live    client.Reader
	labeled *informer.Stores
	queue   mapcontroller.Queue[reconcile.Request]
	shares  mapcontroller.Shares[reconcile.Request]

	mu sync.Mutex
	// searches are those of the group snapshots that lack members.
	searches map[types.NamespacedName]search
	// lists are of namespaces, whose group snapshots share them until soonest after listed: whoever seeks again has another list.
	lists  map[string]func() (unlabeled, error)
	listed time.Time
}

type search struct {
	of types.UID
	// first is when this process first sought the members, next when it does again.
	first, next time.Time
	// unfinished is set if the last attempt left a member to the next one, from is with which it begins.
	unfinished bool
	from       int
	// err is why the last of some failures failed. reported is set once a pass of the engine has it.
	err      error
	failures int
	reported bool
}

// New returns Members. Start starts them.
func New(o mapcontroller.Options) *Members {
	m := &Members{options: o, labeled: informer.NewStores(), searches: map[types.NamespacedName]search{}}
	m.shares.Workers, m.shares.Patience = workers, time.Second
	m.shares.Wake = func(req reconcile.Request) { m.queue.AddAfter(req, 0) }
	return m
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

// Reconcile labels the members of a group snapshot, and returns when to seek those that it still lacks. The priority is that of an
// event: otherwise what was enqueued with a list would keep a low one forever.
func (m *Members) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if !m.shares.Enter(req.Namespace, req) {
		return reconcile.Result{}, nil // it is enqueued when a worker of its namespace is free
	}
	defer m.shares.Leave(req.Namespace)
	group, _ := m.options.Stores.Get(&groupv1.VolumeGroupSnapshot{}, req.NamespacedName).(*groupv1.VolumeGroupSnapshot)
	if group == nil {
		m.set(req.NamespacedName, search{})
		return reconcile.Result{}, nil
	}
	key, ours := m.Engine.KeyOf(group)
	result, schedule := reconcile.Result{Priority: new(0)}, m.Engine.Parent(key.Parent)
	switch {
	case !ours, schedule != nil && backup.Terminating(schedule): // it may be adopted, or its schedule created again
		m.set(req.NamespacedName, search{})
		result.RequeueAfter = latest
	case lacks(group, m.Of(group)):
		result.RequeueAfter = m.seek(ctx, key, group)
	case m.set(req.NamespacedName, search{}):
		m.Engine.Enqueue(key, 0)
	}
	return result, nil
}

// seek labels members if it is time to seek them, wakes the key if that fails now or no longer, and returns when to seek the others;
// zero: when an event comes. A label wakes the key by the event of its member.
func (m *Members) seek(ctx context.Context, key mapcontroller.Request, group *groupv1.VolumeGroupSnapshot) time.Duration {
	of, now, cut := client.ObjectKeyFromObject(group), m.options.Clock.Now(), backup.Of(group)
	m.mu.Lock()
	s := m.searches[of]
	m.mu.Unlock()
	if s.of != group.UID || now.Before(s.first) {
		s = search{of: group.UID, first: now}
	}
	if wait := s.next.Sub(now); wait <= 0 || wait > latest { // else an event came early
		switch err := m.label(ctx, group, &s); {
		case ctx.Err() != nil:
			return 0
		case err != nil:
			logf.FromContext(ctx).Error(err, "Failed to label members of a group snapshot")
			s.err, s.reported, s.next = err, false, now.Add(min(soonest<<min(s.failures, 10), slowest))
			s.failures++
		case s.unfinished:
			s.next = now.Add(soonest)
		default:
			s = search{of: group.UID, first: s.first, next: now.Add(min(max(now.Sub(s.first)/2, soonest), latest))}
		}
		if m.set(of, s) {
			m.Engine.Enqueue(key, 0)
		}
	}
	if s.failures > 0 || s.unfinished || now.Sub(cut.AgeBase(now)) < searchFor {
		return s.next.Sub(now)
	}
	return 0
}

// set keeps the search of a group snapshot, or drops an empty one, and returns whether its error is another one than before.
func (m *Members) set(of types.NamespacedName, s search) (changed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.searches[of]
	if m.searches[of] = s; s.of == "" {
		delete(m.searches, of)
	}
	return fmt.Sprint(before.err) != fmt.Sprint(s.err)
}

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

// label labels the members of a group snapshot, for as long as an attempt may take. If the process crashes between the list and a
// patch, the next search finds the rest.
func (m *Members) label(ctx context.Context, group *groupv1.VolumeGroupSnapshot, s *search) error {
	named, err := m.naming(ctx, group)
	errs, began, from := []error{err}, m.options.Clock.Now(), s.from
	s.unfinished = false
	for i := range named {
		if s.from = from + i; i > 0 && m.options.Clock.Now().Sub(began) >= enough {
			s.unfinished = true
			break
		}
		if err := m.labelOne(ctx, group, named[s.from%len(named)]); apierrors.IsConflict(err) { // also if another manager was faster
			s.unfinished = true
		} else {
			errs = append(errs, client.IgnoreNotFound(err))
		}
	}
	return errors.Join(errs...)
}

// labelOne labels a member while the PVC that it names has the UID of the record. One whose PVC is not in the record is labeled,
// too, so that it is seen: it never counts.
func (m *Members) labelOne(ctx context.Context, group *groupv1.VolumeGroupSnapshot, name client.ObjectKey) error {
	ctx, cancel := context.WithTimeout(ctx, mapcontroller.RequestTimeout)
	defer cancel()
	v := &snapshotv1.VolumeSnapshot{}
	if err := m.live.Get(ctx, name, v); err != nil || backup.GroupLabel(v) != "" || !backup.IsMember(v, group) {
		return err
	}
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
	return m.api.Patch(ctx, labeled, client.MergeFromWithOptions(v, client.MergeFromWithOptimisticLock{}))
}

// unlabeled are VolumeSnapshots without the label, by the UID of the group snapshot that they name as their owner, as anybody can.
type unlabeled = map[types.UID][]client.ObjectKey

// naming returns the names of the unlabeled VolumeSnapshots that name a group snapshot as their owner.
func (m *Members) naming(ctx context.Context, group *groupv1.VolumeGroupSnapshot) ([]client.ObjectKey, error) {
	m.mu.Lock()
	if age := m.options.Clock.Now().Sub(m.listed); age < 0 || age >= soonest {
		m.listed, m.lists = m.options.Clock.Now(), map[string]func() (unlabeled, error){}
	}
	list := m.lists[group.Namespace]
	if list == nil {
		list = sync.OnceValues(func() (unlabeled, error) { return m.list(ctx, group.Namespace) })
		m.lists[group.Namespace] = list
	}
	m.mu.Unlock()
	byOwner, err := list()
	return byOwner[group.UID], err
}

func (m *Members) list(ctx context.Context, namespace string) (unlabeled, error) {
	ctx, cancel := context.WithTimeout(ctx, mapcontroller.RequestTimeout)
	defer cancel()
	without, err := labels.Parse("!" + v1alpha1.LabelGroupSnapshot)
	byOwner := unlabeled{}
	return byOwner, errors.Join(err, mapcontroller.EachMetadata(ctx, m.live, snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshot"),
		func(o client.Object) {
			for _, owner := range o.GetOwnerReferences() {
				if owner.Kind == "VolumeGroupSnapshot" {
					byOwner[owner.UID] = append(byOwner[owner.UID], client.ObjectKeyFromObject(o))
				}
			}
		}, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: without}))
}

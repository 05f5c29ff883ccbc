// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/clusterschedules"
	"mapcontroller.dev/snapshotschedule/internal/informer"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/members"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/metrics"
)

// The finalizers permission is for blockOwnerDeletion in the controllerRef.
// +kubebuilder:rbac:groups=snapshots.mapcontroller.dev,resources=snapshotschedules,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=snapshots.mapcontroller.dev,resources=snapshotschedules/status,verbs=patch
// +kubebuilder:rbac:groups=snapshots.mapcontroller.dev,resources=snapshotschedules/finalizers,verbs=update
// +kubebuilder:rbac:groups=snapshot.storage.k8s.io,resources=volumesnapshots,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=snapshot.storage.k8s.io,resources=volumesnapshotclasses,verbs=list;watch
// +kubebuilder:rbac:groups=groupsnapshot.storage.k8s.io,resources=volumegroupsnapshots,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=groupsnapshot.storage.k8s.io,resources=volumegroupsnapshotclasses,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// LeaseName is the name of the lease that the operator's leader holds.
const LeaseName = "snapshotschedule.snapshots.mapcontroller.dev"

// SetupWithManager adds the SnapshotSchedule controller to a manager whose cache
// was made with CacheOptions, and whose config went through Configure.
// At most maxInFlight snapshots of a driver are uncut at a time; zero: any number.
// unwritten receives the SnapshotSchedules whose status could not be written for some time,
// and m is told what happens; it is the caller's to export.
func SetupWithManager(
	ctx context.Context, mgr manager.Manager, o Options, maxInFlight int, unwritten *Unwritten, m *metrics.Metrics,
) error {
	claims, err := mgr.GetCache().GetInformer(ctx, &corev1.PersistentVolumeClaim{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch PVCs: %w", err)
	}
	if err := claims.AddIndexers(Indexers()); err != nil {
		return fmt.Errorf("index PVCs that are being restored or deleted: %w", err)
	}
	f := newInFlight(o, maxInFlight)
	c := mapController(o, mgr.GetEventRecorder(Name), f, m)
	c.Status.Unwritten = unwritten
	unprotected := unprotectedIn(mgr, o, f)
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { // while this process leads
		defer m.Lead(metrics.Sources{Drivers: f.counts, Unprotected: func() map[string]int { return unprotected(ctx) }})()
		<-ctx.Done()
		return nil
	})); err != nil {
		return err
	}
	return c.SetupWithManager(mgr, o)
}

// MapController returns SnapshotSchedule as a MapController. The stores of PVCs
// must have the Indexers. Its metrics are in no registry.
func MapController(o Options, recorder events.EventRecorder, maxInFlight int) mapcontroller.MapController {
	return mapController(o, recorder, newInFlight(o, maxInFlight), metrics.New())
}

func mapController(o Options, recorder events.EventRecorder, f *inFlight, m *metrics.Metrics) mapcontroller.MapController {
	r, ofGroups := newReporter(recorder, o.Clock, f, m), members.New(o)
	c, from, clusterWide := kinds(), func(*v1alpha1.SnapshotSchedule, any) origin { return origin{} }, len(o.Namespaces) == 0
	if clusterWide { // else Roles must suffice
		c.Related.Kinds = []mapcontroller.Input{
			{Object: &snapshotv1.VolumeSnapshotClass{}, Changed: classChanged},
			{Object: anyGroupClass, Changed: classChanged, Optional: true},
			{Object: fleetKind, Live: true, Changed: specChanged, Concerns: func(f, s client.Object) bool { return f.GetName() == s.GetName() }},
			{Object: namespaceKind, Live: true, Changed: clusterschedules.ExclusionChanged, Concerns: func(namespace, s client.Object) bool {
				return namespace.GetName() == s.GetNamespace() && len(originObjects(o.Stores, s)) > 0
			}},
		}
		c.Governors = func(parent client.Object) []client.Object { return originObjects(o.Stores, parent) }
		from = originsIn(o.Stores)
	}
	for i := range c.Outputs {
		c.Outputs[i].OnChange = func(parent types.NamespacedName, before, after client.Object) {
			f.event(parent, before, after)
			r.deletes.observed(before, after)
		}
	}
	c.Outputs[1].Children.Cached = ofGroups.Of
	c.Compile = func(parent client.Object, governors ...client.Object) (mapcontroller.Program, error) {
		s, of := parent.(*v1alpha1.SnapshotSchedule), origin{}
		if clusterWide {
			of = originOf(s, governors)
		}
		return compileFor(s, of, clusterWide, cmp.Or(o.MaxClockSkew, DefaultMaxClockSkew))
	}
	c.Related.Objects = func(parent client.Object, seen mapcontroller.Observation) []client.Object {
		restores := o.Stores.ByIndex(nil, anyClaim, restoresIndex, parent.GetNamespace())
		leaving := leavingFrom(o.Stores, parent.GetNamespace(), seen.Outputs)
		classes := f.allClasses()
		return slices.Concat(restores, leaving, classes, f.related(parent.GetNamespace(), seen, classes))
	}
	c.Related.Prepare, c.ParentChanged, c.Gate = ofGroups.Start, scheduleChanged, f.allow
	c.Connect = func(a mapcontroller.Access) { f.engine, ofGroups.Engine = a, a }
	r.origin = from
	c.Status.OfKey = func(parent client.Object, mapKey string, previous, decided any, outcome mapcontroller.Outcome) any {
		key := mapcontroller.Request{Parent: client.ObjectKeyFromObject(parent), MapKey: mapKey}
		outcome.Failed = append(outcome.Failed, ofGroups.Failed(key)...)
		return r.report(parent, mapKey, previous, decided, outcome)
	}
	unmatched := newNoMatches(o.Stores)
	c.ParentDeleted = func(schedule types.NamespacedName) {
		unmatched.forget(schedule)
		r.forget(schedule)
		f.forget(schedule)
		m.Forget(schedule)
	}
	c.Status.Written = r.statusWritten
	c.Status.Recording = mapcontroller.Recording{
		Field: "retention",
		IsDue: func(now time.Time, parent client.Object, known mapcontroller.Summary) bool {
			s := parent.(*v1alpha1.SnapshotSchedule)
			return recordsTime(now, s, from(s, known.Spec))
		},
		Ensure: func(parent client.Object) {
			s := parent.(*v1alpha1.SnapshotSchedule)
			s.Status.Retention = ownerOnly(s, from(s, nil))
		},
	}
	c.Status.OfParent = func(now time.Time, parent client.Object, known mapcontroller.Summary) {
		s := parent.(*v1alpha1.SnapshotSchedule)
		from := from(s, known.Spec)
		sum := setStatusOf(now, s, from, known)
		unmatched.explain(now, s, from)
		if at := differsUntil(s, from); at.After(now) {
			f.engine.WakeStatus(client.ObjectKeyFromObject(s), at.Sub(now))
		}
		m.Measure(client.ObjectKeyFromObject(s), figuresOf(now, s, known, sum))
	}
	return c
}

// originsIn returns the origin of a schedule: that of its program or, without one, as it is now. Before the
// ClusterSnapshotSchedules have been listed, it is not known whether there is one that is not in the cache.
func originsIn(stores *informer.Stores) func(s *v1alpha1.SnapshotSchedule, spec any) origin {
	var listed atomic.Bool
	stores.OnList(func(example runtime.Object, err error) {
		if _, isFleet := example.(*v1alpha1.ClusterSnapshotSchedule); isFleet && err == nil {
			listed.Store(true)
		}
	})
	return func(s *v1alpha1.SnapshotSchedule, spec any) (from origin) {
		if p, ok := spec.(*program); ok {
			from = p.from // a copy: the workers of all keys share the program
		} else {
			from = originOf(s, originObjects(stores, s))
		}
		from.known = listed.Load()
		return from
	}
}

// settles is how old a group snapshot must be before it is deleted: earlier deletes leave its
// data in the storage, as tried with external-snapshotter 8.7.
const settles = time.Minute

// kinds is the part of the controller that decisions depend on: its kinds, and who owns
// what.
func kinds() mapcontroller.MapController {
	return mapcontroller.MapController{
		Name:      Name,
		Ownership: Ownership,
		NewParent: func() client.Object { return &v1alpha1.SnapshotSchedule{} },
		Inputs: []mapcontroller.Input{{
			Object:   &corev1.PersistentVolumeClaim{},
			Resource: claimsResource,
			Changed:  claimChanged,
		}},
		Outputs: []mapcontroller.Output{{
			Object:     &snapshotv1.VolumeSnapshot{},
			Resource:   snapshotsResource,
			Conditions: conditions,
			Covers:     covers,
			Adoptable:  func(_, o client.Object) bool { return !backup.IsGroupKey(o.GetLabels()[v1alpha1.LabelMapKey]) },
		}, {
			Object:     &groupv1.VolumeGroupSnapshot{},
			Resource:   groupsResource,
			Conditions: conditions,
			Covers:     covers,
			Adoptable:  func(_, o client.Object) bool { return backup.IsGroupKey(o.GetLabels()[v1alpha1.LabelMapKey]) },
			Optional:   true,
			Sources:    backup.SourcesOf,
			Children:   &mapcontroller.Children{Is: isMember, Live: members.Live},
			Settles:    settles,
		}},
		SteadyAfter: settleFor,
		Release:     mapcontroller.Release{Lingers: hasGroups, Finalizer: v1alpha1.FinalizerRelease},
	}
}

// hasGroups returns whether a schedule takes group snapshots, or has any left.
func hasGroups(parent client.Object) bool {
	s := parent.(*v1alpha1.SnapshotSchedule)
	left := s.Status.Outputs.VolumeGroupSnapshots
	return s.Spec.Group != nil || left != nil && left.Total > 0
}

// Indexers returns the indexes of PVCs that the controller needs beyond the
// engine's, for stores that no manager fills.
func Indexers() toolscache.Indexers { return informer.Indexers(restoresIndex, leavingIndex) }

// specChanged is for objects of which only the spec matters here, beside what always counts.
func specChanged(before, after client.Object) bool {
	return before.GetGeneration() != after.GetGeneration()
}

// claimChanged ignores what does not concern a PVC's snapshots, above all the
// finalizer that every snapshot adds and removes again.
func claimChanged(before, after client.Object) bool {
	b, a := before.(*corev1.PersistentVolumeClaim), after.(*corev1.PersistentVolumeClaim)
	return skip(b) != skip(a) || driverOf(b) != driverOf(a) || storageClassOf(b) != storageClassOf(a) ||
		Excluded(b) != Excluded(a)
}

// scheduleChanged returns whether an update of a schedule concerns its PVCs, beside the
// spec: requests, the record on which deletes depend, and whether it is a child.
func scheduleChanged(before, after client.Object) bool {
	return controlledByFleet(before) != controlledByFleet(after) ||
		before.GetAnnotations()[v1alpha1.AnnotationRequestedAt] != after.GetAnnotations()[v1alpha1.AnnotationRequestedAt] ||
		before.GetAnnotations()[v1alpha1.AnnotationConfirmGeneration] != after.GetAnnotations()[v1alpha1.AnnotationConfirmGeneration] ||
		!equality.Semantic.DeepEqual(before.(*v1alpha1.SnapshotSchedule).Status.Retention, after.(*v1alpha1.SnapshotSchedule).Status.Retention)
}

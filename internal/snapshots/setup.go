// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"context"
	"fmt"
	"maps"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// Options are what the controller runs with.
type Options = mapcontroller.Options

// Stores are what a manager's cache holds: CacheOptions and Options are given
// the same.
type Stores = mapcontroller.Stores

// NewStores returns the stores of one manager.
func NewStores() *Stores { return mapcontroller.NewStores() }

// Name is the controller's name, in logs, metrics, events and managed fields.
const Name = "snapshotschedule"

// The finalizers permission is for blockOwnerDeletion in the controllerRef.
// +kubebuilder:rbac:groups=snapshots.mapcontroller.dev,resources=snapshotschedules,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=snapshots.mapcontroller.dev,resources=snapshotschedules/status,verbs=patch
// +kubebuilder:rbac:groups=snapshots.mapcontroller.dev,resources=snapshotschedules/finalizers,verbs=update
// +kubebuilder:rbac:groups=snapshot.storage.k8s.io,resources=volumesnapshots,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager adds the SnapshotSchedule controller to a manager whose cache
// was made with CacheOptions, and whose config went through Configure.
func SetupWithManager(ctx context.Context, mgr manager.Manager, o Options) error {
	claims, err := mgr.GetCache().GetInformer(ctx, &corev1.PersistentVolumeClaim{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch PVCs: %w", err)
	}
	if err := claims.AddIndexers(restoresIndexers()); err != nil {
		return fmt.Errorf("index the restores: %w", err)
	}
	if err := mgr.Add(manager.RunnableFunc(tellActive)); err != nil {
		return err
	}
	return engine(o, mgr.GetEventRecorder(Name)).SetupWithManager(mgr, o)
}

// engine is SnapshotSchedule as a MapController.
func engine(o Options, recorder events.EventRecorder) *mapcontroller.MapController[*v1alpha1.SnapshotSchedule, Note] {
	known := newPolicies()
	m := &mapper{policies: known, restoring: restores(o.Stores)}
	r := newReporter(recorder, o.Clock)
	return &mapcontroller.MapController[*v1alpha1.SnapshotSchedule, Note]{
		Name:      Name,
		Tags:      mapcontroller.Tags{MapKey: v1alpha1.LabelMapKey, Parent: v1alpha1.LabelSchedule},
		NewParent: func() *v1alpha1.SnapshotSchedule { return &v1alpha1.SnapshotSchedule{} },
		Inputs: []mapcontroller.Input{{
			Object:   &corev1.PersistentVolumeClaim{},
			Resource: claimsResource,
			Changed:  claimChanged,
		}},
		Outputs: []mapcontroller.Output{{
			Object:     &snapshotv1.VolumeSnapshot{},
			Resource:   snapshotsResource,
			Conditions: trueConditions,
			InputName:  claimName,
			Served:     served,
			Updated:    newReadiness(o.Clock).updated,
		}},
		Select: func(s *v1alpha1.SnapshotSchedule) (labels.Selector, error) {
			p, err := known.of(s)
			if err != nil {
				return nil, err
			}
			return p.selector, nil
		},
		ParentChanged: func(before, after *v1alpha1.SnapshotSchedule) bool { return requestChanged(before, after) },
		Finalizer:     v1alpha1.FinalizerRelease,
		Orphan:        func(s *v1alpha1.SnapshotSchedule) bool { return s.Spec.DeletionPolicy == v1alpha1.DeletionOrphan },
		Map:           m.Map,
		Tombstone:     m.Tombstone,
		Record:        r.record,
		Gone:          forgetMetrics,
		Merge:         merge,
		Status: func(now time.Time, s *v1alpha1.SnapshotSchedule, situation mapcontroller.Situation[Note]) {
			setStatus(now, s, situation)
			p, _ := known.of(s)
			measure(now, s, situation, p)
		},
	}
}

// Assemble puts the controller together without a manager, for simulations.
// Options.Stores must be indexed by Indexers.
func Assemble(parts mapcontroller.Parts, recorder events.EventRecorder, o Options) (*mapcontroller.Machine, error) {
	return engine(o, recorder).Assemble(parts, o)
}

// Indexers are those of PVCs and of VolumeSnapshots that the controller needs,
// where no manager adds them.
func Indexers() (claims, snapshots toolscache.Indexers) {
	e := engine(Options{}, nil)
	claims = restoresIndexers()
	maps.Copy(claims, e.InputIndexers())
	return claims, e.OutputIndexers()
}

// claimChanged leaves out what says nothing of a PVC's snapshots: above all the
// finalizer that every snapshot puts on it and takes off again.
func claimChanged(before, after client.Object) bool {
	return before.(*corev1.PersistentVolumeClaim).Status.Phase != after.(*corev1.PersistentVolumeClaim).Status.Phase ||
		requestChanged(before, after)
}

func requestChanged(before, after client.Object) bool {
	return before.GetAnnotations()[v1alpha1.AnnotationRequestedAt] != after.GetAnnotations()[v1alpha1.AnnotationRequestedAt]
}

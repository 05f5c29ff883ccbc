// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterschedules

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// Name is the controller's name, in logs, metrics, events and managed fields.
const Name = "clustersnapshotschedule"

// What these rules are a part of has the permissions of internal/snapshots as well. The
// finalizers permission is for blockOwnerDeletion in the controllerRef.
// +kubebuilder:rbac:groups=snapshots.mapcontroller.dev,resources=clustersnapshotschedules,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=snapshots.mapcontroller.dev,resources=clustersnapshotschedules/status,verbs=patch
// +kubebuilder:rbac:groups=snapshots.mapcontroller.dev,resources=clustersnapshotschedules/finalizers,verbs=update
// +kubebuilder:rbac:groups=snapshots.mapcontroller.dev,resources=snapshotschedules,verbs=create;delete
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch

// SetupWithManager adds the ClusterSnapshotSchedule controller to a manager whose cache
// was made with AddToCache. It starts when its CRD is installed and its permissions are
// granted. A template is valid if validate finds a SnapshotSchedule with its spec valid;
// owns decides which snapshots are a SnapshotSchedule's; unwritten has the SnapshotSchedules
// whose status is outdated; m is told what statuses say, and is the caller's to export.
func SetupWithManager(
	mgr manager.Manager, o mapcontroller.Options, validate func(*v1alpha1.SnapshotSchedule) error,
	owns *mapcontroller.Ownership, unwritten *mapcontroller.Unwritten, m *Metrics,
) error {
	return MapController(mgr.GetEventRecorder(Name), validate, owns, unwritten, m).SetupWithManager(mgr, o)
}

// MapController returns ClusterSnapshotSchedule as a MapController.
func MapController(
	recorder events.EventRecorder, validate func(*v1alpha1.SnapshotSchedule) error,
	owns *mapcontroller.Ownership, unwritten *mapcontroller.Unwritten, m *Metrics,
) mapcontroller.MapController {
	turned := &report.Turned{Events: recorder}
	return mapcontroller.MapController{
		Name: Name,
		Ownership: mapcontroller.Ownership{
			Tags: mapcontroller.Tags{MapKey: v1alpha1.LabelMapKey, Parent: v1alpha1.LabelClusterSchedule}, Recorded: recorded,
		},
		NewParent:     func() client.Object { return &v1alpha1.ClusterSnapshotSchedule{} },
		ClusterScoped: true,
		Optional:      true,
		Inputs: []mapcontroller.Input{{
			Object:   NewNamespace(),
			Resource: namespacesResource,
			Changed:  ExclusionChanged,
		}},
		Outputs: []mapcontroller.Output{{
			Object:     &schedule{},
			Resource:   schedulesResource,
			Update:     update,
			Adoptable:  isChild,
			Deletable:  noneLeft(owns),
			Conditions: conditions(unwritten),
		}},
		MapKey:  func(namespace metav1.Object) string { return namespace.GetName() },
		Compile: compiler(validate, unwritten),
		ParentChanged: func(before, after client.Object) bool {
			b, a := before.GetAnnotations(), after.GetAnnotations()
			return b[v1alpha1.AnnotationConfirmGeneration] != a[v1alpha1.AnnotationConfirmGeneration] ||
				b[v1alpha1.AnnotationRequestedAt] != a[v1alpha1.AnnotationRequestedAt]
		},
		Connect: func(controller mapcontroller.Access) { // no event shows that a child's status cannot be written
			unwritten.OnChange(func(child types.NamespacedName) {
				controller.Enqueue(mapcontroller.Request{Parent: types.NamespacedName{Name: child.Name}, MapKey: child.Namespace}, 0)
			})
		},
		ParentDeleted: func(f types.NamespacedName) {
			m.forget(f)
			turned.Forget(f)
		},
		Status: mapcontroller.Status{
			OfKey: reporter{events: recorder}.report,
			OfParent: func(now time.Time, parent client.Object, known mapcontroller.Summary) {
				setStatus(now, parent, known)
				m.set(parent.(*v1alpha1.ClusterSnapshotSchedule))
			},
			Written: statusWritten(turned),
		},
	}
}

// conditions returns those that status counts: a child that is being deleted, or whose
// status is outdated, is not ready.
func conditions(unwritten *mapcontroller.Unwritten) func(child client.Object) []metav1.Condition {
	return func(child client.Object) []metav1.Condition {
		if child.GetDeletionTimestamp() != nil || unwritten.Has(client.ObjectKeyFromObject(child)) {
			return nil
		}
		return child.(*schedule).Status.Conditions
	}
}

// NewNamespace returns an empty namespace, of which only the metadata is read.
func NewNamespace() *metav1.PartialObjectMetadata {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return namespace
}

// AddToCache restricts what a manager's cache holds of namespaces to what is read.
func AddToCache(o *cache.Options) {
	if o.ByObject == nil {
		o.ByObject = map[client.Object]cache.ByObject{}
	}
	o.ByObject[NewNamespace()] = cache.ByObject{Transform: stripNamespace}
	// A transform by object would need the CRD, which may be missing.
	strip := cache.TransformStripManagedFields()
	o.DefaultTransform = func(object any) (any, error) {
		if f, ok := object.(*v1alpha1.ClusterSnapshotSchedule); ok {
			// A status that was never written is taken as empty, without the schema's default:
			// the first merge patch of it would omit the counts that are zero, and the API
			// server reject it.
			f.Status.ObservedGeneration = max(f.Status.ObservedGeneration, 0)
		}
		return strip(object)
	}
}

func stripNamespace(o any) (any, error) {
	namespace, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return o, nil
	}
	kept := metav1.ObjectMeta{
		Name: namespace.Name, UID: namespace.UID, ResourceVersion: namespace.ResourceVersion, Labels: namespace.Labels,
		CreationTimestamp: namespace.CreationTimestamp, DeletionTimestamp: namespace.DeletionTimestamp,
		// The recursion guard reads the owners.
		OwnerReferences: namespace.OwnerReferences,
	}
	if value, ok := namespace.Annotations[v1alpha1.AnnotationExclude]; ok {
		kept.Annotations = map[string]string{v1alpha1.AnnotationExclude: value}
	}
	namespace.ObjectMeta = kept
	return namespace, nil
}

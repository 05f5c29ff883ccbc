// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/clusterschedules"
	"mapcontroller.dev/snapshotschedule/internal/informer"
)

// childDelay is how long a child keeps at least what an edit would delete, so that an edit
// of a tenant is put back before it deletes anything.
const childDelay v1alpha1.Duration = "1m"

// origin says who has a say about a schedule: whoever may edit it or, if it is the child
// of a ClusterSnapshotSchedule, only who may edit that. A tenant who may edit a child may
// also take off its owner and its labels, which does not make it another schedule.
type origin struct {
	child bool
	// fleet is the ClusterSnapshotSchedule of the schedule's name; nil if there is none, or
	// it is not known. selected is set if it selects the schedule's namespace.
	fleet    *v1alpha1.ClusterSnapshotSchedule
	selected bool
}

// originOf returns the origin of a schedule. The related objects include those that
// originObjects returns, where they are known.
func originOf(s *v1alpha1.SnapshotSchedule, related []client.Object) origin {
	o := origin{child: controlledByFleet(s)}
	var namespace client.Object
	for _, r := range related {
		switch r := r.(type) {
		case *v1alpha1.ClusterSnapshotSchedule:
			o.fleet = r
		case *metav1.PartialObjectMetadata:
			namespace = r
		}
	}
	o.selected = o.fleet != nil && namespace != nil && clusterschedules.Selects(o.fleet, namespace)
	o.child = o.child || o.selected
	return o
}

// IsChild returns whether a schedule counts as the child of the ClusterSnapshotSchedule of its name, whatever its metadata
// say. The related objects are those of OriginNames, as far as they are known.
func IsChild(s *v1alpha1.SnapshotSchedule, related ...client.Object) bool {
	return originOf(s, related).child
}

// SelectsNamespace returns whether a ClusterSnapshotSchedule selects a namespace.
func SelectsNamespace(f *v1alpha1.ClusterSnapshotSchedule, namespace client.Object) bool {
	return clusterschedules.Selects(f, namespace)
}

// origin returns the schedule's origin.
func (p *program) origin(related []client.Object) origin {
	if !p.fleets {
		return origin{}
	}
	return originOf(p.schedule, related)
}

// OriginNames are the objects that have a say about a schedule: the
// ClusterSnapshotSchedule of its name and, of metadata only, its namespace.
func OriginNames(s *v1alpha1.SnapshotSchedule) (parent *v1alpha1.ClusterSnapshotSchedule, namespace *metav1.PartialObjectMetadata) {
	parent, namespace = &v1alpha1.ClusterSnapshotSchedule{}, clusterschedules.NewNamespace()
	parent.Name, namespace.Name = s.Name, s.Namespace
	return parent, namespace
}

// Examples of the kinds, for reads of the stores in every pass.
var fleetKind, namespaceKind = &v1alpha1.ClusterSnapshotSchedule{}, clusterschedules.NewNamespace()

// originObjects returns what the cache has of the OriginNames: nothing where there is no
// ClusterSnapshotSchedule of the name.
func originObjects(stores *informer.Stores, s client.Object) []client.Object {
	parent := stores.Get(fleetKind, client.ObjectKey{Name: s.GetName()})
	if parent == nil {
		return nil
	}
	found := []client.Object{parent}
	if namespace := stores.Get(namespaceKind, client.ObjectKey{Name: s.GetNamespace()}); namespace != nil {
		found = append(found, namespace)
	}
	return found
}

func controlledByFleet(s client.Object) bool {
	ref := metav1.GetControllerOfNoCopy(s)
	if ref == nil || ref.Kind != "ClusterSnapshotSchedule" {
		return false
	}
	group, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && group.Group == v1alpha1.GroupName
}

// confirms returns whether the schedule's spec is confirmed. That of a child is if its
// ClusterSnapshotSchedule is, and has that spec in its template, but for suspend.
func (o origin) confirms(s *v1alpha1.SnapshotSchedule) bool {
	if !o.child {
		return confirmsItself(s)
	}
	if o.fleet == nil || !confirmsItself(o.fleet) {
		return false
	}
	return !o.edited(s)
}

// edited returns whether the spec of a child is not that of its ClusterSnapshotSchedule's
// template, but for suspend. Nothing that holds data is deleted under it: the operator puts
// it back, but who edits a child can make it so large that this is refused, and take off the
// owner, so that it is not tried.
func (o origin) edited(s *v1alpha1.SnapshotSchedule) bool {
	if !o.child || o.fleet == nil {
		return false
	}
	want := o.fleet.Spec.Template.Spec
	want.Suspend = s.Spec.Suspend
	return !equality.Semantic.DeepEqual(want, s.Spec)
}

// withheld returns its template's spec while a child takes no snapshots because its own is another
// one: those that a tenant's edit of a moment takes would later displace older ones. Nor does it
// take any while a new template has not reached it. A slot that is due is taken when the specs are
// equal, unless it is too old by then for startingDeadline or the TTL. It returns nil otherwise.
//
// Backups go on where nobody is going to make the specs equal: the template is invalid, or the
// ClusterSnapshotSchedule is being deleted, or the schedule is older than it and not its own.
func (o origin) withheld(s *v1alpha1.SnapshotSchedule) *compiled {
	if !o.edited(s) || o.fleet.DeletionTimestamp != nil || !controlledByFleet(s) && s.CreationTimestamp.Before(&o.fleet.CreationTimestamp) {
		return nil
	}
	template, _ := compile(&o.fleet.Spec.Template.Spec)
	if _, unselective := o.fleet.Spec.NamespaceSelector.AsSelector(); unselective != nil {
		return nil
	}
	return template // nil if it is invalid
}

// confirmsItself returns whether an object's annotation names its own generation.
func confirmsItself(o client.Object) bool {
	generation, confirms := o.GetAnnotations()[v1alpha1.AnnotationConfirmGeneration]
	return confirms && generation == strconv.FormatInt(o.GetGeneration(), 10)
}

// requester returns the object whose requests count: for a child its
// ClusterSnapshotSchedule, while that selects the namespace.
func (o origin) requester(s *v1alpha1.SnapshotSchedule) client.Object {
	switch {
	case !o.child:
		return s
	case o.selected:
		return o.fleet
	}
	return &v1alpha1.ClusterSnapshotSchedule{}
}

// delay returns the delay that a schedule has after an edit, empty if it has none.
func (o origin) delay(s *v1alpha1.SnapshotSchedule) v1alpha1.Duration {
	return o.atLeast(s.Spec.Retention.EditDelay)
}

func (o origin) atLeast(d v1alpha1.Duration) v1alpha1.Duration {
	if o.child && delay(d) < delay(childDelay) {
		return childDelay
	}
	return d
}

// confirmCommand is the command that confirms a schedule's generation.
func (o origin) confirmCommand(s *v1alpha1.SnapshotSchedule) string {
	if o.child {
		return fmt.Sprintf("kubectl annotate clustersnapshotschedule %s --overwrite %s=<its metadata.generation>, which confirms its template "+
			"in all namespaces", s.Name, v1alpha1.AnnotationConfirmGeneration)
	}
	return fmt.Sprintf("kubectl annotate snapshotschedule %s -n %s --overwrite %s=%d",
		s.Name, s.Namespace, v1alpha1.AnnotationConfirmGeneration, s.Generation)
}

// withheldMessage says why no snapshots of a child are taken.
func withheldMessage(s *v1alpha1.SnapshotSchedule) string {
	return ": the spec is not that of the template of ClusterSnapshotSchedule " + s.Name
}

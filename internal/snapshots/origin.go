// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/clusterschedules"
	"mapcontroller.dev/snapshotschedule/internal/informer"
)

// childDelay is how long a child keeps at least what an edit would delete, so that an edit
// of a tenant is put back before it deletes anything.
const childDelay v1alpha1.Duration = "1m"

// origin says whose requests, confirmations and delays apply to a schedule: those of whoever may edit it
// or, for the child of a ClusterSnapshotSchedule, only of those who may edit that. A tenant who may edit a child may
// also take off its owner and its labels, which does not make it another schedule.
//
// What is deleted is decided more strictly than what is taken: a schedule that only has the name
// of a ClusterSnapshotSchedule, in a namespace that it selects, keeps its snapshots like a child,
// and takes them by its own spec.
type origin struct {
	// child is set if deletes are those of a child.
	child bool
	// fleet is the ClusterSnapshotSchedule of the schedule's name; nil if there is none, or
	// it is not known. selected is set if it selects the schedule's namespace.
	fleet    *v1alpha1.ClusterSnapshotSchedule
	selected bool
	// known is set if fleet is nil only because there is none.
	known bool
	// owned is set if the fleet owns the schedule, or owned it. recorded is set if the status says so.
	owned, recorded bool
	// want is the spec that an owned schedule is decided by, in place of its own; nil where that is the same.
	want *v1alpha1.SnapshotScheduleSpec
	// edited is set while the spec of a child is not that of its fleet's template. Nothing that holds data is
	// deleted then: the operator puts it back, but who edits a child can make it so large that this is refused,
	// and take off the owner, so that it is not tried.
	edited bool
}

// originOf returns the origin of a schedule as it was read. The related objects include those that
// originObjects returns, where they are known.
func originOf(s *v1alpha1.SnapshotSchedule, related []client.Object) origin {
	o := origin{child: controlledByFleet(s) || recordedOwner(s) != ""}
	var namespace client.Object
	if o.fleet, namespace = governorsOf(related); o.fleet == nil {
		return o
	}
	o.selected = namespace != nil && clusterschedules.Selects(o.fleet, namespace)
	o.recorded = o.fleet.UID != "" && recordedOwner(s) == string(o.fleet.UID) // one that is only previewed has no UID
	o.owned = clusterschedules.Owns(o.fleet, s)
	o.child = o.child || o.selected || o.owned
	if !o.child {
		return o
	}
	want := o.fleet.Spec.Template.Spec
	want.Suspend = want.Suspend || !o.selected
	if o.owned && namespace != nil && !equality.Semantic.DeepEqual(want, s.Spec) && o.governs() {
		o.want, o.edited = &want, true
		return o
	}
	want.Suspend = s.Spec.Suspend
	o.edited = !equality.Semantic.DeepEqual(want, s.Spec)
	return o
}

// governorsOf finds the ClusterSnapshotSchedule and the namespace among the related objects.
func governorsOf(related []client.Object) (fleet *v1alpha1.ClusterSnapshotSchedule, namespace client.Object) {
	for _, r := range related {
		switch r := r.(type) {
		case *v1alpha1.ClusterSnapshotSchedule:
			fleet = r
		case *metav1.PartialObjectMetadata:
			namespace = r
		}
	}
	return fleet, namespace
}

// governs returns whether the fleet's template counts. Otherwise nobody writes it to a child.
func (o origin) governs() bool {
	_, unselective := o.fleet.Spec.NamespaceSelector.AsSelector()
	_, invalid := compile(&o.fleet.Spec.Template.Spec)
	return unselective == nil && invalid == nil && o.fleet.DeletionTimestamp == nil
}

// decided returns a schedule with the spec that it is decided by.
func (o origin) decided(s *v1alpha1.SnapshotSchedule) *v1alpha1.SnapshotSchedule {
	if o.want == nil {
		return s
	}
	decided := *s // shared with the cache, and never changed
	decided.Spec = *o.want
	return &decided
}

// Decided returns a schedule with the spec that it is decided by: that of the template of the ClusterSnapshotSchedule
// that owns it, or else its own. The related objects are those of OriginNames, as far as they are known.
func Decided(s *v1alpha1.SnapshotSchedule, related ...client.Object) *v1alpha1.SnapshotSchedule {
	return originOf(s, related).decided(s)
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

// OwnedBy returns whether a ClusterSnapshotSchedule owns a schedule, or owned it, whatever its metadata say.
func OwnedBy(f *v1alpha1.ClusterSnapshotSchedule, s *v1alpha1.SnapshotSchedule) bool {
	return clusterschedules.Owns(f, s)
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

// recordedOwner returns the UID of the ClusterSnapshotSchedule that owns a schedule, or owned it, as its status
// says: tenants cannot write it.
func recordedOwner(s *v1alpha1.SnapshotSchedule) string {
	return string(clusterschedules.Owner(s))
}

func controlledByFleet(s client.Object) bool {
	ref := metav1.GetControllerOfNoCopy(s)
	return ref != nil && clusterschedules.IsFleet(ref)
}

// confirms returns whether the schedule's spec is confirmed. That of a child is if its
// ClusterSnapshotSchedule is, and has that spec in its template, but for suspend.
func (o origin) confirms(s *v1alpha1.SnapshotSchedule) bool {
	if !o.child {
		return confirmsItself(s)
	}
	return o.fleet != nil && confirmsItself(o.fleet) && !o.edited
}

// confirmsItself returns whether an object's annotation names its own generation.
func confirmsItself(o client.Object) bool {
	generation, confirms := o.GetAnnotations()[v1alpha1.AnnotationConfirmGeneration]
	return confirms && generation == strconv.FormatInt(o.GetGeneration(), 10)
}

// requester returns the object whose requests count: for what a ClusterSnapshotSchedule owns that one, while it
// selects the namespace.
func (o origin) requester(s *v1alpha1.SnapshotSchedule) client.Object {
	switch {
	case !o.owned:
		return s
	case o.selected:
		return o.fleet
	}
	return &v1alpha1.ClusterSnapshotSchedule{}
}

// unrecorded returns whether a schedule has an owner that its status does not name yet.
func (o origin) unrecorded() bool { return o.owned && !o.recorded }

// recordPatience is how long a slot waits until the owner is recorded.
const recordPatience = 2 * time.Minute

// awaitsRecord returns until when a slot waits for the record of the owner; zero if it does not. Who takes off the owner
// after the first snapshot would make it another schedule. But a record may never come, and no backup is missed for it:
// under an older CRD the API server drops it, and an object that is too large can't be written.
func (o origin) awaitsRecord(slot, now time.Time) time.Time {
	if until := slot.Add(recordPatience); o.unrecorded() && now.Before(until) {
		return until
	}
	return time.Time{}
}

// unrecordedText says that the owner of a schedule that is not new is not recorded, and what is missing.
func (o origin) unrecordedText(now time.Time, s *v1alpha1.SnapshotSchedule) string {
	if !o.unrecorded() || now.Before(s.CreationTimestamp.Add(recordPatience)) {
		return ""
	}
	return "; the API server does not keep status.retention.clusterSchedule: are the CustomResourceDefinitions those of this version?"
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

// owner returns what the record says of the owner: it is taken off only when that is known to be gone.
func (o origin) owner(before string) string {
	switch {
	case o.owned:
		return string(o.fleet.UID)
	case o.known, o.fleet != nil:
		return ""
	}
	return before
}

// confirmHint says what deletes the snapshots that wait. For a child it is a command that first counts what it deletes in all namespaces.
func (o origin) confirmHint(s *v1alpha1.SnapshotSchedule) string {
	if o.child {
		return "to delete them, and what waits in all other namespaces, now: " +
			fmt.Sprintf("kubectl snapsched confirm --cluster-schedule='%s'", s.Name)
	}
	return fmt.Sprintf("to delete them now: kubectl annotate snapshotschedule -n '%s' '%s' --overwrite %s=%d",
		s.Namespace, s.Name, v1alpha1.AnnotationConfirmGeneration, s.Generation)
}

// differsMessage says that the specs differ, and what that means.
func differsMessage(s *v1alpha1.SnapshotSchedule) string {
	return fmt.Sprintf("the spec differs from the template of ClusterSnapshotSchedule %s: snapshots are taken as the template says, "+
		"and none is deleted until the two are equal; why the spec is not reverted: "+
		"kubectl describe clustersnapshotschedule '%s'", s.Name, s.Name)
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterschedules

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

type fleetObject = v1alpha1.ClusterSnapshotSchedule

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func change[T any](o T, changes []func(T)) T {
	for _, c := range changes {
		c(o)
	}
	return o
}

func gold(changes ...func(*fleetObject)) *fleetObject {
	f := &fleetObject{ObjectMeta: metav1.ObjectMeta{Name: "gold", UID: "gold-uid", Generation: 3}}
	f.Spec.NamespaceSelector.MatchLabels = map[string]v1alpha1.LabelValue{"backup": "gold"}
	f.Spec.Template.Metadata.Labels = map[string]v1alpha1.LabelValue{"tier": "gold"}
	f.Spec.Template.Metadata.Annotations = map[string]string{"note": "nightly"}
	f.Spec.Template.Spec = v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", SnapshotTTL: "10d", DeletionPolicy: v1alpha1.DeletionOrphan}
	return change(f, changes)
}

func confirming(f *fleetObject) {
	f.Annotations = map[string]string{v1alpha1.AnnotationConfirmGeneration: "3"}
}

func namespace(changes ...func(*metav1.PartialObjectMetadata)) *metav1.PartialObjectMetadata {
	n := NewNamespace()
	n.Name, n.UID, n.Labels = "shop", "shop-uid", map[string]string{"backup": "gold"}
	return change(n, changes)
}

func terminating(n *metav1.PartialObjectMetadata) { n.DeletionTimestamp = &metav1.Time{Time: now} }

// child returns the child of gold in namespace shop: as it should be, observed, ready, and without snapshots.
func child(changes ...func(*schedule)) *schedule {
	f := gold()
	s := &schedule{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "gold", UID: "child-uid", Generation: 5,
		Labels:          map[string]string{v1alpha1.LabelMapKey: "shop", v1alpha1.LabelClusterSchedule: "gold", "tier": "gold", "team": "x"},
		Annotations:     map[string]string{"note": "nightly", "other": "x"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(f, v1alpha1.GroupVersion.WithKind("ClusterSnapshotSchedule"))},
	}, Spec: f.Spec.Template.Spec}
	s.Status.ObservedGeneration = 5
	s.Status.Inputs = &v1alpha1.Inputs{}
	ready("True", v1alpha1.ReasonScheduled)(s)
	return change(s, changes)
}

// recordedFor has the record of an owner.
func recordedFor(uid string) func(*schedule) {
	return func(s *schedule) { s.Status.Retention = &v1alpha1.RetentionRecord{ClusterSchedule: uid} }
}

// stripped has neither owners nor the labels of its parent.
func stripped(s *schedule) {
	s.OwnerReferences = nil
	delete(s.Labels, v1alpha1.LabelMapKey)
	delete(s.Labels, v1alpha1.LabelClusterSchedule)
}

func suspended(s *schedule) { s.Spec.Suspend = true }

func ready(status metav1.ConditionStatus, reason string) func(*schedule) {
	return func(s *schedule) {
		meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: "Ready", Status: status, Reason: reason, Message: "why"})
	}
}

func deleting(finalizers ...string) func(*schedule) {
	return func(s *schedule) { s.DeletionTimestamp, s.Finalizers = ptr.To(metav1.NewTime(now)), finalizers }
}

func snapshots(total int32) func(*schedule) {
	return func(s *schedule) { s.Status.Outputs.VolumeSnapshots.Total = total }
}

func groups(total int32) func(*schedule) {
	return func(s *schedule) { s.Status.Outputs.VolumeGroupSnapshots = &v1alpha1.OutputCount{Total: total} }
}

func valid(*schedule) error { return nil }

func compiled(t *testing.T, f *fleetObject) mapcontroller.Program {
	t.Helper()
	p, err := compiler(valid, nil)(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSelects(t *testing.T) {
	for name, test := range map[string]struct {
		namespace *metav1.PartialObjectMetadata
		everyone  bool
		want      bool
	}{
		"its labels match":    {namespace: namespace(), want: true},
		"they do not":         {namespace: namespace(func(n *metav1.PartialObjectMetadata) { n.Labels = nil })},
		"{} selects all":      {namespace: namespace(func(n *metav1.PartialObjectMetadata) { n.Labels = nil }), everyone: true, want: true},
		"it is being deleted": {namespace: namespace(terminating)},
		"it is excluded": {namespace: namespace(func(n *metav1.PartialObjectMetadata) {
			n.Annotations = map[string]string{v1alpha1.AnnotationExclude: ""}
		})},
		"it is excluded from all": {namespace: namespace(func(n *metav1.PartialObjectMetadata) {
			n.Annotations = map[string]string{v1alpha1.AnnotationExclude: "x"}
		}), everyone: true},
		"it is excluded by a label":  {namespace: namespace(func(n *metav1.PartialObjectMetadata) { n.Labels[v1alpha1.AnnotationExclude] = "x" }), want: true},
		"it has another's own label": {namespace: namespace(func(n *metav1.PartialObjectMetadata) { n.Labels["backup"] = "silver" })},
	} {
		t.Run(name, func(t *testing.T) {
			p := compiled(t, gold(func(f *fleetObject) {
				if test.everyone {
					f.Spec.NamespaceSelector = v1alpha1.LabelSelector{}
				}
			}))
			if got := p.Selects(test.namespace); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestCompileNamesTheInvalidField(t *testing.T) {
	f := gold(func(f *fleetObject) {
		f.Spec.NamespaceSelector.MatchExpressions = []v1alpha1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}
	})
	_, err := compiler(func(s *schedule) error {
		if s.Spec.SnapshotInterval != "6h" {
			t.Errorf("validates %v", s.Spec)
		}
		return errors.New("spec.schedule: never fires; spec.timeZone: unknown")
	}, nil)(f)
	for _, want := range []string{"spec.namespaceSelector: ", "spec.template.spec.schedule: never fires", "spec.template.spec.timeZone: unknown"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %q", err)
	}
}

// decide returns what a decision does with the child: nothing, ensure or delete, and the child as it would be.
func decide(d mapcontroller.Decision) (what string, want *schedule) {
	switch {
	case len(d.Ensure) == 1 && len(d.Delete) == 0:
		return "ensure", d.Ensure[0].Object.(*schedule)
	case len(d.Ensure) == 0 && len(d.Delete) == 1:
		return "delete " + d.Delete[0].Reason, d.Delete[0].Object.(*schedule)
	case len(d.Ensure) == 0 && len(d.Delete) == 0:
		return "", nil
	}
	return "both", nil
}

func TestMap(t *testing.T) {
	for name, test := range map[string]struct {
		fleet   *fleetObject
		outputs []client.Object
		// confirmed is the wanted annotation.
		confirmed string
		want      keyStatus
	}{
		"no child":  {},
		"its child": {outputs: []client.Object{child()}, want: keyStatus{Exists: true, Updated: true, Ready: true}},
		"an orphan, which it adopts": {
			outputs: []client.Object{child(func(s *schedule) { s.OwnerReferences = nil })}, want: keyStatus{Exists: true, Uncounted: true}},
		"one whose owner and labels were taken off": {
			outputs: []client.Object{child(recordedFor("gold-uid"), stripped)}, want: keyStatus{Exists: true, Updated: true, Ready: true}},
		"so, recorded for one of before": {
			outputs: []client.Object{child(recordedFor("old-uid"), stripped)}},
		"a child edited": {outputs: []client.Object{child(suspended)}, want: keyStatus{Exists: true, Ready: true}},
		"a child with a label of the template removed": {
			outputs: []client.Object{child(func(s *schedule) { delete(s.Labels, "tier") })}, want: keyStatus{Exists: true, Ready: true}},
		"a child whose status is old": {
			outputs: []client.Object{child(func(s *schedule) { s.Status.ObservedGeneration = 4 })}, want: keyStatus{Exists: true, Ready: true}},
		"a copy under another name": {outputs: []client.Object{child(func(s *schedule) { s.Name = "copy" })}},
		"one of another namespace":  {outputs: []client.Object{child(func(s *schedule) { s.Namespace = "other" })}},
		"a child that is not ready": {
			outputs: []client.Object{child(ready("False", v1alpha1.ReasonSnapshotsFailing))},
			want: keyStatus{Exists: true, Updated: true, Problems: []problem{
				{Namespace: "shop", Reason: v1alpha1.ReasonSnapshotsFailing, Message: "why"}}}},
		"a child about which nothing is known yet": {
			outputs: []client.Object{child(ready("Unknown", "Reconciling"))}, want: keyStatus{Exists: true, Updated: true}},
		"a child that is being deleted": {
			outputs: []client.Object{child(deleting())}, want: keyStatus{Exists: true, Updated: true, Problems: []problem{{
				Namespace: "shop", Reason: v1alpha1.ReasonChildDeleting,
				Message: "the SnapshotSchedule is being deleted: until it is gone and created again, no snapshot is taken and none expires"}}}},
		"a child that a tenant's finalizer keeps": {
			outputs: []client.Object{child(deleting("example.com/b", "example.com/a"))}, want: keyStatus{Exists: true, Updated: true, Problems: []problem{{
				Namespace: "shop", Reason: v1alpha1.ReasonChildDeleting,
				Message: "the SnapshotSchedule is being deleted: until it is gone and created again, no snapshot is taken and none expires; " +
					`it waits for its finalizers ["example.com/b" "example.com/a"]`}}}},
		"a child without the snapshot API": {
			outputs: []client.Object{child(ready("False", v1alpha1.ReasonSnapshotAPIMissing))},
			want:    keyStatus{Exists: true, Updated: true, APIMissing: true}},
		"a new child": {
			outputs: []client.Object{child(func(s *schedule) { s.Status = v1alpha1.SnapshotScheduleStatus{} })}, want: keyStatus{Exists: true, Uncounted: true}},
		"a child whose counts are refused": {
			outputs: []client.Object{child(func(s *schedule) {
				s.Status.Inputs, s.Status.Outputs = nil, v1alpha1.Outputs{}
			})}, want: keyStatus{Exists: true, Updated: true, Ready: true, Uncounted: true}},
		"confirmed": {
			fleet: gold(confirming), outputs: []client.Object{child()}, confirmed: "5", want: keyStatus{Exists: true, Ready: true}},
		"confirmed, and passed on": {
			fleet: gold(confirming), confirmed: "5", want: keyStatus{Exists: true, Updated: true, Ready: true},
			outputs: []client.Object{child(func(s *schedule) { s.Annotations[v1alpha1.AnnotationConfirmGeneration] = "5" })}},
		"another generation confirmed": {
			fleet: gold(confirming, func(f *fleetObject) { f.Generation = 4 }), outputs: []client.Object{child()},
			want: keyStatus{Exists: true, Updated: true, Ready: true}},
		"confirmed, but the child is edited": {
			fleet: gold(confirming), outputs: []client.Object{child(suspended)}, want: keyStatus{Exists: true, Ready: true}},
		"confirmed before there is a child": {fleet: gold(confirming)},
	} {
		t.Run(name, func(t *testing.T) {
			f := test.fleet
			if f == nil {
				f = gold()
			}
			d := compiled(t, f).Map(mapcontroller.Observation{
				Now: now, MapKey: "shop", Selected: []client.Object{namespace()}, Outputs: test.outputs})
			what, want := decide(d)
			if what != "ensure" || want.Name != "gold" || want.Namespace != "shop" || want.Spec.Suspend {
				t.Fatalf("got %s %v", what, want)
			}
			if want.Annotations[v1alpha1.AnnotationConfirmGeneration] != test.confirmed || want.Annotations["note"] != "nightly" || want.Labels["tier"] != "gold" {
				t.Errorf("annotations: %v, labels: %v", want.Annotations, want.Labels)
			}
			test.want.Namespace = "shop"
			checkStatus(t, d.Status, test.want)
			if f.Spec.Template.Metadata.Annotations[v1alpha1.AnnotationConfirmGeneration] != "" {
				t.Error("the cached object was changed")
			}
		})
	}
}

// Contract: FLEET-9.
func TestRequestsArePassedOnInSelectedNamespaces(t *testing.T) {
	const at = "2026-01-01T00:00:00Z"
	requested := gold(func(f *fleetObject) { f.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: at} })
	theirs := child(func(s *schedule) { s.Annotations[v1alpha1.AnnotationRequestedAt] = "2020-01-01T00:00:00Z" })
	seen := mapcontroller.Observation{Now: now, MapKey: "shop", Selected: []client.Object{namespace()}, Outputs: []client.Object{theirs}}
	if _, want := decide(compiled(t, requested).Map(seen)); want.Annotations[v1alpha1.AnnotationRequestedAt] != at {
		t.Errorf("selected: %v", want.Annotations)
	}
	if _, want := decide(compiled(t, gold()).Map(seen)); want.Annotations[v1alpha1.AnnotationRequestedAt] != "" {
		t.Errorf("without a request: %v", want.Annotations)
	}
	seen.Selected, seen.Unselected = nil, seen.Selected
	if _, want := decide(compiled(t, requested).Tombstone(seen)); want.Annotations[v1alpha1.AnnotationRequestedAt] != "" {
		t.Errorf("not selected: %v", want.Annotations)
	}
	concerns := MapController(nil, valid, nil, nil, NewMetrics()).ParentChanged
	if !concerns(gold(), requested) || concerns(requested, requested) || !concerns(gold(), gold(confirming)) {
		t.Error("requests and confirmations concern the children")
	}
}

// Contract: FLEET-11.
func TestAChildThatIsBeingDeletedIsNotCountedAsReady(t *testing.T) {
	if counted := conditions(nil); counted(child(deleting())) != nil || len(counted(child())) != 1 {
		t.Error("the conditions that status counts")
	}
}

// outdated returns what has the child of gold in namespace shop.
func outdated() *mapcontroller.Unwritten {
	u := &mapcontroller.Unwritten{}
	u.Set(client.ObjectKeyFromObject(child()), true)
	return u
}

// Contract: FLEET-12.
func TestAChildWhoseStatusIsOutdatedIsNotReadyAndNotCounted(t *testing.T) {
	for name, c := range map[string]*schedule{
		"ready": child(), "failing": child(ready("False", "SnapshotsFailing")), "no API": child(ready("False", v1alpha1.ReasonSnapshotAPIMissing)),
		"no status": child(func(s *schedule) { s.Status = v1alpha1.SnapshotScheduleStatus{ObservedGeneration: 5} }),
	} {
		t.Run(name, func(t *testing.T) {
			p, err := compiler(valid, outdated())(gold())
			if err != nil {
				t.Fatal(err)
			}
			d := p.Map(mapcontroller.Observation{MapKey: "shop", Selected: []client.Object{namespace()}, Outputs: []client.Object{c}})
			checkStatus(t, d.Status, keyStatus{Namespace: "shop", Exists: true, Updated: true, Uncounted: true, Problems: []problem{{
				Namespace: "shop", Reason: v1alpha1.ReasonStatusOutdated, Message: outdatedMessage}}})
			if conditions(outdated())(c) != nil {
				t.Error("its conditions are counted")
			}
		})
	}
}

// Contract: FLEET-12.
func TestAChildIsReconciledWhenItsStatusBeginsOrEndsToBeOutdated(t *testing.T) {
	u, other := outdated(), child(func(s *schedule) { s.Namespace = "other" })
	var woken []mapcontroller.Request
	MapController(nil, valid, nil, u, NewMetrics()).Connect(mapcontroller.Access{Enqueue: func(req mapcontroller.Request, after time.Duration) {
		if after == 0 {
			woken = append(woken, req)
		}
	}})
	for _, is := range []bool{true, true, false, false} {
		u.Set(client.ObjectKeyFromObject(other), is)
	}
	want := mapcontroller.Request{Parent: types.NamespacedName{Name: "gold"}, MapKey: "other"}
	if !slices.Equal(woken, []mapcontroller.Request{want, want}) {
		t.Errorf("woken %v", woken)
	}
}

func TestTombstone(t *testing.T) {
	unselected := func(changes ...func(*metav1.PartialObjectMetadata)) []client.Object {
		return []client.Object{namespace(append(changes, func(n *metav1.PartialObjectMetadata) { n.Labels = nil })...)}
	}
	const deletes = "delete " + reasonNoSnapshotsLeft
	for name, test := range map[string]struct {
		namespaces []client.Object
		child      *schedule
		want       string
	}{
		"no child":                         {namespaces: unselected()},
		"suspends":                         {namespaces: unselected(), child: child(), want: "ensure"},
		"waits for snapshots":              {namespaces: unselected(), child: child(suspended, snapshots(1)), want: "ensure"},
		"waits for group snapshots":        {namespaces: unselected(), child: child(suspended, groups(1)), want: "ensure"},
		"deletes":                          {namespaces: unselected(), child: child(suspended), want: deletes},
		"deletes, without group snapshots": {namespaces: unselected(), child: child(suspended, groups(0)), want: deletes},
		"not before it is suspended":       {namespaces: unselected(), child: child(), want: "ensure"},
		"not before it has observed that":  {namespaces: unselected(), child: child(suspended, func(s *schedule) { s.Status.ObservedGeneration = 4 }), want: "ensure"},
		"not while nothing is known":       {namespaces: unselected(), child: child(suspended, func(s *schedule) { s.Status.Inputs = nil }), want: "ensure"},
		"not while its spec is another":    {namespaces: unselected(), child: child(suspended, func(s *schedule) { s.Spec.Retention.MaxCount = ptr.To[int32](1) }), want: "ensure"},
		"of an owned one without labels":   {namespaces: unselected(), child: child(suspended, recordedFor("gold-uid"), stripped), want: deletes},
		"not a copy":                       {namespaces: unselected(), child: child(suspended, func(s *schedule) { s.Name = "copy" })},
		"the namespace is being deleted":   {namespaces: unselected(terminating), child: child()},
		"the namespace is gone":            {child: child()},
	} {
		t.Run(name, func(t *testing.T) {
			seen := mapcontroller.Observation{Now: now, MapKey: "shop", Unselected: test.namespaces}
			if test.child != nil {
				seen.Outputs = []client.Object{test.child}
			}
			d := compiled(t, gold()).Tombstone(seen)
			what, object := decide(d)
			if what != test.want || (object != nil && !object.Spec.Suspend) {
				t.Errorf("got %s %v, want %s", what, object, test.want)
			}
			if k, ok := d.Status.(*keyStatus); ok != (what != "") || (ok && !k.Detached) {
				t.Errorf("status %+v", d.Status)
			}
		})
	}
}

// Contract: FLEET-13.
func TestOwns(t *testing.T) {
	refersAs := func(change func(*metav1.OwnerReference)) func(*schedule) {
		return func(s *schedule) { change(&s.OwnerReferences[0]) }
	}
	for name, test := range map[string]struct {
		child *schedule
		want  bool
	}{
		"a child":                               {child(), true},
		"a child of another version of the API": {child(refersAs(func(r *metav1.OwnerReference) { r.APIVersion = v1alpha1.GroupName + "/v9" })), true},
		"its labels only":                       {child(func(s *schedule) { s.OwnerReferences = nil }), false},
		"its name only":                         {child(stripped), false},
		"recorded":                              {child(recordedFor("gold-uid"), stripped), true},
		"recorded, something else controls it":  {child(recordedFor("gold-uid"), refersAs(func(r *metav1.OwnerReference) { r.UID, r.Kind = "x", "Tenant" })), true},
		"recorded for one of before":            {child(recordedFor("old-uid"), stripped), false},
		"recorded for none":                     {child(recordedFor(""), stripped), false},
		"referred to, not controlled":           {child(refersAs(func(r *metav1.OwnerReference) { r.Controller = nil })), false},
		"controlled by another kind":            {child(refersAs(func(r *metav1.OwnerReference) { r.APIVersion = "example.com/v1" })), false},
		"of another name":                       {child(func(s *schedule) { s.Name = "copy" }), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Owns(gold(), test.child); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
	if Owns(gold(func(f *fleetObject) { f.UID = "" }), child(recordedFor(""), stripped)) {
		t.Error("one that is only previewed owns what records none")
	}
}

// Contract: FLEET-3.
func TestIsChild(t *testing.T) {
	const mapKey = v1alpha1.LabelMapKey
	for name, test := range map[string]struct {
		schedule *schedule
		want     bool
	}{
		"of the name, with its namespace's map key": {child(func(s *schedule) { s.OwnerReferences = nil }), true},
		"with the map key of another namespace":     {child(func(s *schedule) { s.Labels[mapKey] = "other" }), false},
		"without a map key":                         {child(stripped), false},
		"without a map key, recorded":               {child(recordedFor("gold-uid"), stripped), true},
		"without a map key, recorded for another":   {child(recordedFor("old-uid"), stripped), false},
		"of another name":                           {child(func(s *schedule) { s.Name = "copy" }), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isChild(gold(), test.schedule); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestTombstoneHasNoRecoveryPoint(t *testing.T) {
	at := metav1.NewTime(now)
	dated := child(suspended, snapshots(1), func(s *schedule) { s.Status.OldestRecoveryPointTime = &at })
	p := compiled(t, gold())
	seen := mapcontroller.Observation{MapKey: "shop", Unselected: []client.Object{namespace()}, Outputs: []client.Object{dated}}
	if k := p.Tombstone(seen).Status.(*keyStatus); !k.RecoveryPoint.IsZero() || k.Snapshots.Total != 1 || !k.Updated {
		t.Errorf("got %+v", k)
	}
	seen.Selected, seen.Unselected = seen.Unselected, nil
	if k := p.Map(seen).Status.(*keyStatus); !k.RecoveryPoint.Equal(now) || !k.NoneReady {
		t.Errorf("got %+v", k)
	}
	dated.Status.RecoveryPointTime = &at
	if k := p.Map(seen).Status.(*keyStatus); !k.RecoveryPoint.Equal(now) || k.NoneReady {
		t.Errorf("got %+v", k)
	}
}

func TestUpdateReplacesTheSpecAndMergesTheRest(t *testing.T) {
	have := child(func(s *schedule) {
		s.Spec.Retention.MaxCount = ptr.To[int32](1)
		s.Spec.SnapshotTTL = ""
		s.Labels["tier"] = "bronze"
		s.Annotations[v1alpha1.AnnotationRequestedAt] = "2026-01-01T00:00:00Z"
	})
	want := (&program{fleet: gold()}).newChild("shop")
	update(have, want)
	expected := child()
	expected.Annotations[v1alpha1.AnnotationRequestedAt] = "2026-01-01T00:00:00Z"
	if !meets(expected, have) || !meets(have, expected) {
		t.Errorf("got %+v", have)
	}
	bare := &schedule{}
	update(bare, &schedule{})
	if bare.Labels != nil || bare.Annotations != nil {
		t.Errorf("empty maps: %+v", bare.ObjectMeta)
	}
}

// ownsSnapshots decides which snapshots are a SnapshotSchedule's.
var ownsSnapshots = mapcontroller.Ownership{
	Tags: mapcontroller.Tags{MapKey: v1alpha1.LabelMapKey, Parent: v1alpha1.LabelSchedule},
	Foreign: func(o client.Object) bool {
		return len(o.GetOwnerReferences()) > 0 && o.GetOwnerReferences()[0].Kind == "VolumeGroupSnapshot"
	},
}

func TestIsLeft(t *testing.T) {
	labels := map[string]string{v1alpha1.LabelMapKey: "pvc", v1alpha1.LabelSchedule: "gold"}
	ref := func(uid types.UID, controller bool) []metav1.OwnerReference {
		return []metav1.OwnerReference{{UID: uid, Controller: &controller}}
	}
	group := []metav1.OwnerReference{{Kind: "VolumeGroupSnapshot", UID: "group"}}
	for name, test := range map[string]struct {
		labels map[string]string
		owners []metav1.OwnerReference
		want   bool
	}{
		"its own":                            {labels: labels, owners: ref("child-uid", true), want: true},
		"its own, released only in part":     {owners: ref("child-uid", true), want: true},
		"the garbage collector would delete": {owners: ref("child-uid", false), want: true},
		"an orphan with both labels":         {labels: labels, want: true},
		"an orphan with its name only":       {labels: map[string]string{v1alpha1.LabelSchedule: "gold"}},
		"an orphan of another schedule":      {labels: map[string]string{v1alpha1.LabelMapKey: "pvc", v1alpha1.LabelSchedule: "own"}},
		"what something else controls":       {labels: labels, owners: ref("other", true)},
		"an orphan with a plain owner":       {labels: labels, owners: ref("other", false), want: true},
		"a member of a group":                {labels: labels, owners: group},
		"a member of a group that was its own": {
			labels: labels, owners: append(slices.Clone(group), ref("child-uid", true)...), want: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Labels: test.labels, OwnerReferences: test.owners}}
			if got := isLeft(&ownsSnapshots, child(), v); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// lists is a reader whose lists return snapshots and group snapshots with these owners, or an error.
type lists struct {
	client.Reader

	owners, groupOwners []types.UID
	err, groupErr       error
}

func (l lists) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	page := list.(*metav1.PartialObjectMetadataList)
	owners, err := l.owners, l.err
	switch o := (&client.ListOptions{}).ApplyOptions(opts); {
	case o.Namespace != "shop":
		return errors.New("lists something else")
	case page.Kind == "VolumeGroupSnapshotList":
		owners, err = l.groupOwners, l.groupErr
	case page.Kind != "VolumeSnapshotList":
		return errors.New("lists something else")
	}
	for _, uid := range owners {
		page.Items = append(page.Items, metav1.PartialObjectMetadata{
			ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: uid}}}})
	}
	return err
}

func TestNoneLeft(t *testing.T) {
	group := schema.GroupResource{Group: groupv1.GroupName, Resource: "volumegroupsnapshots"}
	for name, test := range map[string]struct {
		live  lists
		want  bool
		fails bool
	}{
		"no snapshots":             {want: true},
		"others' only":             {live: lists{owners: []types.UID{"other"}}, want: true},
		"one of its own, first":    {live: lists{owners: []types.UID{"child-uid", "other"}}},
		"one of its own, last":     {live: lists{owners: []types.UID{"other", "child-uid"}}},
		"they could not be listed": {live: lists{err: errors.New("unavailable")}, fails: true},

		"a group of its own":         {live: lists{groupOwners: []types.UID{"other", "child-uid"}}},
		"others' groups":             {live: lists{groupOwners: []types.UID{"other"}}, want: true},
		"groups are not installed":   {live: lists{groupErr: &meta.NoKindMatchError{}}, want: true},
		"groups are served no more":  {live: lists{groupErr: apierrors.NewNotFound(group, "")}, want: true},
		"groups may not be listed":   {live: lists{groupErr: apierrors.NewForbidden(group, "", nil)}, fails: true},
		"groups could not be listed": {live: lists{groupErr: errors.New("unavailable")}, fails: true},
		"a snapshot, and no groups":  {live: lists{owners: []types.UID{"child-uid"}, groupErr: &meta.NoKindMatchError{}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := noneLeft(&ownsSnapshots)(t.Context(), test.live, child())
			if got != test.want || (err != nil) != test.fails {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestStripNamespaceKeepsWhatDecisionsRead(t *testing.T) {
	full := namespace(terminating, func(n *metav1.PartialObjectMetadata) {
		n.ResourceVersion = "7"
		n.Annotations = map[string]string{v1alpha1.AnnotationExclude: "", "big": strings.Repeat("x", 1000)}
		n.Finalizers = []string{"x"}
		n.ManagedFields = []metav1.ManagedFieldsEntry{{}}
		n.OwnerReferences = []metav1.OwnerReference{{UID: "gold-uid"}}
	})
	got, err := stripNamespace(full.DeepCopy())
	n := got.(*metav1.PartialObjectMetadata)
	if err != nil || n.Finalizers != nil || n.ManagedFields != nil || len(n.Annotations) != 1 {
		t.Errorf("got %+v, %v", n, err)
	}
	if n.GroupVersionKind().Kind != "Namespace" || n.Name != "shop" || n.UID != full.UID || n.ResourceVersion != "7" ||
		n.Labels["backup"] != "gold" || n.DeletionTimestamp == nil || !excluded(n) || len(n.OwnerReferences) != 1 {
		t.Errorf("got %+v", n)
	}
}

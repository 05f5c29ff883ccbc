// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// grouped makes a schedule take snapshots of all PVCs with app=db together.
func (s scheduleBuilder) grouped() scheduleBuilder {
	s.Spec.Group = &v1alpha1.Group{}
	return s.selecting("db")
}

// member is a PVC of the group.
func (c claimBuilder) member() claimBuilder {
	c.Labels = map[string]string{"app": "db"}
	return c
}

// groupBuilder builds a VolumeGroupSnapshot, named after its age at noon, with its members.
type groupBuilder struct {
	*groupv1.VolumeGroupSnapshot
	members []client.Object
}

// group was taken for the slot of its age of some PVCs, and holds the others.
func group(age time.Duration, record, holds string) groupBuilder {
	v := &groupv1.VolumeGroupSnapshot{}
	v.Name, v.Namespace, v.UID = "g"+age.String(), "shop", types.UID("g"+age.String())
	v.CreationTimestamp, v.Finalizers = metav1.NewTime(ago(age)), []string{backup.BoundFinalizer}
	v.Labels = map[string]string{v1alpha1.LabelMapKey: wholeKey}
	annotate(v, v1alpha1.AnnotationScheduledAt, rfc3339(ago(age)))
	claims := map[string]types.UID{}
	for name := range strings.FieldsSeq(record) {
		claims[name] = types.UID(name + "-uid")
	}
	annotate(v, v1alpha1.AnnotationClaims, toJSON(claims))
	at := v.CreationTimestamp
	v.Status = &groupv1.VolumeGroupSnapshotStatus{
		ReadyToUse: new(true), CreationTime: &at, BoundVolumeGroupSnapshotContentName: new("content"),
	}
	b := groupBuilder{VolumeGroupSnapshot: v}
	for name := range strings.FieldsSeq(holds) {
		m := ready(age).VolumeSnapshot
		m.Name, m.Spec.Source.PersistentVolumeClaimName = v.Name+"-"+name, &name
		m.Labels, m.Status.VolumeGroupSnapshotName = map[string]string{v1alpha1.LabelGroupSnapshot: v.Name}, &v.Name
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: groupv1.SchemeGroupVersion.String(), Kind: "VolumeGroupSnapshot", Name: v.Name, UID: v.UID}}
		b.members = append(b.members, m)
	}
	return b
}

func (g groupBuilder) uncut() groupBuilder   { g.Status = nil; return g }
func (g groupBuilder) unready() groupBuilder { g.Status.ReadyToUse = nil; return g }
func (g groupBuilder) unbound() groupBuilder { g.Finalizers = nil; return g }
func (g groupBuilder) with(change func(members []client.Object)) groupBuilder {
	change(g.members)
	return g
}

// wholeKey is the key of the group of all PVCs.
var wholeKey = (&program{schedule: every("6h").grouped().SnapshotSchedule}).groupKey(claim("x").member())

func groupClass(name, driver string, isDefault bool) *groupv1.VolumeGroupSnapshotClass {
	c := &groupv1.VolumeGroupSnapshotClass{Driver: driver}
	c.Name = name
	if isDefault {
		annotate(c, annotationDefaultGroupClass, "true")
	}
	return c
}

type groupCase struct {
	schedule scheduleBuilder // default: every 6h, grouped
	claims   []claimBuilder  // default: a and b
	others   []claimBuilder  // not selected
	groups   []groupBuilder
	related  []client.Object
	missing  bool
	change   func(*mapcontroller.Observation) // nil: nothing

	wantCreate   bool
	wantDelete   []string
	wantEvidence []string // nil: any
	wantSkip     string   // contained in the reason
	wantProblem  string   // reasons
	wantMessage  string   // contained in one of them
}

func (tc *groupCase) decide(t *testing.T) mapcontroller.Decision {
	t.Helper()
	if tc.schedule.SnapshotSchedule == nil {
		tc.schedule = every("6h").grouped()
	}
	if tc.claims == nil {
		tc.claims = []claimBuilder{claim("a"), claim("b")}
	}
	seen := mapcontroller.Observation{Now: noon, MapKey: wholeKey, Related: tc.related}
	if tc.missing {
		seen.Missing = []schema.GroupVersionKind{groupv1.SchemeGroupVersion.WithKind("VolumeGroupSnapshot")}
	}
	for _, c := range tc.claims {
		seen.Selected = append(seen.Selected, c.member().PersistentVolumeClaim)
	}
	for _, c := range tc.others {
		seen.Unselected = append(seen.Unselected, c.PersistentVolumeClaim)
	}
	for _, g := range tc.groups {
		seen.Outputs, seen.Children = append(seen.Outputs, g.VolumeGroupSnapshot), append(seen.Children, g.members...)
	}
	slices.SortFunc(seen.Outputs, func(a, b client.Object) int { return a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time) })
	if tc.change != nil {
		tc.change(&seen)
	}
	compiled, err := Compile(tc.schedule.SnapshotSchedule)
	must(t, err)
	if len(seen.Selected) == 0 {
		return compiled.Tombstone(seen)
	}
	return compiled.Map(seen)
}

func namesOf(objects []client.Object) (names []string) {
	for _, o := range objects {
		names = append(names, o.GetName())
	}
	slices.Sort(names)
	return names
}

// Contract: GRP-2, GRP-4, GRP-5, GRP-6, GRP-7, GRP-9, GRP-10.
func TestMapGroup(t *testing.T) {
	const driverA, driverB = "a.example.com", "b.example.com"
	ttl := every("6h").grouped().ttl("1d")
	now := group(time.Hour, "a b", "a b") // the slot's
	recent := group(7*time.Hour, "a b", "a b")
	old, older := group(30*time.Hour, "a b", "a b"), group(40*time.Hour, "a b", "a b")
	onlyA := group(time.Hour, "a b", "a")
	both := slices.Clip([]client.Object{class("a", driverA), class("b", driverB)}) // of single snapshots
	hundred := slices.Repeat([]claimBuilder{claim("x")}, backup.MaxGroup+1)
	for name, tc := range map[string]groupCase{
		"takes one for a slot that is due":                  {groups: []groupBuilder{recent}, wantCreate: true},
		"takes none for a slot that is covered":             {groups: []groupBuilder{now}},
		"deletes what expired":                              {schedule: ttl, groups: []groupBuilder{now, old, older}, wantDelete: []string{"g30h0m0s", "g40h0m0s"}, wantEvidence: []string{"g1h0m0s"}},
		"keeps the newest that holds a PVC":                 {schedule: ttl, groups: []groupBuilder{onlyA, old, older}, wantDelete: []string{"g40h0m0s"}, wantEvidence: []string{"g1h0m0s", "g30h0m0s"}, wantProblem: v1alpha1.ReasonGroupIncomplete, wantMessage: "holds no data of b"},
		"counts no member that is being deleted":            {schedule: ttl, groups: []groupBuilder{group(time.Hour, "a b", "a b").with(func(m []client.Object) { markDeleting(m[1]) }), old, older}, wantDelete: []string{"g40h0m0s"}, wantProblem: v1alpha1.ReasonMemberDeleted, wantMessage: "the data of b in VolumeGroupSnapshot g1h0m0s is lost: its VolumeSnapshot is being deleted, which cannot be undone; to take another: kubectl snapsched snapshot -n 'shop' 'backup'"},
		"nor one that is not ready":                         {schedule: ttl, groups: []groupBuilder{group(time.Hour, "a b", "a b").with(func(m []client.Object) { m[1].(*snapshotv1.VolumeSnapshot).Status.ReadyToUse = nil }), old, older}, wantDelete: []string{"g40h0m0s"}},
		"nor one that only names the group as its owner":    {schedule: ttl, groups: []groupBuilder{group(time.Hour, "a b", "a b").with(func(m []client.Object) { m[1].(*snapshotv1.VolumeSnapshot).Status.VolumeGroupSnapshotName = nil }), old, older}, wantDelete: []string{"g40h0m0s"}, wantProblem: v1alpha1.ReasonGroupIncomplete, wantMessage: "holds no data of b"},
		"keeps what one of two members of a PVC keeps":      {schedule: ttl, groups: []groupBuilder{onlyA, group(30*time.Hour, "a b", "b b a"), older}, wantDelete: []string{"g40h0m0s"}, wantEvidence: []string{"g1h0m0s", "g30h0m0s"}, wantProblem: v1alpha1.ReasonGroupIncomplete, wantMessage: "holds no data of b"},
		"reports two members of a PVC":                      {groups: []groupBuilder{group(30*time.Second, "a b", "a b b")}, wantProblem: v1alpha1.ReasonGroupIncomplete, wantMessage: "has several VolumeSnapshots of b"},
		"nor one of another group":                          {schedule: ttl, groups: []groupBuilder{group(time.Hour, "a b", "a b").with(func(m []client.Object) { m[1].GetOwnerReferences()[0].UID = "other" }), old, older}, wantDelete: []string{"g40h0m0s"}, wantProblem: v1alpha1.ReasonGroupIncomplete},
		"is held by a hold on a member":                     {schedule: ttl, groups: []groupBuilder{now, group(30*time.Hour, "a b", "a b").with(func(m []client.Object) { annotate(m[0], v1alpha1.AnnotationHold, "") })}},
		"is held by a PVC that is restored from a member":   {schedule: ttl, groups: []groupBuilder{now, old}, related: []client.Object{claim("r").created(ago(time.Minute)).phase(corev1.ClaimPending).from(snapshotv1.GroupName, "VolumeSnapshot", "g30h0m0s-b").PersistentVolumeClaim}},
		"deletes none before it is bound":                   {schedule: ttl, groups: []groupBuilder{now, group(30*time.Hour, "a b", "a b").unbound()}},
		"deletes what never was":                            {groups: []groupBuilder{group(7*time.Hour, "a b", "").uncut().unbound()}, wantDelete: []string{"g7h0m0s"}, wantProblem: v1alpha1.ReasonSnapshotFailed},
		"deletes an uncut one whose PVC is gone":            {claims: []claimBuilder{claim("a")}, groups: []groupBuilder{group(20*time.Minute, "a b", "").uncut()}, wantDelete: []string{"g20m0s"}},
		"deletes an uncut one whose PVC is being deleted":   {claims: []claimBuilder{claim("a"), claim("b").deleting()}, groups: []groupBuilder{group(20*time.Minute, "a b", "").uncut()}, wantDelete: []string{"g20m0s"}, wantProblem: v1alpha1.ReasonGroupStopped},
		"keeps a cut one whose PVC is gone":                 {schedule: ttl, claims: []claimBuilder{claim("a")}, groups: []groupBuilder{now}},
		"keeps for a PVC that has left":                     {schedule: ttl, claims: []claimBuilder{claim("a")}, others: []claimBuilder{claim("b")}, groups: []groupBuilder{group(time.Hour, "a", "a"), old, older}, wantDelete: []string{"g40h0m0s"}},
		"takes one without a PVC that joins":                {claims: []claimBuilder{claim("a"), claim("c").created(ago(time.Minute))}, groups: []groupBuilder{group(time.Hour, "a", "a")}},
		"seeks members of what is cut":                      {groups: []groupBuilder{group(30*time.Second, "a b", "").unready()}},
		"does not seek those of what is uncut":              {groups: []groupBuilder{group(30*time.Second, "a b", "").uncut()}},
		"waits a moment for members":                        {groups: []groupBuilder{group(30*time.Second, "a b", "a")}},
		"reports strangers":                                 {groups: []groupBuilder{group(30*time.Second, "a b", "a b c")}, wantProblem: v1alpha1.ReasonGroupIncomplete, wantMessage: "holds data of others: c"},
		"takes none while the kind is missing":              {missing: true, groups: nil, wantProblem: v1alpha1.ReasonGroupSnapshotAPIMissing},
		"nor says that it lacks a class then":               {missing: true, claims: []claimBuilder{claim("a").of(driverA)}, wantProblem: v1alpha1.ReasonGroupSnapshotAPIMissing},
		"takes none while its labels match another PVC":     {others: []claimBuilder{claim("x").member()}, wantProblem: v1alpha1.ReasonGroupMismatch, wantMessage: "x"},
		"takes none of too many PVCs":                       {claims: hundred, wantProblem: v1alpha1.ReasonGroupTooLarge, wantMessage: "to see the labels: kubectl get pvc -n 'shop' --show-labels"},
		"takes none while a PVC is not bound":               {claims: []claimBuilder{claim("a"), claim("b").phase(corev1.ClaimPending)}, groups: []groupBuilder{group(13*time.Hour, "a b", "a b")}, wantProblem: v1alpha1.ReasonGroupStopped, wantMessage: "PVC b: not Bound"},
		"takes none of several drivers":                     {claims: []claimBuilder{claim("a").of(driverA), claim("b").of(driverB)}, related: both, wantProblem: v1alpha1.ReasonMixedDrivers, wantMessage: driverB},
		"takes none of a driver without a class":            {claims: []claimBuilder{claim("a").of(driverA)}, related: append(both, groupClass("x", driverB, true)), wantProblem: v1alpha1.ReasonNoGroupSnapshotClass},
		"takes none of a driver without a default":          {claims: []claimBuilder{claim("a").of(driverA)}, related: []client.Object{groupClass("x", driverA, false)}, wantProblem: v1alpha1.ReasonNoDefaultGroupSnapshotClass},
		"takes one of the default class":                    {claims: []claimBuilder{claim("a").of(driverA)}, related: []client.Object{groupClass("x", driverA, true)}, wantCreate: true},
		"takes none of another driver's class":              {schedule: every("6h").groupClass("x"), claims: []claimBuilder{claim("a").of(driverA)}, related: append(both, groupClass("x", driverB, true)), wantProblem: v1alpha1.ReasonNoGroupSnapshotClass, wantMessage: driverB},
		"takes none of a class that does not exist":         {schedule: every("6h").groupClass("y"), claims: []claimBuilder{claim("a").of(driverA)}, related: []client.Object{groupClass("x", driverA, true)}, wantProblem: v1alpha1.ReasonNoGroupSnapshotClass},
		"is skipped while none of its PVCs is bound":        {claims: []claimBuilder{claim("a").phase(corev1.ClaimPending), claim("b").phase(corev1.ClaimPending)}, groups: []groupBuilder{group(13*time.Hour, "a b", "a b")}, wantSkip: "not Bound"},
		"is skipped if all are of in-tree plugins":          {claims: []claimBuilder{claim("a").of("kubernetes.io/aws-ebs")}, wantSkip: v1alpha1.ReasonNotSnapshottable},
		"is skipped if its driver has no class of any kind": {claims: []claimBuilder{claim("a").of(driverA)}, related: []client.Object{groupClass("x", driverB, true)}, wantSkip: v1alpha1.ReasonNotSnapshottable},
		"has lost its class":                                {claims: []claimBuilder{claim("a").of(driverA)}, groups: []groupBuilder{recent}, related: []client.Object{groupClass("x", driverB, true)}, wantProblem: v1alpha1.ReasonNoGroupSnapshotClass},
		"is stopped by a PVC of an in-tree plugin":          {claims: []claimBuilder{claim("a").of(driverA), claim("b").of("kubernetes.io/aws-ebs")}, related: []client.Object{groupClass("x", driverA, true)}, wantProblem: v1alpha1.ReasonGroupStopped, wantMessage: "PVC b: NotSnapshottable"},
		"is stopped by a PVC that is being deleted":         {claims: []claimBuilder{claim("a"), claim("b").deleting()}, wantProblem: v1alpha1.ReasonGroupStopped, wantMessage: "PVC b: being deleted"},
		"takes none beyond what a volume of it can take":    {claims: []claimBuilder{claim("a").of(driverA), claim("b").of(driverA)}, groups: []groupBuilder{recent}, related: []client.Object{annotated(groupClass("x", driverA, true), v1alpha1.AnnotationMaxPerVolume, "1")}, wantProblem: v1alpha1.ReasonVolumeLimit, wantCreate: true},
		"keeps those of a group without a PVC":              {schedule: ttl, claims: []claimBuilder{}, others: []claimBuilder{claim("b")}, groups: []groupBuilder{old, older}, wantDelete: []string{"g40h0m0s"}},
		"deletes those of a group whose PVCs are all gone":  {schedule: ttl, claims: []claimBuilder{}, groups: []groupBuilder{old, older}, wantDelete: []string{"g30h0m0s", "g40h0m0s"}},
		"one without a record holds nothing":                {schedule: ttl, groups: []groupBuilder{unrecorded(time.Hour), old, older}, wantDelete: []string{"g40h0m0s"}, wantProblem: v1alpha1.ReasonGroupIncomplete},
		"takes the place of one that failed after its slot": {groups: []groupBuilder{group(7*time.Hour, "a b", "").uncut()}, wantDelete: []string{"g7h0m0s"}, wantProblem: v1alpha1.ReasonSnapshotFailed},
	} {
		t.Run(name, func(t *testing.T) {
			d := tc.decide(t)
			if got := len(d.Ensure) == 1; got != tc.wantCreate {
				t.Errorf("creates: %v, want %v", got, tc.wantCreate)
			}
			slices.Sort(tc.wantDelete)
			if got := deletesOf(d); !slices.Equal(got, tc.wantDelete) {
				t.Errorf("deletes %v, want %v", got, tc.wantDelete)
			}
			if got := namesOf(d.Evidence); tc.wantEvidence != nil && !slices.Equal(got, tc.wantEvidence) {
				t.Errorf("evidence %v, want %v", got, tc.wantEvidence)
			}
			if got := string(statusOf(d).SkipReason); !strings.Contains(got, tc.wantSkip) || (got == "") != (tc.wantSkip == "") {
				t.Errorf("skipped: %q, want %q", got, tc.wantSkip)
			}
			var reasons, messages []string
			for _, p := range statusOf(d).Problems {
				if !p.Harmless {
					reasons, messages = append(reasons, p.Reason), append(messages, p.Message)
				}
			}
			if !slices.Equal(reasons, strings.Fields(tc.wantProblem)) || !strings.Contains(strings.Join(messages, "\n"), tc.wantMessage) {
				t.Errorf("problems %v %q, want %q with %q", reasons, messages, tc.wantProblem, tc.wantMessage)
			}
		})
	}
}

func (s scheduleBuilder) groupClass(name string) scheduleBuilder {
	s = s.grouped()
	s.Spec.Group.VolumeGroupSnapshotClassName = &name
	return s
}

func annotated[T client.Object](o T, key, value string) T {
	annotate(o, key, value)
	return o
}

func unrecorded(age time.Duration) groupBuilder {
	g := group(age, "a b", "a b")
	annotate(g, v1alpha1.AnnotationClaims, "{")
	return g
}

// An earlier delete leaves the data in the storage, tried with external-snapshotter 8.7.
//
// Contract: GRP-10.
func TestGroupSnapshotsAreNotDeletedWithinTheirFirstMinute(t *testing.T) {
	scheme := runtime.NewScheme()
	must(t, errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme), snapshotv1.AddToScheme(scheme), groupv1.AddToScheme(scheme)))
	s := every("6h").grouped().SnapshotSchedule
	compiled, err := Compile(s)
	must(t, err)
	planner, err := kinds().Planner(scheme, s, compiled)
	must(t, err)
	for age, want := range map[time.Duration]int{59 * time.Second: 0, time.Minute: 1} {
		v := group(age, "a b", "").uncut() // b is gone
		annotate(v, v1alpha1.AnnotationScheduledAt, rfc3339(ago(time.Hour)))
		v.Labels[v1alpha1.LabelSchedule] = s.Name
		v.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s, Ownership.Parent)}
		p := planner.Plan(mapcontroller.Observation{
			Now: noon, MapKey: wholeKey, Selected: []client.Object{claim("a").member().PersistentVolumeClaim}, Outputs: []client.Object{v.VolumeGroupSnapshot},
		})
		if len(p.Delete) != want || p.Err != nil || want == 0 && !p.Next.Equal(noon.Add(time.Second)) {
			t.Errorf("after %s: deletes %d, next %s, error %v", age, len(p.Delete), p.Next, p.Err)
		}
	}
}

// The operator's first write to a schedule is its finalizer, without which it takes no group snapshot.
func TestTheJudgeOfAGroupedScheduleTakesItsFirstGroupSnapshot(t *testing.T) {
	scheme := runtime.NewScheme()
	must(t, errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme), snapshotv1.AddToScheme(scheme), groupv1.AddToScheme(scheme)))
	judge, err := NewJudge(scheme, every("6h").grouped().SnapshotSchedule, Classes{})
	must(t, err)
	a := claim("a").member().PersistentVolumeClaim
	if d := judge.Judge(noon, Series{MapKey: judge.Key(a), Claims: []*corev1.PersistentVolumeClaim{a}}); len(d.Create) != 1 {
		t.Errorf("it creates %v", d.Create)
	}
}

// Contract: GRP-1, GRP-2.
func TestNewGroupSnapshot(t *testing.T) {
	s := every("6h").grouped()
	s.Spec.Group.ByLabel = "instance"
	s.Spec.SnapshotTemplate.Metadata = v1alpha1.SnapshotTemplateMetadata{Labels: map[string]v1alpha1.LabelValue{"tier": "gold"}, Annotations: map[string]string{"note": "x"}}
	a, b := claim("a").member(), claim("b").member()
	a.Labels["instance"], b.Labels["instance"] = "one", "one"
	p, err := newProgram(s.SnapshotSchedule, origin{}, true)
	must(t, err)
	d, _ := p.mapKey(mapcontroller.Observation{Now: noon, MapKey: p.groupKey(a), Selected: []client.Object{b.PersistentVolumeClaim, a.PersistentVolumeClaim}})
	v := d.Ensure[0].Object.(*groupv1.VolumeGroupSnapshot)
	if got, want := toJSON(v.Spec.Source.Selector.MatchLabels), `{"app":"db","instance":"one"}`; got != want {
		t.Errorf("selects %s, want %s", got, want)
	}
	if got, want := v.Annotations[v1alpha1.AnnotationClaims], `{"a":"a-uid","b":"b-uid"}`; got != want {
		t.Errorf("records %s, want %s", got, want)
	}
	if v.Labels["tier"] != "gold" || v.Annotations["note"] != "x" || !backup.SlotOf(v).Equal(ago(time.Hour)) {
		t.Errorf("metadata %+v", v.ObjectMeta)
	}
	if status := d.Status.(*keyStatus); status.name() != "group one" || status.weight() != 2 {
		t.Errorf("status of %s with %d PVCs", status.name(), status.weight())
	}
	if !covers(v, v.DeepCopy()) {
		t.Error("a group snapshot should cover itself")
	}
	other := v.DeepCopy()
	annotate(other, v1alpha1.AnnotationClaims, `{"a":"a-uid"}`)
	if covers(v, other) {
		t.Error("one of other PVCs should not cover it")
	}
}

// Contract: GRP-4.
func TestAPVCWithoutTheLabelBelongsToNoGroup(t *testing.T) {
	s := every("6h").grouped().ttl("1d")
	s.Spec.Group.ByLabel = "instance"
	a := claim("a").member()
	p, err := newProgram(s.SnapshotSchedule, origin{}, true)
	must(t, err)
	if key := p.groupKey(a); key != "a-uid" {
		t.Fatalf("key %s", key)
	}
	before := ready(30 * time.Hour).VolumeSnapshot
	before.Spec.Source.PersistentVolumeClaimName = &a.Name
	d, _ := p.mapKey(mapcontroller.Observation{Now: noon, MapKey: "a-uid", Selected: []client.Object{a.PersistentVolumeClaim}, Outputs: []client.Object{before}})
	if len(d.Ensure)+len(d.Delete) > 0 {
		t.Errorf("creates %v, deletes %v: the newest of an earlier spec should stay, and none be taken singly", d.Ensure, d.Delete)
	}
	if problems := statusOf(d).Problems; len(problems) != 1 || problems[0].Reason != v1alpha1.ReasonGroupMismatch || problems[0].Claim != "a" ||
		!strings.HasSuffix(problems[0].Message, "; to make it a group of its own: kubectl label pvc -n 'shop' 'a' 'instance=a'") {
		t.Errorf("problems %v", problems)
	}
}

// Contract: GRP-2.
func TestGroupKeysAndNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, c := every("6h").grouped(), claim("data").member()
		s.Name = rapid.StringMatching(`[a-z0-9]([a-z0-9-]{0,29}[a-z0-9])?([.][a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?)?`).Draw(t, "schedule")
		s.Spec.Group.ByLabel, c.Labels["by"] = "by", rapid.StringMatching(`[A-Za-z0-9._-]{0,63}`).Draw(t, "value")
		key := (&program{schedule: s.SnapshotSchedule}).groupKey(c)
		if !backup.IsGroupKey(key) || len(validation.IsValidLabelValue(key)) > 0 {
			t.Fatalf("key %q", key)
		}
		name := groupName(s, key, noon)
		if len(name) > 63 || len(validation.IsDNS1123Subdomain(name)) > 0 || name != groupName(s, key, noon) ||
			name == groupName(s, key, noon.Add(time.Second)) {
			t.Fatalf("name %q", name)
		}
	})
	if backup.IsGroupKey("1b4e28ba-2fa1-11d2-883f-0016d3cca427") || backup.IsGroupKey("g-"+strings.Repeat("A", 26)) {
		t.Error("a UID should be no key of a group")
	}
}

// Anybody who may edit group snapshots can write their records.
func TestRecordsAreUntrusted(t *testing.T) {
	many := map[string]types.UID{}
	for i := range backup.MaxGroup + 1 {
		many[fmt.Sprint(i)] = "uid"
	}
	for name, text := range map[string]string{
		"no JSON": "{", "a list": "[]", "numbers": `{"a":1}`, "an empty name": `{"":"uid"}`, "an empty UID": `{"a":""}`,
		"too many": toJSON(many), "a long UID": `{"a":"` + strings.Repeat("x", 65) + `"}`, "too long": `{"` + strings.Repeat("a", backup.MaxRecord) + `":"uid"}`,
		"a long name": `{"` + strings.Repeat("a", 254) + `":"uid"}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := group(time.Hour, "a", "a")
			annotate(g, v1alpha1.AnnotationClaims, text)
			if got := backup.ClaimsOf(g.VolumeGroupSnapshot); len(got) > 0 {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestCacheHoldsNoMoreOfARecordThanItsPVCs(t *testing.T) {
	for key, want := range map[string]string{wholeKey: `{"a":"a-uid"}`, "a-uid": ""} {
		g := group(time.Hour, "a", "a")
		g.Labels[v1alpha1.LabelMapKey] = key
		annotate(g, v1alpha1.AnnotationClaims, `{"a":"a-uid"`+strings.Repeat(" ", 30_000)+"}")
		v, err := stripGroup(g.DeepCopy())
		must(t, err)
		if got := v.(*groupv1.VolumeGroupSnapshot).Annotations[v1alpha1.AnnotationClaims]; got != want {
			t.Errorf("of key %s: %.100s, want %s", key, got, want)
		}
	}
}

// What the cache holds of a group snapshot and its members decides as the whole does.
func TestStrippedGroupsDecideAlike(t *testing.T) {
	whole := group(30*time.Hour, "a b", "a b").with(func(m []client.Object) {
		annotate(m[0], v1alpha1.AnnotationHold, "why")
		annotate(m[1], v1alpha1.AnnotationVerifiedAt, rfc3339(ago(time.Hour)))
	})
	whole.Labels["more"], whole.Annotations["more"], whole.ManagedFields = "x", "y", []metav1.ManagedFieldsEntry{{}}
	seen := mapcontroller.Observation{Now: noon, MapKey: wholeKey, Outputs: []client.Object{whole.VolumeGroupSnapshot}, Children: whole.members}
	before := backupsOf(seen)
	stripped := mapcontroller.Observation{Now: noon, MapKey: wholeKey}
	v, err := stripGroup(whole.DeepCopy())
	must(t, err)
	stripped.Outputs = []client.Object{v.(client.Object)}
	for _, m := range whole.members {
		m, err := stripMember(m.DeepCopyObject())
		must(t, err)
		stripped.Children = append(stripped.Children, m.(client.Object))
	}
	if after := backupsOf(stripped); toJSON(after.GroupSeries) != toJSON(before.GroupSeries) {
		t.Errorf("got %s\nwant %s", toJSON(after.GroupSeries), toJSON(before.GroupSeries))
	}
	if got := v.(*groupv1.VolumeGroupSnapshot); len(got.Labels) != 1 || len(got.Annotations) != 2 || got.ManagedFields != nil {
		t.Errorf("the cache keeps %+v", got.ObjectMeta)
	}
}

// Contract: GRP-10.
func TestGroupSnapshotsMayGo(t *testing.T) {
	uncut := func(age time.Duration) *groupv1.VolumeGroupSnapshot {
		return group(age, "a", "").uncut().unbound().VolumeGroupSnapshot
	}
	for name, tc := range map[string]struct {
		v        *groupv1.VolumeGroupSnapshot
		deadline time.Duration
		want     bool
		wantAt   time.Time
	}{
		"bound":                         {group(time.Hour, "a", "a").VolumeGroupSnapshot, time.Hour, true, time.Time{}},
		"with a content, not protected": {group(time.Hour, "a", "a").unbound().VolumeGroupSnapshot, time.Minute, false, time.Time{}},
		"without a content, young":      {uncut(5 * time.Minute), time.Minute, false, in(5 * time.Minute)},
		"without a content, old":        {uncut(10 * time.Minute), time.Minute, true, noon},
		"within readyDeadline":          {uncut(10 * time.Minute), time.Hour, false, in(50 * time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			if may, at := mayGo(tc.v, tc.deadline, noon); may != tc.want || !at.Equal(tc.wantAt) {
				t.Errorf("%v, %v; want %v, %v", may, at, tc.want, tc.wantAt)
			}
		})
	}
}

// Contract: GRP-8, GRP-9.
func TestStatusOfAGroupIsOfItsPVCs(t *testing.T) {
	tc := groupCase{groups: []groupBuilder{group(time.Hour, "a b", "a"), group(7*time.Hour, "a b", "a b")}, claims: []claimBuilder{claim("a"), claim("b"), claim("c").created(ago(20 * time.Hour))}}
	status := statusOf(tc.decide(t))
	sum := combine([]any{status})
	if c := sum.Protections; c.current != 2 || c.old != 1 || c.worst == nil || c.worst.Claim != "c" {
		t.Errorf("protections %+v", sum.Protections)
	}
	if !sum.RecoveryPoint.Equal(ago(20*time.Hour)) || sum.Failing != 3 {
		t.Errorf("recovery point %v, %d failing", sum.RecoveryPoint, sum.Failing)
	}
	for i, want := range []time.Time{ago(time.Hour), ago(7 * time.Hour), ago(20 * time.Hour)} {
		if got := status.parts()[i].recoveryPoint; !got.Equal(want) {
			t.Errorf("recovery point of %s: %v, want %v", status.parts()[i].name, got, want)
		}
	}
}

// Whoever may create snapshots can put any map key on them.
func TestKeysDecideAboutOneKindOnly(t *testing.T) {
	single, grouping := ready(30*time.Hour).VolumeSnapshot, group(30*time.Hour, "a", "a").VolumeGroupSnapshot
	for name, s := range map[string]scheduleBuilder{"single": every("6h").ttl("1d"), "grouped": every("6h").grouped().ttl("1d")} {
		compiled, err := Compile(s.SnapshotSchedule)
		must(t, err)
		for key, others := range map[string][]client.Object{"data-uid": {grouping}, wholeKey: {single}} {
			seen := mapcontroller.Observation{Now: noon, MapKey: key, Outputs: others}
			decisions := []mapcontroller.Decision{compiled.Tombstone(seen)}
			if seen.Selected = []client.Object{claim("data").member().PersistentVolumeClaim}; key != wholeKey || name == "grouped" {
				decisions = append(decisions, compiled.Map(seen))
			}
			for _, d := range decisions {
				if len(d.Delete) > 0 || len(d.Evidence) > 0 {
					t.Errorf("%s, key %s: deletes %v", name, key, d.Delete)
				}
			}
		}
	}
	for i, out := range kinds().Outputs {
		if out.Adoptable(nil, single) == (i == 1) || out.Adoptable(nil, grouping) == (i == 0) {
			t.Errorf("output %d adopts what has the key of another kind", i)
		}
	}
}

// The snapshot controller leaves a conflict in status.error of a healthy group snapshot. A member that loses its readiness for a
// moment is kept for now as a single snapshot is, whatever the error of its group was.
//
// Contract: GRP-9.
func TestAnOldErrorOfAGroupCostsNoMemberItsRecovery(t *testing.T) {
	for name, erring := range map[string]bool{"without an error of the group": false, "with an old one": true} {
		only := group(30*time.Hour, "a b", "a b").with(func(m []client.Object) { m[1].(*snapshotv1.VolumeSnapshot).Status.ReadyToUse = nil })
		if erring {
			must(t, json.Unmarshal([]byte(`{"error":{"time":"`+rfc3339(ago(29*time.Hour))+`","message":"the object has been modified"}}`), only.Status))
		}
		tc := groupCase{ // b has left the group, and its floor is in the older one
			schedule: every("6h").grouped().ttl("1d"), claims: []claimBuilder{claim("a")}, others: []claimBuilder{claim("b")},
			groups: []groupBuilder{group(time.Hour, "a", "a"), only},
		}
		if got := deletesOf(tc.decide(t)); slices.Contains(got, only.Name) {
			t.Errorf("%s: deletes %v, the only one that holds b", name, got)
		}
	}
}

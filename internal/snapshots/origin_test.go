// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// fleetBuilder builds a ClusterSnapshotSchedule of the name of every's schedules, and the
// namespace that it selects.
type fleetBuilder struct {
	*v1alpha1.ClusterSnapshotSchedule

	namespace *metav1.PartialObjectMetadata
}

func templateOf(s scheduleBuilder) fleetBuilder {
	f := &v1alpha1.ClusterSnapshotSchedule{}
	f.Name, f.UID, f.Generation = s.Name, "fleet-uid", 7
	f.Spec.NamespaceSelector.MatchLabels = map[string]v1alpha1.LabelValue{"backup": "gold"}
	f.Spec.Template.Spec = *s.Spec.DeepCopy()
	parent, namespace := OriginNames(s.SnapshotSchedule)
	if parent.Name != f.Name {
		panic("the name of the ClusterSnapshotSchedule")
	}
	namespace.Labels = map[string]string{"backup": "gold"}
	return fleetBuilder{f, namespace}
}

func (f fleetBuilder) confirming(generation string) fleetBuilder {
	annotate(f, v1alpha1.AnnotationConfirmGeneration, generation)
	return f
}
func (f fleetBuilder) requested(at string) fleetBuilder {
	annotate(f, v1alpha1.AnnotationRequestedAt, at)
	return f
}
func (f fleetBuilder) unselected() fleetBuilder { f.namespace.Labels = nil; return f }
func (f fleetBuilder) excluded() fleetBuilder {
	annotate(f.namespace, v1alpha1.AnnotationExclude, "")
	return f
}

// objects are what the cache has, or the API server.
func (f fleetBuilder) objects() []client.Object {
	return []client.Object{f.ClusterSnapshotSchedule, f.namespace}
}

// controlled gives a schedule the ClusterSnapshotSchedule as its controller.
func (s scheduleBuilder) controlled(changes ...func(*metav1.OwnerReference)) scheduleBuilder {
	ref := metav1.NewControllerRef(&v1alpha1.ClusterSnapshotSchedule{}, v1alpha1.GroupVersion.WithKind("ClusterSnapshotSchedule"))
	for _, change := range changes {
		change(ref)
	}
	s.OwnerReferences = []metav1.OwnerReference{*ref}
	return s
}

// Contract: FLEET-10.
func TestWhichSchedulesAreChildren(t *testing.T) {
	of := func() fleetBuilder { return templateOf(every("6h")) }
	for name, tc := range map[string]struct {
		schedule scheduleBuilder
		related  []client.Object
		want     bool
	}{
		"an ordinary one":                           {every("6h"), nil, false},
		"controlled":                                {every("6h").controlled(), of().objects(), true},
		"controlled, and nothing else is known":     {every("6h").controlled(), nil, true},
		"controlled, by another version of the API": {every("6h").controlled(func(r *metav1.OwnerReference) { r.APIVersion = v1alpha1.GroupName + "/v9" }), nil, true},
		"controlled, and no longer selected":        {every("6h").controlled(), of().unselected().objects(), true},
		"controlled by something else of the kind":  {every("6h").controlled(func(r *metav1.OwnerReference) { r.APIVersion = "example.com/v1" }), nil, false},
		"owned, not controlled":                     {every("6h").controlled(func(r *metav1.OwnerReference) { r.Controller = nil }), nil, false},
		"of the name, in a selected namespace":      {every("6h"), of().objects(), true},
		"of the name, controlled by something else": {every("6h").controlled(func(r *metav1.OwnerReference) { r.Kind = "Tenant" }), of().objects(), true},
		"of the name, in another namespace":         {every("6h"), of().unselected().objects(), false},
		"of the name, in an excluded namespace":     {every("6h"), of().excluded().objects(), false},
		"of the name, in an unknown namespace":      {every("6h"), of().objects()[:1], false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := originOf(tc.schedule.SnapshotSchedule, tc.related).child; got != tc.want {
				t.Errorf("is a child: %v, want %v", got, tc.want)
			}
			p, err := compileFor(tc.schedule.ttl("1s").SnapshotSchedule, false, DefaultMaxClockSkew)
			must(t, err)
			m := mapCase{gone: true, snapshots: series{ready(day)}}
			seen := m.observe()
			seen.Related = tc.related
			if d := p.Tombstone(seen); len(d.Delete) == 0 {
				t.Error("it counts as a child where ClusterSnapshotSchedules are off")
			}
		})
	}
}

// Contract: FLEET-10.
func TestRelatedAreTheOriginOfASchedule(t *testing.T) {
	stores, f := NewStores(), templateOf(every("6h"))
	for _, o := range f.objects() {
		store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
		must(t, store.Add(o))
		stores.Add(o, store)
	}
	for name, tc := range map[string]struct {
		schedule   scheduleBuilder
		namespaces []string
		want       int
		child      bool
	}{
		"of the name":                 {every("6h"), nil, 2, true},
		"of another name":             {every("6h").named("other"), nil, 0, false},
		"in a namespaced operator":    {every("6h").controlled(), []string{"shop"}, 0, false},
		"of another name, controlled": {every("6h").named("other").controlled(), nil, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := MapController(Options{Stores: stores, Namespaces: tc.namespaces}, nil, 0)
			if got := len(c.Related(tc.schedule.SnapshotSchedule, "data-uid")); got != tc.want {
				t.Errorf("%d related objects, want %d", got, tc.want)
			}
			concern := 0 // their events are the schedule's
			for _, kind := range c.RelatedKinds {
				for _, o := range f.objects() {
					if kind.Live && reflect.TypeOf(kind.Object) == reflect.TypeOf(o) && kind.Concerns(o, tc.schedule.SnapshotSchedule) {
						concern++
					}
				}
			}
			if concern != tc.want {
				t.Errorf("%d of them concern it, want %d", concern, tc.want)
			}
			if got := c.RecordsTime(noon, tc.schedule.SnapshotSchedule); got != tc.child {
				t.Errorf("records the time: %v, want %v", got, tc.child)
			}
			k := known(1)
			k.ServerTime = noon
			c.Status(noon, tc.schedule.SnapshotSchedule, k)
			if got := tc.schedule.Status.Retention != nil; got != tc.child {
				t.Errorf("has a record: %v, want %v", got, tc.child)
			}
		})
	}
}

// The child's generation is 3, the ClusterSnapshotSchedule's 7.
//
// Contract: FLEET-9, FLEET-10.
func TestRecordOfAChild(t *testing.T) {
	child := func() scheduleBuilder { return every("6h").controlled() }
	of := func(s scheduleBuilder) fleetBuilder { return templateOf(s) }
	long, longest := child().editDelay("1h"), every("6h").editDelay("1h")
	for name, tc := range map[string]struct {
		schedule scheduleBuilder
		fleet    fleetBuilder
		want     *v1alpha1.RetentionRecord
	}{
		"it always has one":                  {child(), of(child()), record(3, noon, "1m")},
		"a longer delay of its own":          {long, of(longest), record(3, noon, "1h")},
		"a shorter one":                      {child().editDelay("1s"), of(child()), record(3, noon, "1m")},
		"long after an edit":                 {child().recorded(3, ago(day), "1m"), of(child()), record(3, ago(day), "1m")},
		"the older delay was longer":         {child().recorded(2, ago(day), "1h"), of(child()), record(3, noon, "1h")},
		"that delay has passed":              {child().recorded(3, ago(day), "1h"), of(child()), record(3, ago(day), "1m")},
		"it confirms itself":                 {child().recorded(3, ago(time.Minute), "1h").confirming("3"), of(child()), record(3, ago(time.Minute), "1h")},
		"it confirms the fleet's generation": {child().recorded(3, ago(time.Minute), "1h").confirming("7"), of(child()), record(3, ago(time.Minute), "1h")},
		"confirmed": {child().recorded(3, ago(time.Minute), "1h"), of(child()).confirming("7"),
			record(3, ago(time.Minute), "1m")},
		"another generation is confirmed": {child().recorded(3, ago(time.Minute), "1h"), of(child()).confirming("3"),
			record(3, ago(time.Minute), "1h")},
		"confirmed, and the child has another spec": {child().ttl("1s").recorded(3, ago(time.Minute), "1h"), of(child()).confirming("7"),
			record(3, ago(time.Minute), "1h")},
		"confirmed, and the child is suspended": {child().suspended().recorded(3, ago(time.Minute), "1h"), of(child()).confirming("7"),
			record(3, ago(time.Minute), "1m")},
		"the owner was taken off":                                  {every("6h").recorded(3, ago(day), "1m"), of(child()), record(3, ago(day), "1m")},
		"it was orphaned, and the namespace is no longer selected": {every("6h").recorded(3, ago(day), "1m"), of(child()).unselected(), nil},
		"it was orphaned a moment ago": {every("6h").recorded(3, ago(time.Second), "1m"), of(child()).unselected(),
			record(3, ago(time.Second), "1m")},
	} {
		t.Run(name, func(t *testing.T) {
			s := tc.schedule.SnapshotSchedule
			if got := Recorded(s, noon, tc.fleet.objects()...).Status.Retention; !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %v, want %v", toJSON(got), toJSON(tc.want))
			}
			if got := recordsTime(noon, s, originOf(s, tc.fleet.objects())); got != !reflect.DeepEqual(s.Status.Retention, tc.want) {
				t.Errorf("recordsTime is %v", got)
			}
		})
	}
}

// A day-old snapshot would be deleted, one of an hour ago is the newest.
//
// Contract: FLEET-9, FLEET-10, EDIT-4.
func TestGraceOfAChild(t *testing.T) {
	strict := func() scheduleBuilder { return every("6h").suspended().ttl("2h").controlled() }
	long := func() scheduleBuilder { return strict().recorded(3, ago(day), "1m") }
	confirmed := templateOf(strict()).confirming("7")
	lenient := func() fleetBuilder { return templateOf(every("6h").ttl("30d")) }
	for name, tc := range map[string]struct {
		schedule scheduleBuilder
		related  []client.Object
		want     string // how many are deleted, and for what others are spared
	}{
		"no record":                                   {strict(), templateOf(strict()).objects(), "0 SpecChanged"},
		"no record, and the fleet is unknown":         {strict(), nil, "0 SpecChanged"},
		"no record, confirmed":                        {strict(), confirmed.objects(), "1 "},
		"a record without a delay":                    {strict().recorded(3, ago(59*time.Second), ""), nil, "0 SpecChanged"},
		"in the first minute":                         {strict().recorded(3, ago(59*time.Second), "1s"), nil, "0 SpecChanged"},
		"after the first minute":                      {strict().recorded(3, ago(time.Minute), "1m"), nil, "1 "},
		"it confirms itself":                          {strict().recorded(3, ago(time.Second), "1m").confirming("3"), templateOf(strict()).objects(), "0 SpecChanged"},
		"the fleet is gone":                           {strict().recorded(3, ago(time.Second), "1m").confirming("3"), nil, "0 SpecChanged"},
		"without an owner, it confirms itself":        {every("6h").suspended().ttl("2h").confirming("3"), templateOf(strict()).objects(), "0 SpecChanged"},
		"without an owner, in another namespace":      {every("6h").suspended().ttl("2h").confirming("3"), templateOf(strict()).unselected().objects(), "1 "},
		"an older spec, confirmed":                    {strict().minReady(0).recorded(2, ago(day), "1m"), confirmed.objects(), "0 SpecChanged"},
		"its first hour":                              {long().created(ago(59 * time.Minute)), templateOf(strict()).objects(), "0 SnapshotsAdopted"},
		"its first hour, confirmed":                   {long().created(ago(59 * time.Minute)), confirmed.objects(), "0 SnapshotsAdopted"},
		"its first hour, confirmed, without a record": {strict().created(ago(59 * time.Minute)), confirmed.objects(), "0 SnapshotsAdopted"},
		"its first hour, and it confirms itself":      {long().created(ago(59 * time.Minute)).confirming("3"), confirmed.objects(), "0 SnapshotsAdopted"},
		"after its first hour":                        {long().created(ago(time.Hour)), confirmed.objects(), "1 "},
		"another spec than the template's":            {long(), lenient().objects(), "0 SpecChanged"},
		"another spec, confirmed":                     {long(), lenient().confirming("7").objects(), "0 SpecChanged"},
		"another spec, in its first hour":             {long().created(ago(time.Minute)), lenient().objects(), "0 SpecChanged"},
		"another spec, without an owner":              {every("6h").suspended().ttl("2h").recorded(3, ago(day), "1m"), lenient().objects(), "0 SpecChanged"},
		"another spec, no longer selected":            {long(), lenient().unselected().objects(), "0 SpecChanged"},
		"another spec, orphaned and not selected":     {every("6h").suspended().ttl("2h"), lenient().unselected().objects(), "1 "},
		"suspended, its template is not":              {long(), templateOf(every("6h").ttl("2h")).objects(), "1 "},
		"suspended, and no longer selected":           {long(), templateOf(every("6h").ttl("2h")).unselected().objects(), "1 "},
	} {
		t.Run(name, func(t *testing.T) {
			m := mapCase{schedule: tc.schedule, snapshots: series{ready(time.Hour), ready(day)}}
			seen := m.observe()
			seen.Related = append(seen.Related, tc.related...)
			d := m.decider(t)(seen)
			if got := strconv.Itoa(len(d.Delete)) + " " + statusOf(d).Spared.reason(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// Contract: FLEET-10.
func TestUncutSnapshotsOfAChildAreReplaced(t *testing.T) {
	runMap(t, map[string]mapCase{"a PVC that is gone": {
		gone: true, schedule: every("6h").controlled(), snapshots: series{uncut(time.Hour)}, wantDelete: []string{"1h0m0s"}, wantReason: "ClaimGone",
	}})
}

// Nothing enqueues a key when the template is put back before the child was updated.
//
// Contract: FLEET-10.
func TestAChildWithAnotherSpecIsLookedAtAgain(t *testing.T) {
	child := every("6h").suspended().ttl("2h").controlled().recorded(3, ago(day), "1m")
	m := mapCase{gone: true, schedule: child, snapshots: series{ready(time.Hour), ready(day), uncut(time.Hour)}}
	seen := m.observe()
	seen.Related = append(seen.Related, templateOf(every("6h").ttl("30d")).objects()...)
	d := m.decider(t)(seen)
	if len(d.Delete) != 1 || statusOf(d).Spared.changed != 1 || !d.Next.Equal(noon.Add(clockCheck)) {
		t.Errorf("deletes %d, spares %+v, next %s: want the uncut one, one and %s", len(d.Delete), statusOf(d).Spared, d.Next, noon.Add(clockCheck))
	}
}

// A tenant edits a child for a moment, and the ClusterSnapshotSchedule's template waits to be
// written to it: under no other spec is a snapshot taken, and none is called overdue.
//
// Contract: FLEET-10.
func TestAChildTakesNothingUnderAnotherSpec(t *testing.T) {
	daily := func() scheduleBuilder { return every("1d").controlled() }
	often := func() scheduleBuilder { return every("1s").controlled() }
	request := rfc3339(ago(time.Minute))
	deleted := templateOf(daily())
	markDeleting(deleted)
	older := templateOf(daily())
	older.CreationTimestamp = metav1.NewTime(ago(9 * day))
	invalid, unselective := templateOf(cron("x", "")), templateOf(daily())
	unselective.Spec.NamespaceSelector.MatchExpressions = []v1alpha1.LabelSelectorRequirement{{Key: "backup", Operator: "Near"}}
	for name, tc := range map[string]struct {
		schedule scheduleBuilder
		fleet    fleetBuilder
		want     bool
	}{
		"the template's spec":                           {daily(), templateOf(daily()), true},
		"another spec":                                  {often(), templateOf(daily()), false},
		"another spec, and a request":                   {often(), templateOf(daily()).requested(request), false},
		"another spec, confirmed":                       {often().confirming("3"), templateOf(daily()).confirming("7"), false},
		"another spec, without an owner":                {every("1s"), templateOf(daily()), false},
		"another spec, and no longer selected":          {often(), templateOf(daily()).unselected(), false},
		"another template, not written yet":             {daily(), templateOf(every("1h")), false},
		"the same, suspended by the template":           {daily(), templateOf(every("1d").suspended()), true},
		"no child":                                      {every("1s"), templateOf(daily()).unselected(), true},
		"nobody puts it back: the template is bad":      {often(), invalid, true},
		"nobody puts it back: the selector is bad":      {often(), unselective, true},
		"nobody puts it back: the fleet is deleted":     {often(), deleted, true},
		"older than the fleet, which has no part in it": {every("1s"), older, true},
		"older than the fleet, which controls it":       {often(), older, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := mapCase{schedule: tc.schedule, claim: claim("data"), snapshots: series{ready(23 * time.Hour), ready(25 * time.Hour)}}
			seen := m.observe()
			seen.Now, seen.Related = in(time.Hour+time.Minute), tc.fleet.objects()
			d := m.decider(t)(seen)
			if got := len(d.Ensure) > 0; got != tc.want {
				t.Errorf("takes a snapshot: %v, want %v", got, tc.want)
			}
			if status := statusOf(d); !tc.want && (len(status.Problems) > 0 || status.pending != nil || !status.NextSlot.IsZero()) {
				t.Errorf("problems %v, turn %v, next slot %s", status.Problems, status.pending, status.NextSlot)
			}
			s := tc.schedule.SnapshotSchedule
			setStatusOf(noon, s, originOf(s, tc.fleet.objects()), known(1))
			ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
			if says := strings.Contains(ready.Message, "not that of the template of ClusterSnapshotSchedule backup"); says == tc.want {
				t.Errorf("Ready: %s", ready.Message)
			}
		})
	}
}

// A child that takes nothing because its spec is not its template's is not ready for ever: nobody may
// be able to put its spec back. An edit of the child or of the template alone does not make it late.
//
// Contract: FLEET-10, STAT-5.
func TestAChildThatTakesNothingBecomesOverdue(t *testing.T) {
	daily := func() scheduleBuilder { return every("1d").controlled() }
	lenient := func() scheduleBuilder { return daily().ttl("30d") }
	for name, tc := range map[string]struct {
		schedule scheduleBuilder
		template scheduleBuilder
		age      time.Duration
		want     bool
		wantNext time.Time
	}{
		"after a slot":                               {lenient(), daily(), 25 * time.Hour, false, in(23 * time.Hour)},
		"after two slots":                            {lenient(), daily(), 49 * time.Hour, true, in(23 * time.Hour)},
		"after two slots, without an owner":          {every("1d").ttl("30d"), daily(), 49 * time.Hour, true, in(23 * time.Hour)},
		"two slots of an edit only":                  {every("1h").controlled(), daily(), 25 * time.Hour, false, in(time.Hour)},
		"two slots of a new template only":           {daily(), every("1h"), 25 * time.Hour, false, in(time.Hour)},
		"two slots of the template, suspended by it": {lenient(), daily().suspended(), 49 * time.Hour, false, in(23 * time.Hour)},
		"the specs are equal, and one is taken":      {daily(), daily(), 49 * time.Hour, false, in(23 * time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			m := mapCase{schedule: tc.schedule, claim: claim("data"), snapshots: series{ready(tc.age)}}
			seen := m.observe()
			seen.Related = templateOf(tc.template).objects()
			d := m.decider(t)(seen)
			if got := slices.ContainsFunc(statusOf(d).Problems, isOverdue); got != tc.want {
				t.Errorf("overdue: %v, want %v", got, tc.want)
			}
			if !d.Next.Equal(tc.wantNext) {
				t.Errorf("next at %s, want %s", d.Next, tc.wantNext)
			}
		})
	}
}

// Two lives of one PVC under a child differ only in what a tenant writes to the child. None of
// these edits takes a snapshot that is not taken without them, and when the specs are equal again,
// the newest slot has its snapshot.
//
// Contract: FLEET-10.
func TestEditsOfATenantTakeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		interval := rapid.SampledFrom([]v1alpha1.Duration{"1h", "6h", "1d"}).Draw(t, "interval")
		child := func() scheduleBuilder { return every(interval).selecting("db").maxCount(3).controlled() }
		fleet := templateOf(child())
		of := claim("data").of(testDriver).with(func(c *corev1.PersistentVolumeClaim) { c.Labels = map[string]string{"app": "db"} })
		life := func() *claimLife {
			return &claimLife{schedule: child(), claim: of.PersistentVolumeClaim, related: slices.Clip(fleet.objects())}
		}
		untouched, edited := life(), life()
		now := ago(8 * day)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 10*3600).Draw(t, "seconds")) * time.Second)
			if rapid.IntRange(0, 9).Draw(t, "request") == 0 {
				fleet.requested(rfc3339(now))
			}
			drawTenantEdit(t, edited.schedule, fleet, now)
			untouched.pass(t, now)
			edited.pass(t, now)
			for _, o := range edited.snapshots {
				if !slices.ContainsFunc(untouched.snapshots, func(u client.Object) bool { return u.GetName() == o.GetName() }) {
					t.Fatalf("at %v: %s is taken only with the edits, under %s", now, o.GetName(), toJSON(edited.schedule.Spec))
				}
			}
		}
		edited.schedule.Spec = *fleet.Spec.Template.Spec.DeepCopy()
		edited.pass(t, now)
		newest := func(l *claimLife) string { return l.snapshots[len(l.snapshots)-1].GetName() }
		if newest(edited) != newest(untouched) {
			t.Fatalf("the newest is %s, without the edits %s", newest(edited), newest(untouched))
		}
	})
}

// drawTenantEdit changes a child, or puts its spec back. The PVC stays selected.
func drawTenantEdit(t *rapid.T, s scheduleBuilder, f fleetBuilder, now time.Time) {
	switch rapid.SampledFrom([]string{"interval", "cron", "count", "request", "owner", "back", "back"}).Draw(t, "what") {
	case "interval":
		s.Spec.SnapshotInterval, s.Spec.Schedule = "1s", ""
	case "cron":
		s.Spec.SnapshotInterval, s.Spec.Schedule = "", "* * * * *"
	case "count":
		s.maxCount(1).minReady(0)
	case "request":
		s.requested(rfc3339(now))
	case "owner":
		s.OwnerReferences, s.Labels = nil, nil
	case "back":
		s.Spec = *f.Spec.Template.Spec.DeepCopy()
	}
}

// Contract: FLEET-9.
func TestRequestsOfAChildAreTheFleets(t *testing.T) {
	child := func() scheduleBuilder { return every("6h").suspended().controlled() }
	at := rfc3339(ago(time.Minute))
	for name, tc := range map[string]struct {
		schedule scheduleBuilder
		fleet    fleetBuilder
		want     bool
		problem  bool
	}{
		"its own":                                 {child().requested(at), templateOf(child()), false, false},
		"its own, without an owner":               {every("6h").suspended().requested(at), templateOf(child()), false, true},
		"the fleet's, without an owner":           {every("6h").suspended().requested(at), templateOf(child()).requested(at), true, false},
		"an older one of the fleet":               {child().requested(rfc3339(ago(day))), templateOf(child()).requested(at), true, false},
		"its own, malformed":                      {child().requested("noon"), templateOf(child()), false, false},
		"the fleet's":                             {child(), templateOf(child()).requested(at), true, false},
		"the fleet's, malformed":                  {child().requested(at), templateOf(child()).requested("noon"), false, true},
		"the fleet's, which does not select it":   {child().requested(at), templateOf(child()).unselected().requested(at), false, false},
		"that of a schedule in another namespace": {every("6h").suspended().requested(at), templateOf(child()).unselected(), true, false},
		"that of the fleet, in another namespace": {every("6h").suspended(), templateOf(child()).unselected().requested(at), false, false},
		"an ordinary schedule's, malformed":       {every("6h").requested("noon"), templateOf(child()).unselected(), false, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := mapCase{schedule: tc.schedule, claim: claim("data"), snapshots: series{ready(7 * time.Hour)}}
			seen := m.observe()
			seen.Related = append(seen.Related, tc.fleet.objects()...)
			d := m.decider(t)(seen)
			if got := slices.ContainsFunc(d.Ensure, func(want mapcontroller.Desired) bool {
				return want.Object.GetAnnotations()[v1alpha1.AnnotationScheduledAt] == at
			}); got != tc.want {
				t.Errorf("takes a snapshot: %v, want %v", got, tc.want)
			}
			s := tc.schedule.SnapshotSchedule
			setStatusOf(noon, s, originOf(s, tc.fleet.objects()), known(1))
			if got := len(s.Status.Problems) > 0; got != tc.problem {
				t.Errorf("problems: %v", s.Status.Problems)
			}
		})
	}
}

// Contract: EDIT-5, FLEET-9.
func TestSetStatusOfAChildNamesTheFleet(t *testing.T) {
	child := every("6h").controlled().created(ago(time.Minute))
	another := func() fleetBuilder { return templateOf(every("6h").ttl("30d")) }
	for name, tc := range map[string]struct {
		spared spared
		fleet  fleetBuilder
		want   string
		hint   bool
	}{
		"the spec changed":              {spared{changed: 1}, templateOf(child), "SpecChanged", true},
		"confirmed a moment ago":        {spared{changed: 1}, templateOf(child).confirming("7"), "RetentionRunning", false},
		"it found snapshots":            {spared{adopted: 1, changed: 1}, templateOf(child), "SnapshotsAdopted", false},
		"it found snapshots, confirmed": {spared{adopted: 1, changed: 1}, templateOf(child).confirming("7"), "SnapshotsAdopted", false},
		"another spec":                  {spared{changed: 1}, another(), "SpecChanged", false},
		"another spec, confirmed":       {spared{changed: 1}, another().confirming("7"), "SpecChanged", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := child.DeepCopy()
			k := known(1, &keyStatus{Spared: tc.spared})
			k.ServerTime = noon
			setStatusOf(noon, s, originOf(s, tc.fleet.objects()), k)
			for _, c := range s.Status.Conditions {
				if c.Type != v1alpha1.ConditionRetentionPaused {
					continue
				}
				hint := strings.Contains(c.Message, "kubectl annotate clustersnapshotschedule backup --overwrite snapshots.mapcontroller.dev/confirm-generation=")
				edited := strings.HasPrefix(c.Message, "the spec is not that of the template of ClusterSnapshotSchedule backup: 1 of 3 ")
				if c.Reason != tc.want || hint != tc.hint || edited != strings.HasPrefix(name, "another spec") ||
					strings.Contains(c.Message, "annotate snapshotschedule") {
					t.Errorf("got %s: %s", c.Reason, c.Message)
				}
			}
		})
	}
}

// tenancy is a child that a tenant edits, and that the operator puts back.
type tenancy struct {
	editing

	fleet fleetBuilder
	// hostile is since when the spec is not the template's.
	hostile time.Time
}

// A tenant edits spec, labels, owners and annotations of a child, in any order; each edit
// is put back, or stays for as long as the tenant can prevent that. Whatever the operator
// has recorded meanwhile, what it deletes is what the template deletes.
//
// Contract: FLEET-10.
func TestEditsOfATenantDeleteNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := every("6h").suspended().ttl("30d").created(ago(1000 * day)).generation(1).controlled()
		s.Spec.Retention.EditDelay = rapid.SampledFrom([]v1alpha1.Duration{"", "", "1s", "1h"}).Draw(t, "delay")
		e := &tenancy{editing: editing{scheduleBuilder: s, now: noon}, fleet: templateOf(s)}
		if rapid.Bool().Draw(t, "confirmed") {
			e.fleet.confirming("7")
		}
		e.operate()
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			e.stale = e.DeepCopy()
			switch rapid.SampledFrom([]string{"spec", "confirm", "owner", "labels", "put back", "put back", "operate", "operate", "wait"}).Draw(t, "step") {
			case "spec":
				spec := e.Spec.DeepCopy()
				switch rapid.SampledFrom([]string{"ttl", "count", "delay", "suspend"}).Draw(t, "field") {
				case "ttl":
					spec.SnapshotTTL = "1s"
				case "count":
					spec.Retention.MaxCount, spec.Retention.MinReady = new(int32(1)), new(int32(0))
				case "delay":
					spec.Retention.EditDelay = rapid.SampledFrom([]v1alpha1.Duration{"", "1s"}).Draw(t, "their delay")
				case "suspend":
					spec.Suspend = !spec.Suspend
				}
				e.set(spec)
			case "confirm":
				annotate(e, v1alpha1.AnnotationConfirmGeneration, strconv.FormatInt(e.Generation+rapid.Int64Range(0, 1).Draw(t, "generation"), 10))
			case "owner":
				e.OwnerReferences = nil
			case "labels":
				e.Labels = nil
			case "put back":
				e.controlled()
				e.set(e.fleet.Spec.Template.Spec.DeepCopy())
			case "operate":
				e.operate()
			case "wait":
				e.now = e.now.Add(rapid.SampledFrom([]time.Duration{70 * time.Millisecond, time.Second, 59 * time.Second, 2 * time.Hour}).Draw(t, "for"))
			}
			for _, cached := range []*v1alpha1.SnapshotSchedule{e.SnapshotSchedule, e.stale} {
				if deleted := e.deletesBeyondTemplate(t, cached); deleted {
					t.Fatalf("deleted %s after the first edit; generation %d, record %s", e.now.Sub(e.hostile), e.Generation, toJSON(e.Status.Retention))
				}
			}
		}
	})
}

func (e *tenancy) set(spec *v1alpha1.SnapshotScheduleSpec) {
	if reflect.DeepEqual(*spec, e.Spec) {
		return
	}
	e.Spec, e.Generation = *spec, e.Generation+1
	own := *spec
	own.Suspend = e.fleet.Spec.Template.Spec.Suspend
	switch back := reflect.DeepEqual(own, e.fleet.Spec.Template.Spec); {
	case back:
		e.hostile = time.Time{}
	case e.hostile.IsZero():
		e.hostile = e.now
	}
}

// operate does what the status writer does.
func (e *tenancy) operate() {
	s := e.SnapshotSchedule
	if from := originOf(s, e.fleet.objects()); recordsTime(e.now, s, from) {
		s.Status.Retention = recordOf(s, from, e.now.Truncate(time.Second).Add(time.Second))
	}
}

// deletesBeyondTemplate returns whether a snapshot is deleted that the template keeps: all
// are younger than its TTL.
func (e *tenancy) deletesBeyondTemplate(t *rapid.T, cached *v1alpha1.SnapshotSchedule) bool {
	if cached.Generation != e.Generation {
		return false
	}
	left := 3
	for _, s := range []*v1alpha1.SnapshotSchedule{cached, e.SnapshotSchedule} {
		m := mapCase{claim: claim("data"), schedule: scheduleBuilder{s}, snapshots: series{ready(time.Hour), ready(7 * time.Hour), ready(13 * time.Hour)}}
		seen := m.observe()
		seen.Now, seen.Related = e.now, append([]client.Object{}, e.fleet.objects()...)
		left = min(left, len(m.decider(t)(seen).Delete))
	}
	return left > 0
}

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
	"mapcontroller.dev/snapshotschedule/internal/backup"
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
	ref := metav1.NewControllerRef(&v1alpha1.ClusterSnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: s.Name, UID: "fleet-uid"}}, v1alpha1.GroupVersion.WithKind("ClusterSnapshotSchedule"))
	for _, change := range changes {
		change(ref)
	}
	s.OwnerReferences = []metav1.OwnerReference{*ref}
	return s
}

// owned is controlled by the ClusterSnapshotSchedule, and its status says so.
func (s scheduleBuilder) owned() scheduleBuilder { return s.controlled().recordedOwner("fleet-uid") }

func (s scheduleBuilder) orphaned() scheduleBuilder   { s.OwnerReferences = nil; return s }
func (s scheduleBuilder) unrecorded() scheduleBuilder { s.Status.Retention = nil; return s }

// recordedOwner has the record of an owner, for its generation.
func (s scheduleBuilder) recordedOwner(uid string) scheduleBuilder {
	if s.Status.Retention == nil {
		s.recorded(s.Generation, ago(day), childDelay)
	}
	s.Status.Retention.ClusterSchedule = uid
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
		"recorded, without an owner":                {every("6h").recordedOwner("fleet-uid"), of().unselected().objects(), true},
		"recorded, and the fleet is unknown":        {every("6h").recordedOwner("fleet-uid"), nil, true},
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
			p, err := compileFor(tc.schedule.ttl("1s").unrecorded().SnapshotSchedule, origin{}, false, DefaultMaxClockSkew)
			must(t, err)
			m := mapCase{gone: true, snapshots: series{ready(day)}}
			if d := p.Tombstone(m.observe()); len(d.Delete) == 0 {
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
			if c.Governors == nil != (len(tc.namespaces) > 0) {
				t.Error("whether it has governors")
			} else if c.Governors != nil && len(c.Governors(tc.schedule.SnapshotSchedule)) != tc.want {
				t.Errorf("%d governors, want %d", len(c.Governors(tc.schedule.SnapshotSchedule)), tc.want)
			}
			concern := 0 // their events are the schedule's
			for _, kind := range c.Related.Kinds {
				for _, o := range f.objects() {
					if kind.Live && reflect.TypeOf(kind.Object) == reflect.TypeOf(o) && kind.Concerns(o, tc.schedule.SnapshotSchedule) {
						concern++
					}
				}
			}
			if concern != tc.want {
				t.Errorf("%d of them concern it, want %d", concern, tc.want)
			}
			if got := c.Status.Recording.IsDue(noon, tc.schedule.SnapshotSchedule, known(1)); got != tc.child {
				t.Errorf("records the time: %v, want %v", got, tc.child)
			}
			k := known(1)
			k.ServerTime = noon
			c.Status.OfParent(noon, tc.schedule.SnapshotSchedule, k)
			if got := tc.schedule.Status.Retention != nil; got != tc.child {
				t.Errorf("has a record: %v, want %v", got, tc.child)
			}
		})
	}
}

// The child's generation is 3, the ClusterSnapshotSchedule's 7.
//
// Contract: FLEET-9, FLEET-10, FLEET-13.
func TestRecordOfAChild(t *testing.T) {
	child := func() scheduleBuilder { return every("6h").controlled() }
	recorded := func(since time.Time, d v1alpha1.Duration) scheduleBuilder {
		return child().recorded(3, since, d).recordedOwner("fleet-uid")
	}
	owned := func(since time.Time, d v1alpha1.Duration) *v1alpha1.RetentionRecord {
		return recorded(since, d).Status.Retention
	}
	of := func(s scheduleBuilder) fleetBuilder { return templateOf(s) }
	minute := ago(time.Minute)
	for name, tc := range map[string]struct {
		schedule scheduleBuilder
		related  []client.Object
		want     *v1alpha1.RetentionRecord
	}{
		"it always has one":                  {child(), of(child()).objects(), owned(noon, "1m")},
		"a longer delay of its own":          {child().editDelay("1h"), of(every("6h").editDelay("1h")).objects(), owned(noon, "1h")},
		"a shorter one":                      {child().editDelay("1s"), of(child()).objects(), owned(noon, "1m")},
		"a longer one of a tenant":           {child().editDelay("100y"), of(child()).objects(), owned(noon, "1m")},
		"long after an edit":                 {recorded(ago(day), "1m"), of(child()).objects(), owned(ago(day), "1m")},
		"an older record, without the owner": {child().recorded(3, ago(day), "1m"), of(child()).objects(), owned(ago(day), "1m")},
		"the older delay was longer":         {child().recorded(2, ago(day), "1h"), of(child()).objects(), owned(noon, "1h")},
		"that delay has passed":              {recorded(ago(day), "1h"), of(child()).objects(), owned(ago(day), "1m")},
		"the template has no delay any more": {recorded(ago(day), "1h").editDelay("1h"), of(child()).objects(), owned(ago(day), "1h")},
		"it confirms itself":                 {recorded(minute, "1h").confirming("3"), of(child()).objects(), owned(minute, "1h")},
		"it confirms the fleet's generation": {recorded(minute, "1h").confirming("7"), of(child()).objects(), owned(minute, "1h")},
		"confirmed":                          {recorded(minute, "1h"), of(child()).confirming("7").objects(), owned(minute, "1m")},
		"another generation is confirmed":    {recorded(minute, "1h"), of(child()).confirming("3").objects(), owned(minute, "1h")},
		"confirmed, and the child has another spec": {recorded(minute, "1h").ttl("1s"), of(child()).confirming("7").objects(),
			owned(minute, "1h")},
		"confirmed, and the child is suspended as it should be": {recorded(minute, "1h").suspended(),
			of(child()).unselected().confirming("7").objects(), owned(minute, "1m")},
		"the owner was taken off": {recorded(ago(day), "1m").orphaned(), of(child()).objects(), owned(ago(day), "1m")},
		"the owner was taken off, and the namespace is not selected": {recorded(ago(day), "1m").orphaned(), of(child()).unselected().objects(),
			owned(ago(day), "1m")},
		"the fleet is not known":                    {recorded(ago(day), "1m").orphaned(), nil, owned(ago(day), "1m")},
		"the fleet of the name is another":          {recorded(ago(day), "1m").orphaned().recordedOwner("other"), of(child()).unselected().objects(), record(3, ago(day), "1m")},
		"of the name only":                          {every("6h"), of(child()).objects(), record(3, noon, "1m")},
		"it was orphaned, and the fleet is gone":    {every("6h").recorded(3, ago(day), "1m"), of(child()).unselected().objects(), nil},
		"it was orphaned a moment ago":              {every("6h").recorded(3, ago(time.Second), "1m"), of(child()).unselected().objects(), record(3, ago(time.Second), "1m")},
		"controlled by a fleet of another UID only": {child().orphaned().controlled(func(r *metav1.OwnerReference) { r.UID = "other" }), of(child()).objects(), record(3, noon, "1m")},
	} {
		t.Run(name, func(t *testing.T) {
			s := tc.schedule.SnapshotSchedule
			if got := Recorded(s, noon, tc.related...).Status.Retention; !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %v, want %v", toJSON(got), toJSON(tc.want))
			}
			from := originOf(s, tc.related)
			if got := recordsTime(noon, from.decided(s), from); got != !reflect.DeepEqual(s.Status.Retention, tc.want) {
				t.Errorf("recordsTime is %v", got)
			}
		})
	}
}

// Contract: FLEET-13.
func TestTheOwnerIsTakenOffTheRecordOnlyWhenItIsGone(t *testing.T) {
	for name, tc := range map[string]struct {
		listed, decided bool
		want            string
	}{
		"the fleets are not listed yet": {false, true, "fleet-uid"},
		"not every key is decided yet":  {true, false, "fleet-uid"},
		"it is gone":                    {true, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, k := every("6h").recordedOwner("fleet-uid"), known(1)
			if k.ServerTime = noon; !tc.decided {
				k.Totals = nil
			}
			from := originOf(s.SnapshotSchedule, nil)
			from.known = tc.listed
			setStatusOf(noon, s.SnapshotSchedule, from, k)
			if got := s.Status.Retention.ClusterSchedule; got != tc.want {
				t.Errorf("the record has the owner %q, want %q", got, tc.want)
			}
		})
	}
}

// Nothing is taken without the record of the owner, so it must not wait for two clocks to agree.
//
// Contract: FLEET-13.
func TestTheOwnerIsRecordedWhileTheTimeIsNotKnown(t *testing.T) {
	for name, before := range map[string]*v1alpha1.RetentionRecord{"no record": nil, "a record": record(2, ago(day), "1h")} {
		s := every("6h").controlled()
		s.Status.Retention = before
		setStatusOf(noon, s.SnapshotSchedule, originOf(s.SnapshotSchedule, templateOf(every("6h")).objects()), known(1))
		got := s.Status.Retention
		if got.ClusterSchedule != "fleet-uid" || got.Generation == s.Generation || got.EditDelay == "" {
			t.Errorf("%s: got %s", name, toJSON(got))
		}
	}
}

// An API server with an older CRD drops the record, and an object that is too large can't be written.
//
// Contract: FLEET-13.
func TestNoSlotIsMissedForARecordThatIsRefused(t *testing.T) {
	f := templateOf(every("6h"))
	for name, tc := range map[string]struct {
		after   time.Duration
		owned   bool
		creates int
		remark  bool
	}{
		"not recorded, a slot of now":            {0, false, 0, false},
		"not recorded, almost two minutes later": {2*time.Minute - 1, false, 0, false},
		"not recorded, two minutes later":        {2 * time.Minute, false, 1, true},
		"recorded, a slot of now":                {0, true, 1, false},
	} {
		s := every("6h").controlled().created(noon)
		if tc.owned {
			s.recordedOwner("fleet-uid")
		}
		now := noon.Add(tc.after)
		judge, err := NewJudge(judgeScheme(t), s.SnapshotSchedule, Classes{}, f.objects()...)
		must(t, err)
		c := claim("data").created(noon)
		d := judge.Judge(now, Series{MapKey: string(c.UID), Claims: []*corev1.PersistentVolumeClaim{c.PersistentVolumeClaim}})
		if len(d.Create) != tc.creates {
			t.Errorf("%s: creates %d, want %d", name, len(d.Create), tc.creates)
		}
		if want := noon.Add(recordPatience); tc.creates == 0 && !d.Next.Equal(want) {
			t.Errorf("%s: decides again at %v, want %v", name, d.Next, want)
		}
		setStatusOf(now, s.SnapshotSchedule, originOf(s.SnapshotSchedule, f.objects()), known(1))
		message := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady).Message
		if strings.Contains(message, "status.retention.clusterSchedule") != tc.remark {
			t.Errorf("%s: %s", name, message)
		}
	}
}

// A day-old snapshot would be deleted, one of an hour ago is the newest.
//
// Contract: FLEET-9, FLEET-10, EDIT-4.
func TestDelaysOfAChild(t *testing.T) {
	strict := func() scheduleBuilder { return every("6h").suspended().ttl("2h").controlled() }
	long := func() scheduleBuilder { return strict().recorded(3, ago(day), "1m") }
	confirmed := templateOf(strict()).confirming("7")
	lenient := func() fleetBuilder { return templateOf(every("6h").ttl("30d")) }
	for name, tc := range map[string]struct {
		schedule scheduleBuilder
		related  []client.Object
		want     string // how many are deleted, and for what others are kept for now
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
		"another spec than the template's":            {long(), lenient().objects(), "0 "},
		"another spec, confirmed":                     {long(), lenient().confirming("7").objects(), "0 "},
		"another spec, in its first hour":             {long().created(ago(time.Minute)), lenient().objects(), "0 "},
		"another spec, without an owner":              {every("6h").suspended().ttl("2h").recorded(3, ago(day), "1m"), lenient().objects(), "0 SpecChanged"},
		"another spec, no longer selected":            {long(), lenient().unselected().objects(), "0 "},
		"another spec, orphaned and not selected":     {every("6h").suspended().ttl("2h"), lenient().unselected().objects(), "1 "},
		"suspended, its template is not":              {long(), templateOf(every("6h").ttl("2h")).objects(), "0 SpecChanged"},
		"a spec that keeps more than the template's":  {long().ttl("30d"), templateOf(strict()).objects(), "0 SpecChanged"},
		"another spec, recorded, without an owner":    {long().recordedOwner("fleet-uid").orphaned(), lenient().objects(), "0 "},
		"suspended, and no longer selected":           {long(), templateOf(every("6h").ttl("2h")).unselected().objects(), "1 "},
	} {
		t.Run(name, func(t *testing.T) {
			m := mapCase{schedule: tc.schedule, governors: tc.related, snapshots: series{ready(time.Hour), ready(day)}}
			d := m.decider(t)(m.observe())
			if got := strconv.Itoa(len(d.Delete)) + " " + statusOf(d).KeptForNow.reason(); got != tc.want {
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
	fleet := templateOf(every("6h").ttl("3h"))
	m := mapCase{gone: true, schedule: child, governors: fleet.objects(), snapshots: series{ready(time.Hour), ready(day), uncut(time.Hour)}}
	d := m.decider(t)(m.observe())
	if len(d.Delete) != 1 || statusOf(d).KeptForNow.changed != 1 || !d.Next.Equal(noon.Add(clockCheck)) {
		t.Errorf("deletes %d, keeps %+v, next %s: want the uncut one, one and %s", len(d.Delete), statusOf(d).KeptForNow, d.Next, noon.Add(clockCheck))
	}
}

// The PVC has daily slots at 11:00. It is 13:01.
//
// Contract: FLEET-10, FLEET-13.
func TestAScheduleTakesByTheSpecThatItShouldHave(t *testing.T) {
	daily := func() scheduleBuilder { return every("1d").owned() }
	often := func() scheduleBuilder { return every("1s").owned() }
	deleted, older := templateOf(daily()), templateOf(daily())
	markDeleting(deleted)
	older.CreationTimestamp = metav1.NewTime(ago(9 * day))
	invalid, unselective := templateOf(cron("x", "")), templateOf(daily())
	unselective.Spec.NamespaceSelector.MatchExpressions = []v1alpha1.LabelSelectorRequirement{{Key: "backup", Operator: "Near"}}
	now := in(time.Hour + time.Minute)
	hourly, byTemplate, byItself, none := in(time.Hour), ago(time.Hour), now, time.Time{}
	for name, tc := range map[string]struct {
		schedule scheduleBuilder
		related  []client.Object
		want     time.Time // the slot that is taken
		differs  bool
	}{
		"the template's spec":                        {daily(), templateOf(daily()).objects(), byTemplate, false},
		"another spec":                               {often(), templateOf(daily()).objects(), byTemplate, true},
		"another spec, confirmed":                    {often().confirming("3"), templateOf(daily()).confirming("7").objects(), byTemplate, true},
		"an invalid spec":                            {cron("x", "").owned(), templateOf(daily()).objects(), byTemplate, true},
		"suspended by a tenant":                      {daily().suspended(), templateOf(daily()).objects(), byTemplate, true},
		"selecting other PVCs":                       {daily().selecting("none"), templateOf(daily()).objects(), byTemplate, true},
		"another spec, recorded, without an owner":   {often().orphaned(), templateOf(daily()).objects(), byTemplate, true},
		"another spec, and no longer selected":       {often(), templateOf(daily()).unselected().objects(), none, true},
		"no longer selected, without an owner":       {often().orphaned(), templateOf(daily()).unselected().objects(), none, true},
		"no longer selected, and suspended":          {daily().suspended(), templateOf(daily()).unselected().objects(), none, false},
		"another template, not written yet":          {daily(), templateOf(every("1h")).objects(), hourly, true},
		"the same, suspended by the template":        {daily(), templateOf(every("1d").suspended()).objects(), none, true},
		"its owner is not recorded, and due for 1h":  {every("1s").controlled(), templateOf(daily()).objects(), byTemplate, true},
		"the owner of another fleet is recorded":     {every("1s").controlled().recordedOwner("other"), templateOf(daily()).objects(), byTemplate, true},
		"nobody puts it back: the template is bad":   {often(), invalid.objects(), byItself, false},
		"nobody puts it back: the selector is bad":   {often(), unselective.objects(), byItself, false},
		"nobody puts it back: the fleet is deleted":  {often(), deleted.objects(), byItself, false},
		"nobody puts it back: the fleet is gone":     {often(), nil, byItself, false},
		"nobody puts it back: no namespace is known": {often(), templateOf(daily()).objects()[:1], byItself, false},
		"recorded for a fleet that is gone":          {every("1s").recordedOwner("other"), templateOf(daily()).objects(), byItself, false},
		"never owned":                                {every("1s"), templateOf(daily()).objects(), byItself, false},
		"never owned, and not selected":              {every("1s"), templateOf(daily()).unselected().objects(), byItself, false},
		"never owned, older than the fleet":          {every("1s"), older.objects(), byItself, false},
		"never owned, labeled as a child":            {every("1s").labeled(v1alpha1.LabelClusterSchedule, "backup"), templateOf(daily()).objects(), byItself, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := mapCase{schedule: tc.schedule, governors: tc.related, claim: claim("data"), snapshots: series{ready(23 * time.Hour), ready(25 * time.Hour)}}
			p, err := Compile(tc.schedule.SnapshotSchedule, tc.related...)
			must(t, err)
			if !p.Selects(m.claim.PersistentVolumeClaim) {
				t.Error("the PVC is not selected")
			}
			seen := m.observe()
			seen.Now = now
			var got time.Time
			for _, want := range p.Map(seen).Ensure {
				got = backup.SlotOf(want.Object)
			}
			if !got.Equal(tc.want) {
				t.Errorf("takes the slot %s, want %s", got, tc.want)
			}
			if from := originOf(tc.schedule.SnapshotSchedule, tc.related); from.want != nil != tc.differs {
				t.Errorf("differs: %v, want %v", from.want != nil, tc.differs)
			}
		})
	}
}

// A tenant's edit must not put snapshots under the policy of another owner.
//
// Contract: FLEET-13.
func TestAScheduleOwnsByTheSpecThatItShouldHave(t *testing.T) {
	child := every("6h").owned()
	child.Spec.DeletionPolicy = v1alpha1.DeletionDelete
	template := every("6h")
	template.Spec.DeletionPolicy = v1alpha1.DeletionOrphan
	p, err := Compile(child.SnapshotSchedule, templateOf(template).objects()...)
	must(t, err)
	if !Ownership.ByLabels(p.Parent) || Ownership.ByLabels(child.SnapshotSchedule) {
		t.Error("it does not own as its template says")
	}
}

// Contract: FLEET-13, STAT-5.
func TestSpecDiffersForMoreThanAMinute(t *testing.T) {
	failing := &keyStatus{Claim: "data", Problems: []Problem{{Claim: "data", Reason: v1alpha1.ReasonCreateFailed, Message: "quota"}}}
	for name, tc := range map[string]struct {
		since time.Time // of the problem; zero: there is none
		equal bool
		want  string
	}{
		"at first":                  {time.Time{}, false, "SnapshotsFailing"},
		"for less than a minute":    {ago(59 * time.Second), false, "SnapshotsFailing"},
		"for a minute":              {ago(time.Minute), false, "SpecDiffers"},
		"they are equal again":      {ago(time.Minute), true, "SnapshotsFailing"},
		"they have never been else": {time.Time{}, true, "SnapshotsFailing"},
	} {
		t.Run(name, func(t *testing.T) {
			s := every("1h").owned()
			if tc.equal {
				s = every("1d").owned()
			}
			if !tc.since.IsZero() {
				s.Status.Problems = []v1alpha1.Problem{{Reason: v1alpha1.ReasonSpecDiffers, SinceTime: metav1.NewTime(tc.since)}}
			}
			setStatusOf(noon, s.SnapshotSchedule, originOf(s.SnapshotSchedule, templateOf(every("1d")).objects()), known(1, failing))
			ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
			if ready.Reason != tc.want || !strings.Contains(ready.Message, "CreateFailed: quota") {
				t.Errorf("Ready is %s: %s", ready.Reason, ready.Message)
			}
			if first := s.Status.Problems[0].Reason; (first == v1alpha1.ReasonSpecDiffers) == tc.equal {
				t.Errorf("problems %s", toJSON(s.Status.Problems))
			}
		})
	}
}

// A status can be asked for without an engine: nothing is computed again then.
func TestAStatusThatWillChangeNeedsNoEngine(t *testing.T) {
	s := every("1h").owned()
	s.Status.Problems = []v1alpha1.Problem{{Reason: v1alpha1.ReasonSpecDiffers, SinceTime: metav1.NewTime(ago(time.Second))}}
	c, sum := MapController(Options{Stores: NewStores()}, nil, 0), known(1)
	program, err := c.Compile(s.SnapshotSchedule, templateOf(every("1d")).objects()...)
	must(t, err)
	sum.Spec = program.Spec
	c.Status.OfParent(noon, s.SnapshotSchedule, sum)
	if p := s.Status.Problems; len(p) != 1 || p[0].Reason != v1alpha1.ReasonSpecDiffers {
		t.Errorf("problems %s", toJSON(p))
	}
}

// Contract: FLEET-9.
func TestRequestsOfAChildAreTheFleets(t *testing.T) {
	child := func() scheduleBuilder { return every("6h").suspended().owned() }
	at := rfc3339(ago(time.Minute))
	for name, tc := range map[string]struct {
		schedule scheduleBuilder
		fleet    fleetBuilder
		want     bool
		problem  bool
	}{
		"its own":                                 {child().requested(at), templateOf(child()), false, false},
		"its own, recorded, without an owner":     {child().requested(at).orphaned(), templateOf(child()), false, true},
		"its own, never owned":                    {every("6h").suspended().requested(at), templateOf(child()), true, false},
		"the fleet's, recorded, without an owner": {child().orphaned(), templateOf(child()).requested(at), true, false},
		"the fleet's, never owned":                {every("6h").suspended(), templateOf(child()).requested(at), false, false},
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
			m := mapCase{schedule: tc.schedule, governors: tc.fleet.objects(), claim: claim("data"), snapshots: series{ready(7 * time.Hour)}}
			d := m.decider(t)(m.observe())
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

// A shell reads < and > in a command that is pasted as redirections.
//
// Contract: STAT-22.
func TestWhatConfirmsAScheduleCanBePasted(t *testing.T) {
	own, child := every("6h"), every("6h").controlled()
	for name, tc := range map[string]struct {
		schedule scheduleBuilder
		fleet    []client.Object
		want     string
	}{
		"its own":                       {own, nil, "to delete them now: kubectl annotate snapshotschedule -n 'shop' 'backup' --overwrite snapshots.mapcontroller.dev/confirm-generation=3"},
		"a child's":                     {child, templateOf(child).objects(), "to delete them, and what waits in all other namespaces, now: kubectl snapsched confirm --cluster-schedule='backup'"},
		"a child's, of an unread fleet": {child, nil, "namespaces, now: kubectl snapsched confirm --cluster-schedule='backup'"},
	} {
		s := tc.schedule.SnapshotSchedule
		if got := originOf(s, tc.fleet).confirmHint(s); !strings.HasSuffix(got, tc.want) || strings.ContainsAny(got, "<>") {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// Contract: EDIT-5, FLEET-9.
func TestSetStatusOfAChildNamesTheFleet(t *testing.T) {
	child := every("6h").controlled().created(ago(time.Minute))
	another := func() fleetBuilder { return templateOf(every("6h").ttl("30d")) }
	for name, tc := range map[string]struct {
		keptForNow keptForNow
		fleet      fleetBuilder
		want       string
		hint       bool
	}{
		"the spec changed":              {keptForNow{changed: 1}, templateOf(child), "SpecChanged", true},
		"confirmed a moment ago":        {keptForNow{changed: 1}, templateOf(child).confirming("7"), "RetentionRunning", false},
		"it found snapshots":            {keptForNow{adopted: 1, changed: 1}, templateOf(child), "SnapshotsAdopted", false},
		"it found snapshots, confirmed": {keptForNow{adopted: 1, changed: 1}, templateOf(child).confirming("7"), "SnapshotsAdopted", false},
		"another spec":                  {keptForNow{changed: 1}, another(), "SpecChanged", false},
		"another spec, confirmed":       {keptForNow{changed: 1}, another().confirming("7"), "SpecChanged", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := child.DeepCopy()
			k := known(1, &keyStatus{KeptForNow: tc.keptForNow})
			k.ServerTime = noon
			setStatusOf(noon, s, originOf(s, tc.fleet.objects()), k)
			for _, c := range s.Status.Conditions {
				if c.Type != v1alpha1.ConditionRetentionPaused {
					continue
				}
				hint := strings.HasSuffix(c.Message, "; to delete them, and what waits in all other namespaces, now: "+
					"kubectl snapsched confirm --cluster-schedule='backup'")
				edited := strings.HasPrefix(c.Message, "the spec differs from the template of ClusterSnapshotSchedule backup: 1 of 3 ")
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
	if from := originOf(s, e.fleet.objects()); recordsTime(e.now, from.decided(s), from) {
		s.Status.Retention = recordOf(from.decided(s), from, e.now.Truncate(time.Second).Add(time.Second))
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
		snapshots := series{ready(time.Hour), ready(7 * time.Hour), ready(13 * time.Hour)}
		m := mapCase{claim: claim("data"), schedule: scheduleBuilder{s}, governors: e.fleet.objects(), snapshots: snapshots}
		seen := m.observe()
		seen.Now = e.now
		left = min(left, len(m.decider(t)(seen).Delete))
	}
	return left > 0
}

// The workers of all keys of a schedule share its program.
func TestTheOriginOfAProgramIsNotChanged(t *testing.T) {
	stores := NewStores()
	origins, p := originsIn(stores), &program{from: origin{child: true, owned: true}}
	stores.Listed(fleetKind, nil)
	if got := origins(nil, p); p.from.known || !got.known || !got.child || !got.owned {
		t.Errorf("got %+v, the program has %+v", got, p.from)
	}
	if got := origins(every("6h").controlled().SnapshotSchedule, nil); !got.child {
		t.Errorf("without a program: %+v", got)
	}
}

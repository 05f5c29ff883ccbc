// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

const testDriver = "csi.example.com"

// Contract: CLASS-1, CLASS-2, CLASS-3.
func TestChoose(t *testing.T) {
	named := func(name string) v1alpha1.SnapshotTemplateSpec {
		return v1alpha1.SnapshotTemplateSpec{VolumeSnapshotClassName: &name}
	}
	listed := func(names ...v1alpha1.SnapshotClassName) v1alpha1.SnapshotTemplateSpec {
		return v1alpha1.SnapshotTemplateSpec{VolumeSnapshotClassNames: names}
	}
	ours, other := claim("data").of(testDriver), class("other", "other.example.com")
	unknown, byHand, inTree := claim("data"), claim("data").of(noProvisioner), claim("data").of("kubernetes.io/nfs")
	for name, tc := range map[string]struct {
		claim      claimBuilder
		template   v1alpha1.SnapshotTemplateSpec
		classes    classes
		unreadable bool
		want       string // name; empty: the default
		wantReason string
		wantText   string
	}{
		"one default":                                {claim: ours, classes: classes{class("fast", testDriver), plainClass("slow", testDriver), other}},
		"no class of the driver":                     {claim: ours, classes: classes{other}, wantReason: v1alpha1.ReasonNotSnapshottable, wantText: testDriver},
		"no class at all":                            {claim: ours, wantReason: v1alpha1.ReasonNotSnapshottable},
		"no class, and one is named":                 {claim: ours, template: named("other"), classes: classes{other}, wantReason: v1alpha1.ReasonNotSnapshottable},
		"no class, and some are listed":              {claim: ours, template: listed("other"), classes: classes{other}, wantReason: v1alpha1.ReasonNotSnapshottable},
		"no class, and the named one does not exist": {claim: ours, template: named("none"), classes: classes{other}, wantReason: v1alpha1.ReasonWrongSnapshotClass, wantText: "none does not exist; driver csi.example.com has none: create one, or leave the PVC out, with annotation snapshots.mapcontroller.dev/exclude"},
		"no class, and none listed exists":           {claim: ours, template: listed("none", "neither"), classes: classes{other}, wantReason: v1alpha1.ReasonWrongSnapshotClass, wantText: "none of volumeSnapshotClassNames exists: none, neither"},
		"none listed exists":                         {claim: ours, template: listed("none"), classes: classes{class("fast", testDriver)}, wantReason: v1alpha1.ReasonWrongSnapshotClass},
		"no default": {claim: ours, classes: classes{plainClass("fast", testDriver)}, wantReason: v1alpha1.ReasonNoDefaultSnapshotClass,
			wantText: "the only VolumeSnapshotClass of driver csi.example.com, fast, is not its default: kubectl annotate volumesnapshotclass 'fast' --overwrite " + annotationDefaultClass + "=true"},
		"the default of another driver": {claim: ours, classes: classes{plainClass("fast", testDriver), other}, wantReason: v1alpha1.ReasonNoDefaultSnapshotClass},
		"two defaults": {claim: ours, classes: classes{class("fast", testDriver), class("slow", testDriver)}, wantReason: v1alpha1.ReasonNoDefaultSnapshotClass,
			wantText: "2 VolumeSnapshotClasses of driver csi.example.com are its default: fast, slow; name one in the schedule, or leave one the default: kubectl annotate volumesnapshotclass 'slow' " + annotationDefaultClass + "-"},
		"several, none the default": {claim: ours, classes: classes{plainClass("slow", testDriver), plainClass("fast", testDriver)}, wantReason: v1alpha1.ReasonNoDefaultSnapshotClass,
			wantText: "none of the 2 VolumeSnapshotClasses of driver csi.example.com is its default: fast, slow; name one in the schedule, or make one the default: kubectl annotate volumesnapshotclass 'fast' --overwrite "},
		"two defaults, and one is named": {claim: ours, template: named("slow"), classes: classes{class("fast", testDriver), class("slow", testDriver)}, want: "slow"},
		"named":                          {claim: ours, template: named("fast"), classes: classes{plainClass("fast", testDriver)}, want: "fast"},
		"named, of another driver":       {claim: ours, template: named("other"), classes: classes{class("fast", testDriver), other}, wantReason: v1alpha1.ReasonWrongSnapshotClass, wantText: "other.example.com"},
		"named, does not exist":          {claim: ours, template: named("none"), classes: classes{class("fast", testDriver), other}, wantReason: v1alpha1.ReasonWrongSnapshotClass, wantText: "none does not exist; in the schedule, name one of driver csi.example.com: fast"},
		"the first listed":               {claim: ours, template: listed("slow", "fast"), classes: classes{class("fast", testDriver), plainClass("slow", testDriver)}, want: "slow"},
		"the first listed that exists":   {claim: ours, template: listed("none", "fast"), classes: classes{plainClass("fast", testDriver)}, want: "fast"},
		"the first listed of the driver": {claim: ours, template: listed("other", "fast"), classes: classes{other, plainClass("fast", testDriver)}, want: "fast"},
		"none listed fits":               {claim: ours, template: listed("other"), classes: classes{other, class("fast", testDriver)}},
		"none listed fits, no default":   {claim: ours, template: listed("other"), classes: classes{other, plainClass("fast", testDriver)}, wantReason: v1alpha1.ReasonNoDefaultSnapshotClass},

		"unknown driver":                        {claim: unknown, classes: classes{other}},
		"unknown driver, no class at all":       {claim: unknown},
		"unknown driver, named":                 {claim: unknown, template: named("other"), classes: classes{other}, want: "other"},
		"unknown driver, named does not exist":  {claim: unknown, template: named("none"), classes: classes{other}, want: "none"},
		"unknown driver, listed":                {claim: unknown, template: listed("other"), classes: classes{other}, wantReason: v1alpha1.ReasonWrongSnapshotClass, wantText: "unknown"},
		"provisioned by hand":                   {claim: byHand, classes: classes{other}},
		"provisioned by hand, listed":           {claim: byHand, template: listed("other"), classes: classes{other}, wantReason: v1alpha1.ReasonWrongSnapshotClass},
		"in-tree":                               {claim: inTree, classes: classes{class("fast", "kubernetes.io/nfs")}, wantReason: v1alpha1.ReasonNotSnapshottable, wantText: "in-tree"},
		"in-tree, the named one does not exist": {claim: inTree, template: named("none"), classes: classes{class("fast", testDriver)}, wantReason: v1alpha1.ReasonWrongSnapshotClass, wantText: "kubernetes.io/nfs is an in-tree plugin, whose volumes cannot be snapshotted: leave the PVC out"},
		"in-tree, named, may not be read":       {claim: inTree, template: named("none"), unreadable: true, wantReason: v1alpha1.ReasonNotSnapshottable},
		"in-tree, classes may not be read":      {claim: inTree, unreadable: true, wantReason: v1alpha1.ReasonNotSnapshottable},
		"classes may not be read":               {claim: ours, unreadable: true},
		"classes may not be read, one is named": {claim: ours, template: named("fast"), unreadable: true, want: "fast"},
		"classes may not be read, some listed":  {claim: ours, template: listed("fast"), unreadable: true, wantReason: v1alpha1.ReasonWrongSnapshotClass, wantText: "may not read"},
		"other related objects are no classes":  {claim: ours, classes: classes{claim("restore").PersistentVolumeClaim, class("fast", testDriver)}},
	} {
		t.Run(name, func(t *testing.T) {
			got, p := Classes{Known: !tc.unreadable, All: tc.classes}.Choose(tc.claim.PersistentVolumeClaim, &tc.template)
			if p.Reason != tc.wantReason || !strings.Contains(p.Message, tc.wantText) || (p.Message == "") != (p.Reason == "") {
				t.Errorf("problem is %q: %q, want %q with %q", p.Reason, p.Message, tc.wantReason, tc.wantText)
			}
			if tc.wantReason == "" && ptr.Deref(got, "") != tc.want {
				t.Errorf("class is %q, want %q", ptr.Deref(got, ""), tc.want)
			}
		})
	}
}

func TestTheClassThatAScheduleUses(t *testing.T) {
	const other = "other.example.com"
	all := Classes{Known: true, All: classes{
		class("fast", testDriver), plainClass("slow", testDriver), plainClass("far", other), groupClass("group", testDriver, true),
	}}
	template := func(of v1alpha1.SnapshotTemplateSpec) v1alpha1.SnapshotScheduleSpec {
		return v1alpha1.SnapshotScheduleSpec{SnapshotTemplate: v1alpha1.SnapshotTemplate{Spec: of}}
	}
	for name, tc := range map[string]struct {
		spec v1alpha1.SnapshotScheduleSpec
		of   string
		want string
	}{
		"the default":                 {of: testDriver, want: "fast"},
		"no default":                  {of: other},
		"the named":                   {spec: template(v1alpha1.SnapshotTemplateSpec{VolumeSnapshotClassName: ptr.To("slow")}), of: testDriver, want: "slow"},
		"the named, of another":       {spec: template(v1alpha1.SnapshotTemplateSpec{VolumeSnapshotClassName: ptr.To("slow")}), of: other},
		"the listed of the driver":    {spec: template(v1alpha1.SnapshotTemplateSpec{VolumeSnapshotClassNames: []v1alpha1.SnapshotClassName{"slow", "far"}}), of: other, want: "far"},
		"the default of groups":       {spec: v1alpha1.SnapshotScheduleSpec{Group: &v1alpha1.Group{}}, of: testDriver, want: "group"},
		"a group class that is not":   {spec: v1alpha1.SnapshotScheduleSpec{Group: &v1alpha1.Group{VolumeGroupSnapshotClassName: ptr.To("none")}}, of: testDriver},
		"what is no name of a driver": {of: "x: kubectl delete ns prod"},
	} {
		got := ""
		if o := all.Used(&tc.spec, tc.of); o != nil {
			got = o.GetName()
		}
		if got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// Contract: CLASS-1, CLASS-2, CLASS-3, CLASS-8.
func TestMapByClass(t *testing.T) {
	ours := func() claimBuilder { return claim("data").of(testDriver) }
	due := ago(time.Hour)
	wrong := every("6h")
	wrong.Spec.SnapshotTemplate.Spec.VolumeSnapshotClassName = ptr.To("none")
	runMap(t, map[string]mapCase{
		"a class fits": {schedule: every("6h"), claim: ours(), classes: classes{class("fast", testDriver)}, wantCreate: due},
		"no class, no snapshots": {
			schedule: every("6h"), claim: ours(), wantSkip: "NotSnapshottable: no VolumeSnapshotClass belongs to driver " + testDriver,
		},
		"no class, and the named one does not exist": {schedule: wrong, claim: ours(), wantProblem: v1alpha1.ReasonWrongSnapshotClass},
		"lost":                    {schedule: every("6h"), claim: ours().phase(corev1.ClaimLost), wantSkip: "its volume is lost", wantProblem: v1alpha1.ReasonClaimLost},
		"lost and being deleted":  {schedule: every("6h"), claim: ours().phase(corev1.ClaimLost).deleting(), wantSkip: "being deleted"},
		"not Bound, no class":     {schedule: every("6h"), claim: ours().phase(corev1.ClaimPending), wantSkip: "not Bound"},
		"being deleted, no class": {schedule: every("6h"), claim: ours().deleting(), wantSkip: "being deleted"},
		"no class any more": {
			schedule: every("6h"), claim: ours(), snapshots: series{ready(7 * time.Hour)}, wantProblem: v1alpha1.ReasonNoSnapshotClass,
		},
		"no class any more, overdue": {
			schedule: every("6h"), claim: ours(), snapshots: series{ready(5 * day)}, wantProblem: v1alpha1.ReasonNoSnapshotClass,
		},
		"no class any more, and nothing is due": {
			schedule: every("6h"), claim: ours(), snapshots: series{ready(time.Hour)}, wantProblem: v1alpha1.ReasonNoSnapshotClass,
		},
		"no class any more: retention goes on": {
			schedule: every("6h").ttl("2d"), claim: ours(), snapshots: series{ready(3 * day), ready(7 * time.Hour)},
			wantDelete: []string{"72h0m0s"}, wantProblem: v1alpha1.ReasonNoSnapshotClass,
		},
		"no class any more: the floor stays": {
			schedule: every("6h").ttl("1d"), claim: ours(), snapshots: series{ready(3 * day)},
			wantProblem: v1alpha1.ReasonNoSnapshotClass,
		},
		"no class, and only an uncut snapshot that failed": {
			schedule: every("6h"), claim: ours(), snapshots: series{uncut(7 * time.Hour)},
			wantProblem: v1alpha1.ReasonNoSnapshotClass + " " + v1alpha1.ReasonSnapshotFailed,
		},
		"a wrong class": {
			schedule: wrong, claim: ours(), classes: classes{class("fast", testDriver)}, wantProblem: v1alpha1.ReasonWrongSnapshotClass,
		},
		"no default class": {
			schedule: every("6h"), claim: ours(), classes: classes{plainClass("fast", testDriver)},
			wantProblem: v1alpha1.ReasonNoDefaultSnapshotClass,
		},
		"unknown driver": {schedule: every("6h"), wantCreate: due},
	})
}

// A PVC that cannot be snapshotted has no recovery point; one whose class was lost
// keeps its own.
//
// Contract: CLASS-1.
func TestRecoveryPointByClass(t *testing.T) {
	for name, tc := range map[string]struct {
		tc   mapCase
		want time.Time
	}{
		"a class fits":      {mapCase{claim: claim("data").of(testDriver), classes: classes{class("fast", testDriver)}}, ago(9*day + time.Hour)},
		"no class":          {mapCase{claim: claim("data").of(testDriver)}, time.Time{}},
		"no class any more": {mapCase{claim: claim("data").of(testDriver), snapshots: series{ready(3 * day)}}, ago(3 * day)},
	} {
		tc.tc.schedule = every("6h")
		status := statusOf(tc.tc.decider(t)(tc.tc.observe()))
		if !status.RecoveryPoint.Equal(tc.want) {
			t.Errorf("%s: recovery point %v", name, status.RecoveryPoint)
		}
	}
}

// Contract: CLASS-4.
func TestCreatedSnapshotHasTheChosenClass(t *testing.T) {
	for name, tc := range map[string]struct {
		template v1alpha1.SnapshotTemplateSpec
		want     *string
	}{
		"the default": {},
		"named":       {v1alpha1.SnapshotTemplateSpec{VolumeSnapshotClassName: ptr.To("slow")}, ptr.To("slow")},
		"listed":      {v1alpha1.SnapshotTemplateSpec{VolumeSnapshotClassNames: []v1alpha1.SnapshotClassName{"other", "slow"}}, ptr.To("slow")},
	} {
		c := mapCase{schedule: every("6h"), claim: claim("data").of(testDriver), classes: classes{
			class("fast", testDriver), plainClass("slow", testDriver), class("other", "other.example.com")}}
		c.schedule.Spec.SnapshotTemplate.Spec = tc.template
		created := c.decider(t)(c.observe()).Ensure
		if len(created) != 1 || !ptr.Equal(created[0].Object.(*snapshotv1.VolumeSnapshot).Spec.VolumeSnapshotClassName, tc.want) {
			t.Errorf("%s: creates %v", name, toJSON(created))
		}
	}
}

// Contract: CLASS-7.
func TestStatusKnowsWhoseDataStaysInTheStorage(t *testing.T) {
	none := plainClass("none", testDriver)
	for name, tc := range map[string]struct {
		named   *string
		classes classes
		want    bool
	}{
		"the default retains":                 {nil, classes{retaining(class("fast", testDriver)), none}, true},
		"the named one retains":               {ptr.To("slow"), classes{class("fast", testDriver), retaining(plainClass("slow", testDriver))}, true},
		"the named one deletes":               {ptr.To("none"), classes{retaining(class("fast", testDriver)), none}, false},
		"another retains":                     {nil, classes{class("fast", testDriver), retaining(plainClass("slow", testDriver))}, false},
		"the default of another one retains":  {nil, classes{class("fast", testDriver), retaining(class("other", "other.example.com"))}, false},
		"none deletes, as far as can be seen": {ptr.To("gone"), classes{}, false},
	} {
		c := mapCase{schedule: every("6h"), claim: claim("data").of(testDriver), classes: tc.classes}
		c.schedule.Spec.SnapshotTemplate.Spec.VolumeSnapshotClassName = tc.named
		if got := statusOf(c.decider(t)(c.observe())).retained; got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Contract: CLASS-7.
func TestDeletesThatFreeNoSpaceAreCounted(t *testing.T) {
	s, key := measured(t, "retaining")
	of := func(b snapshotBuilder, class *string) mapcontroller.Removal {
		b.Spec.VolumeSnapshotClassName = class
		return mapcontroller.Removal{Object: b.VolumeSnapshot, Reason: "Expired"}
	}
	slow, fast := ptr.To("slow"), ptr.To("fast")
	f := newFlight(1, class("fast", testDriver), retaining(plainClass("slow", testDriver)))
	r := newReporter(nil, clocktesting.NewFakePassiveClock(noon), f.inFlight, testMetrics)
	r.count(key, mapcontroller.Outcome{Deleted: []mapcontroller.Removal{
		of(ready(time.Hour), slow), of(uploading(time.Hour), slow), of(imported(time.Hour), slow),
		of(uncut(time.Hour), slow), of(ready(time.Hour), fast), of(ready(time.Hour), nil), of(ready(time.Hour), ptr.To("gone")),
	}})
	if got := seriesOf(t, client.ObjectKeyFromObject(s))["snapshots_retained_in_storage_total"]; got != 3 {
		t.Errorf("%v, want 3: those that hold data, of a class that retains", got)
	}
}

// Contract: MAP-14.
func TestSelects(t *testing.T) {
	in := func(class *string) claimBuilder {
		return claim("data").with(func(c *corev1.PersistentVolumeClaim) {
			c.Spec.StorageClassName, c.Labels = class, map[string]string{"app": "shop"}
		})
	}
	beta := func(c *corev1.PersistentVolumeClaim) { annotate(c, corev1.BetaStorageClassAnnotation, "fast") }
	excluded := func(c *corev1.PersistentVolumeClaim) { annotate(c, v1alpha1.AnnotationExclude, "false") }
	for name, tc := range map[string]struct {
		claim   claimBuilder
		classes []v1alpha1.StorageClassName
		app     string
		want    bool
	}{
		"any storage class":            {claim: in(nil), want: true},
		"of the storage class":         {claim: in(ptr.To("fast")), classes: []v1alpha1.StorageClassName{"slow", "fast"}, want: true},
		"of another one":               {claim: in(ptr.To("fast")), classes: []v1alpha1.StorageClassName{"slow"}},
		"without a storage class":      {claim: in(nil), classes: []v1alpha1.StorageClassName{"slow"}},
		"with an empty one":            {claim: in(ptr.To("")), classes: []v1alpha1.StorageClassName{"slow"}},
		"by the annotation of old":     {claim: in(ptr.To("slow")).with(beta), classes: []v1alpha1.StorageClassName{"fast"}, want: true},
		"of the class, other labels":   {claim: in(ptr.To("fast")), classes: []v1alpha1.StorageClassName{"fast"}, app: "bank"},
		"of the class, and the labels": {claim: in(ptr.To("fast")), classes: []v1alpha1.StorageClassName{"fast"}, app: "shop", want: true},
		"excluded, with any value":     {claim: in(nil).with(excluded)},
	} {
		t.Run(name, func(t *testing.T) {
			s := every("6h")
			if tc.app != "" {
				s = s.selecting(tc.app)
			}
			s.Spec.StorageClassNames = tc.classes
			p, err := Compile(s.SnapshotSchedule)
			must(t, err)
			stripped := strip(t, stripClaim, tc.claim.DeepCopy())
			if p.Selects(tc.claim.PersistentVolumeClaim) != tc.want || p.Selects(stripped) != tc.want {
				t.Errorf("selects: %v, stripped: %v, want %v", !tc.want, p.Selects(stripped), tc.want)
			}
		})
	}
}

func TestClassChanged(t *testing.T) {
	noted := class("fast", testDriver)
	annotate(noted, "note", "ours")
	for name, tc := range map[string]struct {
		after *snapshotv1.VolumeSnapshotClass
		want  bool
	}{
		"nothing":            {class("fast", testDriver), false},
		"another annotation": {noted, false},
		"no longer default":  {plainClass("fast", testDriver), true},
		"another driver":     {class("fast", "other.example.com"), true},
		"it retains":         {retaining(class("fast", testDriver)), true},
	} {
		if got := classChanged(class("fast", testDriver), tc.after); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// Contract: CLASS-5.
func TestClassesAreReadUnlessRolesMustSuffice(t *testing.T) {
	for _, tc := range []struct {
		namespaces []string
		want       bool
	}{{nil, true}, {[]string{"shop"}, false}} {
		c := MapController(Options{Stores: NewStores(), Namespaces: tc.namespaces}, nil, 0)
		if got := len(c.Related.Kinds) > 0; got != tc.want {
			t.Errorf("in namespaces %v: classes are watched: %v", tc.namespaces, got)
		}
		p, err := c.Compile(every("6h").SnapshotSchedule)
		must(t, err)
		seen := (&mapCase{claim: claim("data").of(testDriver)}).observe()
		seen.Related = c.Related.Objects(every("6h").SnapshotSchedule, mapcontroller.Observation{MapKey: "data-uid"})
		if skipped := statusOf(p.Map(seen)).SkipReason != ""; skipped != tc.want {
			t.Errorf("in namespaces %v: without a class, the PVC is skipped: %v", tc.namespaces, skipped)
		}
	}
}

// Contract: RET-12.
func TestTiersTolerateTheSkewOfTheOption(t *testing.T) {
	for option, want := range map[time.Duration]time.Duration{0: time.Minute, time.Hour: time.Hour} {
		p, err := MapController(Options{Stores: NewStores(), MaxClockSkew: option}, nil, 0).Compile(every("6h").SnapshotSchedule)
		must(t, err)
		if got := p.Spec.(*program).spec.retention.MaxClockSkew; got != want {
			t.Errorf("with option %v: %v, want %v", option, got, want)
		}
	}
}

func TestRelatedAreAllClasses(t *testing.T) {
	p := newPopulation(t)
	for _, o := range []client.Object{class("a", testDriver), class("b", "other.example.com")} {
		must(t, p.classes.Add(o))
	}
	if got := p.related(every("6h").SnapshotSchedule, mapcontroller.Observation{MapKey: "data-uid"}); len(got) != 2 {
		t.Errorf("got %d objects", len(got))
	}
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/limits"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/report/reporttest"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/metrics"
)

// longestName is a valid name of the greatest length.
var longestName = strings.Repeat("n", 253)

// hostileWorld draws what tenants, drivers, webhooks and the API server may have written.
type hostileWorld struct {
	*rapid.T

	driver string
}

func (w hostileWorld) text(label string) string { return reporttest.Hostile().Draw(w.T, label) }
func (w hostileWorld) flip(label string) bool   { return rapid.Bool().Draw(w.T, label) }

func (w hostileWorld) schedule() scheduleBuilder {
	s := every("6h").named(rapid.SampledFrom([]string{"backup", strings.Repeat("s", 63)}).Draw(w.T, "schedule"))
	if w.flip("requested") {
		s = s.requested(w.text("requested at"))
	}
	if w.flip("cluster schedule") {
		s = s.labeled(v1alpha1.LabelClusterSchedule, w.text("cluster schedule"))
	}
	switch rapid.IntRange(0, 7).Draw(w.T, "spec") {
	case 0:
		s.Spec.TimeZone, s.Spec.SnapshotInterval, s.Spec.Schedule = w.text("zone"), "", "@daily"
	case 1:
		s.Spec.SnapshotInterval = v1alpha1.Duration(w.text("interval"))
	case 2:
		s = s.suspended()
	case 3:
		s.Spec.SnapshotTemplate.Spec.VolumeSnapshotClassName = ptr.To(longestName)
	}
	return s
}

func (w hostileWorld) claim(i int) claimBuilder {
	c := claim(fmt.Sprintf("%03d%s", i, rapid.SampledFrom([]string{"", longestName[3:]}).Draw(w.T, "claim")))
	c = c.of(rapid.SampledFrom([]string{w.driver, w.text("driver"), inTree + w.text("in-tree driver")}).Draw(w.T, "driver"))
	if w.flip("requested") {
		c = c.requested(w.text("requested at"))
	}
	if rapid.IntRange(0, 5).Draw(w.T, "pending") == 0 {
		c = c.phase(corev1.ClaimPending)
	}
	return c
}

func (w hostileWorld) outputs() []client.Object {
	return rapid.SampledFrom([][]client.Object{
		nil, series{ready(day).named(longestName).verifyFailed(rfc3339(noon) + " " + w.text("reason"))}.objects(),
		series{uncut(20 * day).named(longestName)}.objects(), series{uploading(2 * day).named(longestName)}.objects(), series{ready(day)}.objects(),
	}).Draw(w.T, "outputs")
}

func (w hostileWorld) failure() mapcontroller.Failure {
	v := ready(0).named(longestName)
	v.Spec.Source.PersistentVolumeClaimName = ptr.To(w.text("source"))
	err := errors.New(w.text("error"))
	if w.flip("from the API server") {
		err = apierrors.NewForbidden(snapshotv1.Resource("volumesnapshots"), v.Name, err)
	}
	verbs := []mapcontroller.Verb{mapcontroller.VerbCreate, mapcontroller.VerbUpdate, mapcontroller.VerbDelete, mapcontroller.VerbAdopt, mapcontroller.VerbRelease}
	return mapcontroller.Failure{Verb: rapid.SampledFrom(verbs).Draw(w.T, "verb"), Object: v.VolumeSnapshot, Err: err}
}

// status returns the key's status after a pass over a PVC.
func (w hostileWorld) status(r *reporter, s scheduleBuilder, p *program, i int) any {
	c := w.claim(i)
	seen := mapcontroller.Observation{
		Now: noon, MapKey: string(c.UID), Selected: []client.Object{c.PersistentVolumeClaim}, Outputs: w.outputs(),
		Related: classes{class("class", w.driver), plainClass("other", w.driver)},
	}
	if w.flip("no default") {
		seen.Related = seen.Related[1:]
	}
	decided, _ := p.mapKey(seen)
	outcome := mapcontroller.Outcome{}
	if w.flip("queued") {
		outcome.Queued = string(limits.InFlight)
	}
	for range rapid.IntRange(0, 3).Draw(w.T, "failures") {
		outcome.Failed = append(outcome.Failed, w.failure())
	}
	return r.report(s.SnapshotSchedule, seen.MapKey, nil, decided.Status, outcome)
}

// Whatever users write, a status is one that the API server accepts, an event too, and
// nothing in them controls a terminal.
//
// Contract: STAT-14.
func TestHostileTextInStatusAndEvents(t *testing.T) {
	schema, err := reporttest.StatusSchema("../../config/crd/bases/snapshots.mapcontroller.dev_snapshotschedules.yaml")
	must(t, err)
	rapid.Check(t, func(t *rapid.T) {
		w := hostileWorld{T: t}
		w.driver = w.text("driver of the classes")
		s, recorder, c := w.schedule(), &reporttest.Recorder{}, clocktesting.NewFakePassiveClock(noon)
		defer testMetrics.Forget(client.ObjectKeyFromObject(s))
		r := newReporter(recorder, c, testInFlight(Options{Clock: c, Stores: NewStores()}, 0), testMetrics)
		summary := known(1)
		p, err := newProgram(s.SnapshotSchedule, origin{}, true)
		switch {
		case err != nil:
			summary.Invalid = err
		default:
			for i := range rapid.IntRange(1, 12).Draw(t, "PVCs") {
				if k := w.status(r, s, p, i); k != nil {
					summary.Keys = append(summary.Keys, k)
				}
			}
		}
		setStatus(noon, s.SnapshotSchedule, summary)

		wrong, err := reporttest.WrongStatus(s.Status, schema)
		if err != nil {
			t.Fatal(err)
		}
		messages := reporttest.MessagesOf(s.Status.Conditions)
		for _, problem := range s.Status.Problems {
			messages = append(messages, problem.Message, problem.PersistentVolumeClaim)
		}
		wrong = append(wrong, reporttest.WrongMessages(append(messages, recorder.Notes...)...)...)
		if len(wrong) > 0 {
			t.Fatal(strings.Join(wrong, "\n"))
		}
	})
}

// However long the parts of a message are, each is in it.
//
// Contract: STAT-14.
func TestLongMessageKeepsAllItsParts(t *testing.T) {
	long := func(i int) string { return fmt.Sprintf("%03d%s", i, strings.Repeat("x", 250)) }
	var all []*keyStatus
	for i := range 100 {
		k := &keyStatus{Claim: long(i), pending: &pendingSlot{driver: driver(long(i))}}
		k.add(Problem{Reason: v1alpha1.ReasonCreateFailed, Message: strings.Repeat("y", 40_000)})
		all = append(all, k, &keyStatus{Claim: long(100 + i), SkipReason: SkipReason(strings.Repeat("z", 40_000))})
	}
	s := every("6h").named(strings.Repeat("s", 63))
	setStatus(noon, s.SnapshotSchedule, known(200, all...))
	got := readyMessage(s)
	for _, part := range []string{
		"100 of 200 PersistentVolumeClaims failing, for example " + long(0) + ": CreateFailed: yyy",
		", 100 waiting (drivers 000xxx", " and 99 more), 100 skipped, for example 100xxx",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%q lacks %q", got, part)
		}
	}
	if len(got) > 1024 {
		t.Errorf("%d bytes", len(got))
	}
}

func readyMessage(s scheduleBuilder) string {
	return meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady).Message
}

// Of all drivers that a tenant may make up, none makes the whole endpoint fail.
//
// Contract: MET-6.
func TestHostileTextInMetrics(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := hostileWorld{T: rt}
		s := w.schedule().named("hostile")
		defer testMetrics.Forget(client.ObjectKeyFromObject(s))
		summary := known(1)
		summary.Spec = specOf(every("6h"))
		measure(noon, s.SnapshotSchedule, summary, setStatus(noon, s.SnapshotSchedule, summary))
		countOutcome(noon, s.SnapshotSchedule, mapcontroller.Outcome{Failed: []mapcontroller.Failure{w.failure()}})

		f := testInFlight(Options{Clock: clocktesting.NewFakePassiveClock(noon), Stores: NewStores()}, 1)
		for i := range rapid.IntRange(1, 3).Draw(rt, "drivers") {
			f.limits.MayCreate(noon, limits.Create{
				Request: limits.Request{MapKey: fmt.Sprint(i)}, Since: noon, Sizes: limits.Sizes{InFlight: 1},
				Snapshot: limits.Snapshot{Limit: w.text("driver"), Name: fmt.Sprint(i)},
			})
		}
		defer testMetrics.Lead(metrics.Sources{Drivers: f.counts, Unprotected: func() map[string]int { return nil }})()
		families, err := testRegistry.Gather()
		if err != nil {
			rt.Fatal(err)
		}
		for _, family := range families {
			for _, m := range family.GetMetric() {
				for _, label := range m.GetLabel() {
					if wrong := reporttest.WrongMessages(label.GetValue()); strings.HasPrefix(family.GetName(), "snapshotschedule_") && len(wrong) > 0 {
						rt.Fatalf("%s: %v", family.GetName(), wrong)
					}
				}
			}
		}
	})
}

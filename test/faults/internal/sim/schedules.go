// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// What users do to schedules.

func (sc *scenario) createSchedule(name string) {
	spec := v1alpha1.SnapshotScheduleSpec{}
	for _, draw := range specParts {
		draw(sc.actionRand, &spec)
	}
	_, err := sc.server.Create(&v1alpha1.SnapshotSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: sc.namespace, Name: name},
		Spec:       spec,
	}, kube.NoRequest)
	must(err)
}

func (sc *scenario) recreateSchedules() {
	for _, name := range sc.schedules {
		if sc.find(kube.Schedules, name) == nil {
			sc.createSchedule(name)
		}
	}
}

// editSchedule draws one part of a spec again, and repairs an invalid spec.
func (sc *scenario) editSchedule() {
	name := pick(sc.actionRand, sc.schedules...)
	if sc.schedule(name) == nil {
		return
	}
	draw := pick(sc.actionRand, specParts...)
	sc.editSpec(name, func(spec *v1alpha1.SnapshotScheduleSpec) {
		draw(sc.actionRand, spec)
		repairSpec(sc.actionRand, spec)
	})
}

// breakSpec makes a spec invalid in a way that only the controller detects, until the next edit or for some time.
func (sc *scenario) breakSpec() {
	name := pick(sc.actionRand, sc.schedules...)
	if sc.schedule(name) == nil {
		return
	}
	sc.editSpec(name, func(spec *v1alpha1.SnapshotScheduleSpec) {
		switch {
		case spec.Schedule == "":
			spec.Jitter = spec.SnapshotInterval
		case oneIn(sc.actionRand, 2):
			spec.Schedule = neverFires
		default:
			spec.TimeZone = unknownZone
		}
	})
	sc.later(between(sc.actionRand, time.Minute, 5*24*time.Hour), func() {
		if sc.schedule(name) != nil {
			sc.editSpec(name, func(spec *v1alpha1.SnapshotScheduleSpec) { repairSpec(sc.actionRand, spec) })
		}
	})
}

const (
	neverFires  = "0 0 30 2 *"
	unknownZone = "Mars/Olympus_Mons"
)

func repairSpec(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	if spec.Schedule == neverFires || spec.TimeZone == unknownZone || spec.Jitter != "" && spec.Jitter == spec.SnapshotInterval {
		drawTimes(r, spec)
	}
}

func (sc *scenario) suspend() {
	name := pick(sc.actionRand, sc.schedules...)
	if sc.schedule(name) == nil {
		return
	}
	sc.editSpec(name, func(spec *v1alpha1.SnapshotScheduleSpec) { spec.Suspend = true })
	sc.later(between(sc.actionRand, time.Hour, 4*24*time.Hour), func() {
		if sc.schedule(name) != nil {
			sc.editSpec(name, func(spec *v1alpha1.SnapshotScheduleSpec) { spec.Suspend = false })
		}
	})
}

func (sc *scenario) deleteSchedule() {
	name := pick(sc.actionRand, sc.schedules...)
	if sc.schedule(name) == nil {
		return
	}
	policy := pick(sc.actionRand, metav1.DeletePropagationBackground, metav1.DeletePropagationBackground,
		metav1.DeletePropagationOrphan, metav1.DeletePropagationOrphan, metav1.DeletePropagationForeground)
	must(sc.server.Delete(kube.Schedules, sc.key(name), metav1.DeleteOptions{PropagationPolicy: &policy}, kube.NoRequest))
	if oneIn(sc.actionRand, 2) { // and creates it again, perhaps before the operator has seen the deletion
		sc.later(between(sc.timingRand, 10*time.Millisecond, 2*time.Minute), func() {
			if sc.find(kube.Schedules, name) == nil {
				sc.createSchedule(name)
			}
		})
	}
}

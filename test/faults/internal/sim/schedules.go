// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

func (l *life) createSchedule(name string) {
	spec := v1alpha1.SnapshotScheduleSpec{}
	for _, draw := range fields {
		draw(l.chance, &spec)
	}
	_, err := l.server.Create(&v1alpha1.SnapshotSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name},
		Spec:       spec,
	}, kube.Someone)
	must(err)
}

func (l *life) fillSchedules() {
	for _, name := range l.schedules {
		if l.find(kube.Schedules, name) == nil {
			l.createSchedule(name)
		}
	}
}

// editSchedule draws one part of a spec anew. What was wrong with it goes.
func (l *life) editSchedule() {
	name := pick(l.chance, l.schedules...)
	if l.schedule(name) == nil {
		return
	}
	draw := pick(l.chance, fields...)
	l.edit(kube.Schedules, name, func(o client.Object) {
		s := o.(*v1alpha1.SnapshotSchedule)
		draw(l.chance, &s.Spec)
		mend(l.chance, &s.Spec)
	})
}

// breakSpec writes what only the controller can see to be wrong; it is mended
// with the next edit, or after a while.
func (l *life) breakSpec() {
	name := pick(l.chance, l.schedules...)
	if l.schedule(name) == nil {
		return
	}
	l.edit(kube.Schedules, name, func(o client.Object) {
		spec := &o.(*v1alpha1.SnapshotSchedule).Spec
		switch {
		case spec.Schedule == "":
			spec.Jitter = spec.SnapshotInterval
		case oneIn(l.chance, 2):
			spec.Schedule = neverFires
		default:
			spec.TimeZone = unknownZone
		}
	})
	l.later(between(l.chance, time.Minute, 5*24*time.Hour), func() {
		if l.schedule(name) != nil {
			l.edit(kube.Schedules, name, func(o client.Object) { mend(l.chance, &o.(*v1alpha1.SnapshotSchedule).Spec) })
		}
	})
}

const (
	neverFires  = "0 0 30 2 *"
	unknownZone = "Mars/Olympus_Mons"
)

func mend(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	if spec.Schedule == neverFires || spec.TimeZone == unknownZone || spec.Jitter != "" && spec.Jitter == spec.SnapshotInterval {
		drawTimes(r, spec)
	}
}

func (l *life) suspend() {
	name := pick(l.chance, l.schedules...)
	if l.schedule(name) == nil {
		return
	}
	l.edit(kube.Schedules, name, func(o client.Object) { o.(*v1alpha1.SnapshotSchedule).Spec.Suspend = true })
	l.later(between(l.chance, time.Hour, 4*24*time.Hour), func() {
		if l.schedule(name) != nil {
			l.edit(kube.Schedules, name, func(o client.Object) { o.(*v1alpha1.SnapshotSchedule).Spec.Suspend = false })
		}
	})
}

func (l *life) deleteSchedule() {
	name := pick(l.chance, l.schedules...)
	if l.schedule(name) == nil {
		return
	}
	policy := pick(l.chance, metav1.DeletePropagationBackground, metav1.DeletePropagationBackground,
		metav1.DeletePropagationOrphan, metav1.DeletePropagationOrphan, metav1.DeletePropagationForeground)
	must(l.server.Delete(kube.Schedules, l.key(name), metav1.DeleteOptions{PropagationPolicy: &policy}, kube.Someone))
	if oneIn(l.chance, 2) { // and is made anew, perhaps before the operator has seen it go
		l.later(between(l.luck, 10*time.Millisecond, 2*time.Minute), func() {
			if l.find(kube.Schedules, name) == nil {
				l.createSchedule(name)
			}
		})
	}
}

// rest leaves nothing to do: no slots, and nothing that may expire.
func (l *life) rest() {
	for _, o := range l.server.List(kube.Schedules) {
		l.edit(kube.Schedules, o.GetName(), func(o client.Object) {
			spec := &o.(*v1alpha1.SnapshotSchedule).Spec
			mend(l.chance, spec) // under an invalid spec the counts stay what they were
			spec.Suspend = true
			o.SetAnnotations(nil)
		})
	}
	for _, o := range l.server.List(kube.Claims) {
		l.edit(kube.Claims, o.GetName(), func(o client.Object) { o.SetAnnotations(nil) })
	}
	for _, o := range l.server.List(kube.Snapshots) {
		l.annotate(o, func(all map[string]string) { all[v1alpha1.AnnotationHold] = "" })
	}
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"math/rand/v2"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/simulation/kube"
)

// What users do to schedules.

func (u *users) recreateSchedules() {
	for _, name := range u.scheduleNames {
		u.createSchedule(name)
	}
}

func (u *users) createSchedule(name string) {
	if u.schedule(name) != nil {
		return
	}
	spec := v1alpha1.SnapshotScheduleSpec{}
	for _, draw := range specParts {
		draw(u.r, &spec)
	}
	u.create(&v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
}

func (u *users) editSpec(name string, change func(*v1alpha1.SnapshotScheduleSpec)) {
	u.edit(kube.Schedules, name, func(o client.Object) { change(&o.(*v1alpha1.SnapshotSchedule).Spec) })
}

// editSchedule draws one part of a spec again, and repairs an invalid spec.
func (u *users) editSchedule() {
	draw := pick(u.r, specParts...)
	u.editSpec(u.anySchedule(), func(spec *v1alpha1.SnapshotScheduleSpec) {
		draw(u.r, spec)
		repairSpec(u.r, spec)
	})
}

const (
	neverFires  = "0 0 30 2 *"
	unknownZone = "Mars/Olympus_Mons"
)

// breakSpec makes a spec invalid in a way that only the controller detects, until the next edit or for some time.
func (u *users) breakSpec() {
	name := u.anySchedule()
	u.editSpec(name, func(spec *v1alpha1.SnapshotScheduleSpec) {
		switch {
		case spec.Schedule == "":
			spec.Jitter = spec.SnapshotInterval
		case oneIn(u.r, 2):
			spec.Schedule = neverFires
		default:
			spec.TimeZone = unknownZone
		}
	})
	u.later(between(u.r, time.Minute, 5*day), func(u *users) {
		u.editSpec(name, func(spec *v1alpha1.SnapshotScheduleSpec) { repairSpec(u.r, spec) })
	})
}

func repairSpec(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	if spec.Schedule == neverFires || spec.TimeZone == unknownZone || spec.Jitter != "" && spec.Jitter == spec.SnapshotInterval {
		drawTimes(r, spec)
	}
}

func (u *users) suspend() {
	name := u.anySchedule()
	u.editSpec(name, func(spec *v1alpha1.SnapshotScheduleSpec) { spec.Suspend = true })
	u.later(between(u.r, time.Hour, 4*day), func(u *users) {
		u.editSpec(name, func(spec *v1alpha1.SnapshotScheduleSpec) { spec.Suspend = false })
	})
}

func (u *users) deleteSchedule() {
	name := u.anySchedule()
	policy := pick(u.r, metav1.DeletePropagationBackground, metav1.DeletePropagationBackground,
		metav1.DeletePropagationOrphan, metav1.DeletePropagationOrphan, metav1.DeletePropagationForeground)
	must(client.IgnoreNotFound(u.server.Delete(kube.Schedules, name, metav1.DeleteOptions{PropagationPolicy: &policy})))
	if oneIn(u.r, 2) { // and creates it again, perhaps before the operator has seen the deletion
		u.later(between(u.r, 10*time.Millisecond, 2*time.Minute), func(u *users) { u.createSchedule(name) })
	}
}

// deleteScheduleUnseen deletes a schedule that has the operator's finalizer.
func (u *users) deleteScheduleUnseen() {
	for _, name := range u.scheduleNames {
		s := u.schedule(name)
		if s != nil && s.DeletionTimestamp == nil && slices.Contains(s.Finalizers, v1alpha1.FinalizerRelease) {
			u.freeze(kube.Schedules, u.hours())
			u.delete(kube.Schedules, name)
			return
		}
	}
}

// specParts draw the parts of a spec, each on its own, so that an edit can draw a single one.
var specParts = []func(*rand.Rand, *v1alpha1.SnapshotScheduleSpec){
	drawTimes, drawSelector, drawTTL,
	func(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
		spec.Retention.Keep = pick(r,
			v1alpha1.Keep{}, v1alpha1.Keep{}, v1alpha1.Keep{Last: 3}, v1alpha1.Keep{Daily: 4},
			v1alpha1.Keep{Hourly: 6, Daily: 3, Weekly: 2}, v1alpha1.Keep{Last: 1, Monthly: 2}, v1alpha1.Keep{Weekly: 3, Yearly: 1},
		)
	},
	func(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
		spec.Retention.MaxCount = nil
		if spec.SnapshotTTL == "" || oneIn(r, 3) {
			spec.Retention.MaxCount = new(pick(r, int32(1), 3, 8, 20))
		}
	},
	func(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
		spec.Retention.MinReady = new(pick(r, int32(0), 1, 1, 2, 4))
	},
	func(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
		spec.Retention.Detached = v1alpha1.DetachedRetention{
			SnapshotTTL: pick[v1alpha1.Duration](r, "", "", "1d", "5d"), MinReady: pick(r, int32(0), 0, 1, 2),
		}
	},
	func(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
		spec.ReadyDeadline = pick[v1alpha1.Duration](r, "1h", "1h", "10m", "4h")
		spec.StartingDeadline = pick[v1alpha1.Duration](r, "", "", "", "2h")
	},
	func(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
		spec.DeletionPolicy = pick(r, v1alpha1.DeletionDelete, v1alpha1.DeletionDelete, v1alpha1.DeletionOrphan)
	},
}

func drawTimes(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	spec.SnapshotInterval, spec.Schedule, spec.TimeZone, spec.Jitter = "", "", "", ""
	if oneIn(r, 3) {
		spec.Schedule = pick[v1alpha1.CronLine](r, "30 2 * * *", "0 */6 * * *", "15 8,20 * * *", "@daily", "5 1 * * *")
		spec.TimeZone = pick(r, "", "Europe/Oslo", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata")
		spec.Jitter = pick[v1alpha1.Duration](r, "", "", "10m")
		return
	}
	spec.SnapshotInterval = pick[v1alpha1.Duration](r, "3h", "6h", "8h", "12h", "1d", "1d", "1d6h")
	spec.Jitter = pick[v1alpha1.Duration](r, "", "", "15m", "1h")
}

func drawSelector(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	spec.Selector = pick(r,
		v1alpha1.LabelSelector{},
		v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{appLabel: "a"}},
		v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{appLabel: "a"}},
		v1alpha1.LabelSelector{MatchExpressions: []v1alpha1.LabelSelectorRequirement{
			{Key: appLabel, Operator: metav1.LabelSelectorOpIn, Values: []v1alpha1.LabelValue{"a", "b"}},
		}},
	)
}

func drawTTL(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	spec.SnapshotTTL = pick[v1alpha1.Duration](r, "2h", "1d", "3d", "3d", "7d", "10d", "")
	if spec.SnapshotTTL == "" && spec.Retention.MaxCount == nil {
		spec.Retention.MaxCount = new(int32(10))
	}
}

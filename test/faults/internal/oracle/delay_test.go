// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

func TestS7JudgesDelaysAfterEdits(t *testing.T) {
	// record is written by the operator, without a new generation.
	record := func(s *script, generation int64, delay v1alpha1.Duration) {
		s.editSchedule(func(o *v1alpha1.SnapshotSchedule) {
			o.Generation--
			o.Status.Retention = nil
			if delay != "" {
				o.Status.Retention = &v1alpha1.RetentionRecord{Generation: generation, SinceTime: metav1.Time{Time: s.now}, EditDelay: delay}
			}
		})
	}
	annotate := func(s *script, generation string) {
		s.editSchedule(func(o *v1alpha1.SnapshotSchedule) {
			o.Generation--
			o.Annotations = map[string]string{v1alpha1.AnnotationConfirmGeneration: generation}
		})
	}
	// edited is a schedule with a delay of an hour that was edited to another one, a minute ago.
	edited := func(delay v1alpha1.Duration, steps func(*script)) func() *script {
		return expired().when(func(s *script) {
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.EditDelay = "1h" })
			record(s, 2, "1h")
			s.wait(2 * time.Hour)
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.EditDelay = delay })
			s.wait(time.Minute)
			steps(s)
			s.guardedDelete("old", "new")
		})
	}
	young := func(age time.Duration, steps func(*script)) func() *script {
		return expired().when(func(s *script) {
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Generation, o.CreationTimestamp = 0, metav1.Time{Time: s.now} })
			s.wait(age)
			steps(s)
			s.guardedDelete("old", "new")
		})
	}
	// appeared has a schedule that appeared two seconds ago with the record of an old edit, and whose edit a second ago removed the delay.
	appeared := func() *script {
		return expired().when(func(s *script) {
			s.gone("snapshotschedules/every")
			o := newSchedule("every")
			o.Spec.Retention.EditDelay = "1h"
			o.Status.Retention = &v1alpha1.RetentionRecord{Generation: 1, SinceTime: o.CreationTimestamp, EditDelay: "1h"}
			s.others(o)
			s.wait(time.Second)
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.EditDelay = "" })
			record(s, 0, "")
			s.wait(time.Second)
			s.guardedDelete("old", "new")
		})()
	}
	nothing := func(*script) {}
	judge(t, S7, []testCase{
		{"an hour after the edit", edited("1h", func(s *script) { record(s, 3, "1h"); s.wait(time.Hour) }), ""},
		{"a minute too early", edited("1h", func(s *script) { record(s, 3, "1h"); s.wait(58 * time.Minute) }), "before the end of the delay"},
		{"without a record", edited("1h", func(s *script) { s.wait(time.Hour) }), "no record of generation 3"},
		{"with a record that was lost", edited("1h", func(s *script) { record(s, 3, "1h"); s.wait(time.Hour); record(s, 0, ""); s.wait(time.Minute) }),
			"no record of generation 3"},
		{"a moment after the record was lost", edited("1h", func(s *script) { record(s, 3, "1h"); s.wait(time.Hour); record(s, 0, "") }),
			"no record of generation 3"},
		{"a moment after the record was lost, shown the record before", edited("1h", func(s *script) {
			record(s, 3, "1h")
			s.wait(time.Hour)
			s.guards("new")
			record(s, 0, "")
		}), ""},
		{"with a record that started anew a moment ago", edited("1h", func(s *script) {
			record(s, 3, "1h")
			s.wait(time.Hour)
			record(s, 0, "")
			record(s, 3, "1h")
		}), "before the end of the delay"},
		{"with the record of the generation before", edited("1h", func(s *script) { record(s, 2, "1m"); s.wait(time.Hour) }),
			"no record of generation 3"},
		{"with a record that started anew", edited("1h", func(s *script) {
			record(s, 3, "1h")
			s.wait(time.Hour)
			record(s, 0, "")
			record(s, 3, "1h")
			s.wait(30 * time.Minute)
		}), "before the end of the delay"},
		{"with a delay that was removed", edited("", func(s *script) { record(s, 0, ""); s.wait(time.Minute) }), "before the end of the delay"},
		{"with a delay that was removed, an hour later", edited("", func(s *script) { s.wait(time.Hour); record(s, 0, "") }), ""},
		{"with a delay that was shortened", edited("1m", func(s *script) { record(s, 3, "1m"); s.wait(30 * time.Minute) }), "before the end of the delay"},
		{"confirmed", edited("1h", func(s *script) { annotate(s, "3"); s.wait(time.Minute) }), ""},
		{"an older generation is confirmed", edited("1h", func(s *script) { annotate(s, "2"); s.wait(time.Minute) }), "no record of generation 3"},
		{"a moment after the confirmation was taken back", edited("1h", func(s *script) { annotate(s, "3"); s.wait(time.Minute); annotate(s, "") }),
			"no record of generation 3"},
		{"a moment after the confirmation was taken back, shown it before", edited("1h", func(s *script) {
			annotate(s, "3")
			s.wait(time.Minute)
			s.guards("new")
			annotate(s, "")
		}), ""},
		{"seconds after the history began", appeared, "before the end of the delay"},
		{"by a new schedule", young(58*time.Minute, nothing), "older than its schedule"},
		{"by a schedule of an hour", young(time.Hour, nothing), ""},
		{"by a new schedule, confirmed", young(time.Minute, func(s *script) { annotate(s, "1"); s.wait(time.Minute) }), "older than its schedule"},
	})
}

func TestS7JudgesDelaysOfChildren(t *testing.T) {
	owned := func(o *v1alpha1.SnapshotSchedule) {
		o.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(gold(), v1alpha1.GroupVersion.WithKind("ClusterSnapshotSchedule"))}
	}
	quietly := func(s *script, change func(*v1alpha1.SnapshotSchedule)) {
		s.editSchedule(func(o *v1alpha1.SnapshotSchedule) {
			o.Generation--
			change(o)
		})
	}
	record := func(s *script, generation int64) {
		quietly(s, func(o *v1alpha1.SnapshotSchedule) {
			o.Status.Retention = &v1alpha1.RetentionRecord{Generation: generation, SinceTime: metav1.Time{Time: s.now}, EditDelay: "1m"}
		})
	}
	// confirms has the ClusterSnapshotSchedule confirm a generation of its own, which is 4.
	confirms := func(s *script, generation string) {
		f := gold()
		f.Name, f.Generation = "every", 4
		f.Spec.Template.Spec = newSchedule("every").Spec
		f.Annotations = map[string]string{v1alpha1.AnnotationConfirmGeneration: generation}
		s.others(f)
	}
	// edited is a child whose third generation is due to a tenant, who suspends it.
	edited := func(steps func(*script)) func() *script {
		return expired().when(func(s *script) {
			s.editSchedule(owned)
			record(s, 2)
			s.wait(2 * time.Hour)
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Suspend = true })
			steps(s)
			s.guardedDelete("old", "new")
		})
	}
	young := func(steps func(*script)) func() *script {
		return expired().when(func(s *script) {
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) {
				owned(o)
				o.Generation, o.CreationTimestamp = 0, metav1.Time{Time: s.now}
			})
			steps(s)
			s.guardedDelete("old", "new")
		})
	}
	judge(t, S7, []testCase{
		{"a minute after an edit", edited(func(s *script) { record(s, 3); s.wait(61 * time.Second) }), ""},
		{"too early", edited(func(s *script) { record(s, 3); s.wait(50 * time.Second) }), "before the end of the delay"},
		{"without a record", edited(func(s *script) { s.wait(time.Hour) }), "no record of generation 3"},
		{"confirmed by itself", edited(func(s *script) {
			quietly(s, func(o *v1alpha1.SnapshotSchedule) {
				o.Annotations = map[string]string{v1alpha1.AnnotationConfirmGeneration: "3"}
			})
		}), "no record of generation 3"},
		{"confirmed", edited(func(s *script) { confirms(s, "4") }), ""},
		{"another generation is confirmed", edited(func(s *script) { confirms(s, "3") }), "no record of generation 3"},
		{"a spec is confirmed that is not the child's", edited(func(s *script) {
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Jitter = "1m" })
			confirms(s, "4")
		}), "no record of generation 4"},
		{"by a new child, confirmed", young(func(s *script) { confirms(s, "4"); s.wait(time.Minute) }), "older than its schedule"},
	})
}

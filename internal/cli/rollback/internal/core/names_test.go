// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
)

// names are those of all that a rollback creates for a PVC.
func names(claim string) []string {
	c := &Claim{Name: claim}
	return []string{RestoredName(claim, "0123abcd"), c.newSafety(&State{Now: noon, lock: &Lock{ID: "0123abcd"}}).Name}
}

// The PVCs of one StatefulSet often differ in their last character only.
func TestNamesOfTheObjectsOfARollback(t *testing.T) {
	long := "data-myrelease-postgresql-ha-postgresql-"
	if a, b := RestoredName(long+"0", "0123abcd"), RestoredName(long+"1", "0123abcd"); a == b {
		t.Errorf("both are restored to %s", a)
	}
	if got := RestoredName("data-db-0", "0123abcd"); got != "data-db-0-rollback-0123abcd" {
		t.Errorf("a short name is changed: %s", got)
	}
}

func TestNamesOfDifferentPVCsAreDifferentAndValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,12}[a-z0-9])?){0,6}`)
		start := part.Draw(t, "start")
		a := start + part.Draw(t, "end")
		b := rapid.OneOf(
			rapid.Just(start+part.Draw(t, "another end")), part, rapid.Just(shortened(a)), // somebody may have a PVC of that name
		).Draw(t, "another")
		for i, name := range names(a) {
			if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 || len(name) > 63 {
				t.Fatalf("%s for %s: %v", name, a, problems)
			}
			if a != b && name == names(b)[i] {
				t.Fatalf("%s is the name for %s and %s", name, a, b)
			}
		}
	})
}

// Whoever has created it, it is not what the rollback restores to.
func TestAForeignPVCUnderTheNameOfTheRestoredOneIsNamed(t *testing.T) {
	s := newCluster(t, 2, false)
	s.advance(3)
	s.create(s.newPVC(RestoredName("data-db-0", "00000000")))
	_, err := s.step(never)
	if err == nil || !strings.Contains(err.Error(), "data-db-0-rollback-00000000 exists, and rollback 00000000 has not created it: delete it first") {
		t.Errorf("it says %v", err)
	}
}

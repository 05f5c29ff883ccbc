// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What is remembered of keys is bounded, and makes no difference.
//
// Contract: GRP-2.
func TestKeysOfGroupsAreRememberedWithinBounds(t *testing.T) {
	s := every("6h").grouped()
	s.Spec.Group.ByLabel = "team"
	p := &program{schedule: s.SnapshotSchedule}
	c := claim("data").member()
	for i := range 3 * maxGroupKeys {
		c.Labels["team"] = fmt.Sprint("team-", i%(2*maxGroupKeys))
		got := p.groupKey(c)
		if want := (&program{schedule: s.SnapshotSchedule}).groupKey(c); got != want {
			t.Fatalf("of value %s: %s, want %s", c.Labels["team"], got, want)
		}
	}
	remembered := 0
	p.groupKeys.Range(func(any, any) bool { remembered++; return true })
	if remembered > maxGroupKeys {
		t.Errorf("%d keys are remembered", remembered)
	}
}

// A pass over a key of a group asks for the keys of all PVCs of the namespace.
func BenchmarkKeysOfGroups(b *testing.B) {
	s := every("6h").grouped()
	s.Spec.Group.ByLabel = "team"
	compiled, err := Compile(s.SnapshotSchedule)
	if err != nil {
		b.Fatal(err)
	}
	var all []client.Object
	for i := range 10_000 {
		c := claim(fmt.Sprint("data-", i)).member()
		c.Labels["team"] = fmt.Sprint("team-", i)
		all = append(all, c.PersistentVolumeClaim)
	}
	for b.Loop() {
		for _, c := range all {
			if compiled.Key(c) == wholeKey {
				b.Fatal(c)
			}
		}
	}
}

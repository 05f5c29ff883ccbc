// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// Two schedules whose keys depend on the same labels share an index, whatever values they ask for.
//
// Contract: ONE-9, GRP-2.
func TestTheIndexOfGroupsFindsExactlyTheirPVCs(t *testing.T) {
	label := rapid.SampledFrom([]string{"app", "team", "tier"})
	value := rapid.SampledFrom([]string{"", "a", "b"})
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string) mapcontroller.Program {
			s := every("6h").grouped()
			s.Spec.Selector.MatchLabels = map[string]v1alpha1.LabelValue{}
			for key, v := range rapid.MapOfN(label, value, 0, 2).Draw(rt, name+" matches") {
				s.Spec.Selector.MatchLabels[key] = v1alpha1.LabelValue(v)
			}
			if len(s.Spec.Selector.MatchLabels) == 0 || rapid.Bool().Draw(rt, name+" by a label") {
				s.Spec.Group.ByLabel = label.Draw(rt, name+" by")
			}
			program, err := Compile(s.SnapshotSchedule)
			must(t, err)
			return program
		}
		program, other := draw("one"), draw("another")
		keys := map[string]bool{}
		var claims []claimBuilder
		for i := range 4 {
			c := claim(fmt.Sprint("data-", i))
			c.Labels = rapid.MapOfN(label, value, 0, 3).Draw(rt, "labels")
			claims = append(claims, c)
			keys[program.Key(c.PersistentVolumeClaim)] = true
		}
		for key := range keys {
			for _, c := range claims {
				shares := program.Key(c.PersistentVolumeClaim) == key && key != string(c.UID)
				if found := program.KeyIndex.Value(c.PersistentVolumeClaim) == program.KeyIndex.Of(key); found != shares {
					rt.Fatalf("%s %v of key %s: found %v, want %v", c.Name, c.Labels, key, found, shares)
				}
			}
		}
		for _, c := range claims {
			if program.KeyIndex.Name == other.KeyIndex.Name && program.KeyIndex.Value(c.PersistentVolumeClaim) != other.KeyIndex.Value(c.PersistentVolumeClaim) {
				rt.Fatalf("two indexes %s find %v by different values", other.KeyIndex.Name, c.Labels)
			}
		}
	})
}

// BenchmarkReconcileGroup is a pass over a group of three PVCs, of so many of the namespace, that is not due.
func BenchmarkReconcileGroup(b *testing.B) {
	for _, claims := range []int{30, 10_000} {
		b.Run(fmt.Sprintf("claims=%d", claims), func(b *testing.B) {
			p, s := newPopulation(b), every("6h").grouped()
			s.Spec.Group.ByLabel, s.Spec.Suspend = "team", true
			must(b, p.schedules.Add(s.SnapshotSchedule))
			for i := range claims {
				c := nthClaim(i).member()
				c.Labels["team"] = fmt.Sprint("team-", i/3)
				must(b, p.claims.Add(transformed(b, stripClaim, c.PersistentVolumeClaim, &corev1.PersistentVolumeClaim{})))
			}
			requests := p.track()
			b.ReportAllocs()
			for b.Loop() {
				p.reconcile(b, requests[0])
			}
		})
	}
}

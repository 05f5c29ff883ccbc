// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"slices"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// caches makes the operator decide on what exists now, but for the kinds of which it sees no further changes.
func (s *script) caches() *history.Cache {
	n := len(s.Changes)
	s.cache = &history.Cache{Schedules: n, Claims: n, Snapshots: n}
	return s.cache
}

// cachesLater makes the operator see everything of a kind up to now.
func (s *script) cachesLater(kinds ...*int) {
	for _, k := range kinds {
		*k = len(s.Changes)
	}
}

// What only the cache shows excuses a delete or a create exactly as far as the cache did not show it.
func TestByCache(t *testing.T) {
	restored := func() client.Object { return restoreOf(ready("old", 0), "restored") }
	capOfTwo := func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.MaxCount = ptr.To(int32(2)) }
	three := given{ready("a", 3*day), ready("b", 2*day), ready("c", day)}
	// stuck is uncut and failed, and its successor covers the slot that is due.
	stuck := given{newSnapshot("stuck", noon.Add(-7*time.Hour))}
	successor := func() client.Object { return newSnapshot("successor", noon) }

	for _, c := range []struct {
		name  string
		build func() *script
		// violated and byCache are the guarantees that are broken, and those that only the cache upholds. Only S4 is judged if it is among
		// them.
		violated, byCache []string
	}{
		{"a restore that the cache does not hold", expired().when(func(s *script) {
			s.caches()
			s.others(restored())
			s.wait(10 * time.Second)
			s.guardedDelete("old", "new")
		}), nil, []string{"S2"}},
		{"a restore that the cache holds, while a later PVC is missing", expired().when(func(s *script) {
			s.others(restored())
			s.caches()
			s.others(newClaim("later"))
			s.wait(10 * time.Second)
			s.guardedDelete("old", "new")
		}), []string{"S2"}, nil},
		{"a restore that the cache holds, while the snapshots lag", expired().when(func(s *script) {
			cache := s.caches()
			s.others(restored(), ready("newer", time.Minute))
			s.cachesLater(&cache.Claims)
			s.wait(10 * time.Second)
			s.guardedDelete("old", "new")
		}), []string{"S2"}, nil},
		{"a restore that the cache does not hold, without the floor", expired().when(func(s *script) {
			s.caches()
			s.others(restored())
			s.wait(10 * time.Second)
			s.guardedDelete("old")
		}), []string{"S2"}, []string{"S2"}},
		{"a cap that counts what a user has deleted", three.when(func(s *script) {
			s.editSchedule(capOfTwo)
			s.caches()
			s.gone("volumesnapshots/b")
			s.wait(10 * time.Second)
			s.guardedDelete("a", "c")
		}), nil, []string{"S2"}},
		{"a cap that counts what the cache no longer holds", three.when(func(s *script) {
			s.editSchedule(capOfTwo)
			s.gone("volumesnapshots/b")
			s.caches()
			s.wait(10 * time.Second)
			s.guardedDelete("a", "c")
		}), []string{"S2"}, nil},
		{"a cap beyond what the cache holds", three.when(func(s *script) {
			s.editSchedule(capOfTwo)
			s.caches()
			s.gone("volumesnapshots/a")
			s.wait(10 * time.Second)
			s.guardedDelete("b", "c")
		}), []string{"S2"}, nil},
		{"a cap of a spec that the API server no longer holds", three.when(func(s *script) {
			s.editSchedule(capOfTwo)
			s.caches()
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.MaxCount = nil })
			s.wait(10 * time.Second)
			s.guardedDelete("a", "c")
		}), []string{"S2"}, nil},
		{"a floor that the cache holds and the live reads do not", expired().when(func(s *script) {
			s.caches()
			s.editSnapshot("new", func(o *snapshotv1.VolumeSnapshot) { o.Status.ReadyToUse = ptr.To(false) })
			s.wait(10 * time.Second)
			s.guardedDelete("old", "new")
		}), []string{"S2"}, nil},
		{"a cap that counts what was read live for another decision", three.when(func(s *script) {
			s.editSchedule(capOfTwo)
			same := *s.caches()
			s.gone("volumesnapshots/b")
			s.wait(10 * time.Second)
			s.get("volumesnapshots/b")
			s.cache = &same
			s.guardedDelete("a", "c")
		}), nil, []string{"S2"}},
		{"a cap that counts what was read live for the decision", three.when(func(s *script) {
			s.editSchedule(capOfTwo)
			s.caches()
			s.gone("volumesnapshots/b")
			s.wait(10 * time.Second)
			s.get("volumesnapshots/b")
			s.guardedDelete("a", "c")
		}), []string{"S2"}, nil},
		{"a slot that the cache shows as due", stuck.when(func(s *script) {
			s.caches()
			s.others(successor())
			s.wait(10 * time.Second)
			s.guardedDelete("stuck")
		}), nil, []string{"S2"}},
		{"a slot that the cache shows as covered", stuck.when(func(s *script) {
			s.others(successor())
			s.caches()
			s.wait(10 * time.Second)
			s.guardedDelete("stuck")
		}), []string{"S2"}, nil},
		{"a slot that is taken again by a spec of before the delete", given{ready("a", 0)}.when(func(s *script) {
			cache := s.caches()
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.SnapshotTTL = "1h" })
			s.deletes("a")
			s.cachesLater(&cache.Claims, &cache.Snapshots)
			s.creates(again("a"))
		}), nil, []string{"S4"}},
		{"a slot that is taken again by the spec of the delete", given{ready("a", 0)}.when(func(s *script) {
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.SnapshotTTL = "1h" })
			s.caches()
			s.deletes("a")
			s.creates(again("a"))
		}), []string{"S4"}, nil},
		{"a slot that another snapshot covers, by a spec of before it", given{}.when(func(s *script) {
			s.caches()
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.SnapshotTTL = "1h" })
			s.creates(newSnapshot("a", noon))
			s.creates(again("b"))
		}), []string{"S4"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &c.build().History
			found := s2(h)
			if slices.Contains(slices.Concat(c.violated, c.byCache), "S4") {
				found = s4(h)
			}
			if got := guarantees(found.Violations); !slices.Equal(got, c.violated) {
				t.Errorf("violated %v, want %v: %v", got, c.violated, found.Violations)
			}
			if got := guarantees(found.ByCache); !slices.Equal(got, c.byCache) {
				t.Errorf("by the cache %v, want %v: %v", got, c.byCache, found.ByCache)
			}
		})
	}
}

func guarantees(all []Violation) (names []string) {
	for _, v := range all {
		names = append(names, v.Oracle)
	}
	return names
}

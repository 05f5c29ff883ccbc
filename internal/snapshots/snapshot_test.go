// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Contract: MAP-6.
func TestSnapshotName(t *testing.T) {
	slot := time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)
	long := strings.Repeat("a", 36)
	tests := map[string]struct{ claim, want string }{
		"short":                             {"data", "data-20260615120000"},
		"one letter":                        {"d", "d-20260615120000"},
		"dots are kept":                     {"data.db-0", "data.db-0-20260615120000"},
		"as long as fits":                   {long + "b", long + "b-20260615120000"},
		"too long: cut":                     {long + "bcd", long + "b-20260615120000"},
		"cut before a dash":                 {long + "-data", long + "-20260615120000"},
		"cut before a dot":                  {long + ".data", long + "-20260615120000"},
		"cut before dashes":                 {long[1:] + "--x", long[1:] + "-20260615120000"},
		"the longest name that a PVC has":   {strings.Repeat("x", 253), strings.Repeat("x", 37) + "-20260615120000"},
		"nothing but dashes after a letter": {"a" + strings.Repeat("-", 60) + "b", "a-20260615120000"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := snapshotName("schedule", "claim", tc.claim, slot)
			rest, hash := got[:len(got)-hashLength-1], got[len(got)-hashLength-1:]
			if rest != tc.want || !regexp.MustCompile(`^-[a-z2-7]{10}$`).MatchString(hash) {
				t.Errorf("got %s, want %s-<hash>", got, tc.want)
			}
			if len(got) > 63 || len(validation.IsDNS1123Subdomain(got)) > 0 {
				t.Errorf("%s is not a valid name of at most 63 characters", got)
			}
		})
	}
}

// The name must never change between releases: a controller that was upgraded
// would take every current slot again.
//
// Contract: MAP-5.
func TestSnapshotNameNeverChanges(t *testing.T) {
	slot := time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)
	const want = "data-20260615120000-zviygfbe35"
	if got := snapshotName("1f2e", "3d4c", "data", slot); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// drawClaimName draws a valid name of a PVC.
func drawClaimName(t *rapid.T) string {
	name := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?){0,6}`).
		Filter(func(s string) bool { return len(validation.IsDNS1123Subdomain(s)) == 0 })
	return name.Draw(t, "name")
}

type nameInput struct {
	schedule, uid types.UID
	claim         string
	slot          int64
}

func drawNameInput(t *rapid.T) nameInput {
	// Concatenated without a separator, some of them are equal. A UID has no slash.
	uid := rapid.SampledFrom([]types.UID{"u", "u1", "1", "11", "1u"})
	return nameInput{
		schedule: uid.Draw(t, "schedule"),
		uid:      uid.Draw(t, "uid"),
		slot:     rapid.Int64Range(0, 253402300799).Draw(t, "slot"),
	}
}

func (i nameInput) name() string {
	return snapshotName(i.schedule, i.uid, i.claim, time.Unix(i.slot, 0))
}

// Contract: MAP-6.
func TestSnapshotNameIsValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawNameInput(t)
		in.claim = drawClaimName(t)
		got := in.name()
		if len(got) > 63 {
			t.Errorf("%s has %d characters", got, len(got))
		}
		if errs := validation.IsDNS1123Subdomain(got); len(errs) > 0 {
			t.Errorf("%s: %v", got, errs)
		}
	})
}

// Names differ if and only if schedule, PVC or slot differ.
//
// Contract: MAP-5.
func TestSnapshotNameDependsOnScheduleClaimAndSlot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawNameInput(t), drawNameInput(t)
		a.claim = drawClaimName(t)
		b.claim = a.claim
		if (a == b) != (a.name() == b.name()) {
			t.Errorf("%+v is %s, %+v is %s", a, a.name(), b, b.name())
		}
		zone := time.FixedZone("", rapid.IntRange(-50000, 50000).Draw(t, "zone"))
		elsewhere := snapshotName(a.schedule, a.uid, a.claim, time.Unix(a.slot, 0).In(zone))
		if elsewhere != a.name() {
			t.Errorf("in another time zone it is %s, not %s", elsewhere, a.name())
		}
	})
}

// Two managers know different versions of a schedule, and of a PVC, when a slot is due. One that is created under the name of the other is
// refused.
//
// Contract: MAP-7.
func TestTheNameOfANewSnapshotIsTheSameForEveryVersionOfItsScheduleAndPVC(t *testing.T) {
	s, c := every("6h"), claim("data")
	before, group := snapshotOf(s, c, nil, noon).Name, groupName(s, "g-key", noon)
	s.ResourceVersion, s.Generation, s.Labels, s.Spec.SnapshotTTL = "2", 2, map[string]string{"tier": "gold"}, "1d"
	s.Status.ObservedGeneration, s.DeletionTimestamp = 2, &metav1.Time{Time: noon}
	c.ResourceVersion, c.Generation, c.Labels = "2", 2, map[string]string{"app": "db"}
	if after := snapshotOf(s, c, ptr.To("fast"), noon.Add(time.Millisecond)).Name; after != before {
		t.Errorf("its name is %s, and was %s", after, before)
	}
	if after := groupName(s, "g-key", noon.Add(time.Millisecond)); after != group {
		t.Errorf("the name of a group snapshot is %s, and was %s", after, group)
	}
}

// Contract: MAP-3.
func TestNewSnapshot(t *testing.T) {
	s := every("6h")
	s.Spec.SnapshotTemplate = v1alpha1.SnapshotTemplate{
		Metadata: v1alpha1.SnapshotTemplateMetadata{
			Labels:      map[string]v1alpha1.LabelValue{"tier": "gold"},
			Annotations: map[string]string{"note": "ours"},
		},
	}
	slot := noon.In(time.FixedZone("", 3600))
	got := snapshotOf(s, claim("data"), ptr.To("fast"), slot)
	if got.Name != snapshotName(s.UID, "data-uid", "data", noon) {
		t.Errorf("name is %s", got.Name)
	}
	if got.Labels["tier"] != "gold" || got.Labels[v1alpha1.LabelClaim] != "data" || len(got.Labels) != 2 {
		t.Errorf("labels are %v", got.Labels)
	}
	if got.Annotations["note"] != "ours" || got.Annotations[v1alpha1.AnnotationScheduledAt] != "2026-06-15T12:00:00Z" {
		t.Errorf("annotations are %v", got.Annotations)
	}
	if *got.Spec.Source.PersistentVolumeClaimName != "data" || *got.Spec.VolumeSnapshotClassName != "fast" {
		t.Errorf("spec is %+v", got.Spec)
	}
	if got.Spec.Source.VolumeSnapshotContentName != nil {
		t.Error("the source is a VolumeSnapshotContent")
	}
	if len(s.Spec.SnapshotTemplate.Metadata.Annotations) != 1 {
		t.Error("the cached schedule was changed")
	}
}

// Contract: MAP-4.
func TestNewSnapshotWithoutTemplate(t *testing.T) {
	for name, labels := range map[string]int{strings.Repeat("a", 63): 1, strings.Repeat("a", 64): 0} {
		got := snapshotOf(every("6h"), claim(name), nil, noon)
		if got.Spec.VolumeSnapshotClassName != nil || len(got.Labels) != labels || len(got.Annotations) != 1 {
			t.Errorf("got %+v, want the default class and no annotation but scheduled-at", got)
		}
	}
}

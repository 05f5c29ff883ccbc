// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/limits"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// What holds for a PVC holds for a group.
//
// Contract: FLEET-13.
func TestAGroupOfAChildIsNotTakenBeforeItsOwnerIsRecorded(t *testing.T) {
	f := templateOf(every("6h").grouped())
	for name, tc := range map[string]struct {
		schedule scheduleBuilder
		after    time.Duration
		want     bool
	}{
		"not recorded":                    {every("6h").grouped().controlled(), 0, false},
		"not recorded, two minutes later": {every("6h").grouped().controlled(), 2 * time.Minute, true},
		"recorded":                        {every("6h").grouped().owned(), 0, true},
	} {
		program, err := Compile(tc.schedule.created(noon).SnapshotSchedule, f.objects()...)
		must(t, err)
		a := claim("a").member().created(noon).PersistentVolumeClaim
		d := program.Map(mapcontroller.Observation{Now: noon.Add(tc.after), MapKey: wholeKey, Selected: []client.Object{a}})
		if got := len(d.Ensure) == 1; got != tc.want {
			t.Errorf("%s: creates %v", name, namesOfDesired(d))
		}
		if want := noon.Add(recordPatience); !tc.want && !d.Next.Equal(want) {
			t.Errorf("%s: decides again at %v, want %v", name, d.Next, want)
		}
	}
}

func namesOfDesired(d mapcontroller.Decision) (names []string) {
	for _, o := range d.Ensure {
		names = append(names, o.Object.GetName())
	}
	return names
}

const theGuess = "the limits are a guess"

// The limits of a driver that no PVC of the group names, and what they make wait, or refuse.
//
// Contract: LIMIT-9.
func TestAGuessedLimitOfAGroupSaysSo(t *testing.T) {
	for driver, guessed := range map[string]bool{"": true, testDriver: false} {
		a, b := claim("a"), claim("b")
		if driver != "" {
			a, b = a.of(testDriver), b.of(testDriver)
		}
		tc := groupCase{
			claims: []claimBuilder{a, b}, groups: []groupBuilder{group(7*time.Hour, "a b", "a b")},
			related: []client.Object{annotated(groupClass("x", testDriver, true), v1alpha1.AnnotationMaxPerVolume, "1")},
		}
		problems := statusOf(tc.decide(t)).Problems
		if len(problems) == 0 || problems[0].Reason != v1alpha1.ReasonVolumeLimit || strings.Contains(problems[0].Message, theGuess) != guessed {
			t.Errorf("driver %q: %+v", driver, problems)
		}
	}
}

// Contract: LIMIT-9, FLIGHT-5.
func TestASlotThatWaitsForAGuessedLimitSaysSo(t *testing.T) {
	for driver, guessed := range map[string]bool{"": true, testDriver: false} {
		c, a := claim("data"), claim("a")
		if driver != "" {
			c, a = c.of(driver), a.of(driver)
		}
		single := mapCase{schedule: every("6h"), claim: c, snapshots: series{ready(13 * time.Hour)}, classes: classes{class("fast", testDriver)}}
		grouped := groupCase{
			claims: []claimBuilder{a}, groups: []groupBuilder{group(13*time.Hour, "a", "a")},
			related: []client.Object{groupClass("x", testDriver, true)},
		}
		for of, status := range map[string]*keyStatus{
			"of a PVC":   statusOf(single.decider(t)(single.observe())),
			"of a group": statusOf(grouped.decide(t)),
		} {
			late := &keyStatus{pending: &pendingSlot{slot: status.pending.slot, late: true}}
			found := afterWrites(status, late, mapcontroller.Outcome{})
			if len(found) != 1 || strings.Contains(found[0].Message, theGuess) != guessed {
				t.Errorf("%s, driver %q, too old: %+v", of, driver, found)
			}
			found = afterWrites(&keyStatus{}, status, mapcontroller.Outcome{Queued: string(limits.Pending)})
			if len(found) != 1 || !isOverdue(found[0]) || strings.Contains(found[0].Message, theGuess) != guessed {
				t.Errorf("%s, driver %q, overdue: %+v", of, driver, found)
			}
		}
	}
}

// A failed group snapshot that was cut makes place only in a volume whose driver is known by more than what PVCs say.
//
// Contract: LIMIT-6.
func TestAGroupSnapshotMakesPlaceOnlyForAProvenDriver(t *testing.T) {
	strict := annotated(groupClass("strict", "strict.example.com", true), v1alpha1.AnnotationMaxPerVolume, "3")
	for name, tc := range map[string]struct {
		named bool
		taken string // the class in the group snapshots
		of    string // what the PVC says
		want  []string
	}{
		"the PVC says it":                    {of: "strict.example.com"},
		"the newest that was cut has it":     {of: "strict.example.com", taken: "strict", want: []string{"g20h0m0s"}},
		"the newest that was cut has other":  {of: "strict.example.com", taken: "fast"},
		"the schedule names the class":       {of: "strict.example.com", named: true, want: []string{"g20h0m0s"}},
		"the PVC says nothing":               {},
		"it says nothing, and the other has": {taken: "strict", want: []string{"g20h0m0s"}},
	} {
		t.Run(name, func(t *testing.T) {
			failed := group(20*time.Hour, "a", "")
			failed.Status.ReadyToUse = nil
			must(t, json.Unmarshal([]byte(`{"error":{"message":"no"}}`), failed.Status))
			groups := []groupBuilder{group(30*time.Hour, "a", "a"), failed, group(7*time.Hour, "a", "a")}
			for _, g := range groups {
				if tc.taken != "" {
					g.Spec.VolumeGroupSnapshotClassName = &tc.taken
				}
			}
			s := every("6h").ttl("10d").readyDeadline("1h").grouped()
			if tc.named {
				s = s.groupClass("strict")
			}
			a := claim("a")
			if tc.of != "" {
				a = a.of(tc.of)
			}
			gc := groupCase{schedule: s, claims: []claimBuilder{a}, groups: groups, related: []client.Object{strict, groupClass("fast", testDriver, true)}}
			if got := deletesOf(gc.decide(t)); !slices.Equal(got, tc.want) {
				t.Errorf("deletes %v, want %v", got, tc.want)
			}
		})
	}
}

// Without it, the limits of a volume would count what an earlier volume of the PVC has.
//
// Contract: MAP-3, LIMIT-3.
func TestAGroupSnapshotRecordsTheVolumesOfItsPVCs(t *testing.T) {
	s := every("6h").grouped()
	a, b := claim("a").member(), claim("b").member()
	a.Spec.VolumeName = "pv-a"
	of := func(claims ...claimBuilder) *groupv1.VolumeGroupSnapshot {
		all := &subject{key: wholeKey, group: "backup"}
		for _, c := range claims {
			all.claims = append(all.claims, c.PersistentVolumeClaim)
		}
		return newSnapshot(s.SnapshotSchedule, all, nil, noon).(*groupv1.VolumeGroupSnapshot)
	}
	v := of(a, b)
	if got := v.Annotations[v1alpha1.AnnotationVolume]; got != `{"a":"pv-a"}` || backup.VolumesOf(v)["a"] != "pv-a" {
		t.Errorf("records %s, read as %v", got, backup.VolumesOf(v))
	}
	if text, has := of(b).Annotations[v1alpha1.AnnotationVolume]; has {
		t.Errorf("records %q of no volume", text)
	}
}

// Contract: CLASS-8, GRP-4.
func TestALostPVCOfAGroupIsAProblemOfItsOwn(t *testing.T) {
	lost := claim("a").phase(corev1.ClaimLost)
	unlabeled := every("6h").grouped()
	unlabeled.Spec.Group.ByLabel = "instance"
	for name, tc := range map[string]struct {
		decision mapcontroller.Decision
		want     []string
	}{
		"one of two": {(&groupCase{claims: []claimBuilder{lost, claim("b")}}).decide(t), []string{v1alpha1.ReasonClaimLost, v1alpha1.ReasonGroupStopped}},
		"all":        {(&groupCase{claims: []claimBuilder{lost}}).decide(t), []string{v1alpha1.ReasonClaimLost}},
		"one without the label of the group": {
			(&groupCase{schedule: unlabeled, claims: []claimBuilder{lost}, change: func(seen *mapcontroller.Observation) { seen.MapKey = "a-uid" }}).decide(t),
			[]string{v1alpha1.ReasonClaimLost},
		},
	} {
		var reasons []string
		for _, p := range statusOf(tc.decision).Problems {
			if reasons = append(reasons, p.Reason); p.Reason == v1alpha1.ReasonClaimLost && p.Claim != "a" {
				t.Errorf("%s: of PVC %q", name, p.Claim)
			}
		}
		if slices.Sort(reasons); !slices.Equal(reasons, tc.want) {
			t.Errorf("%s: problems %v, want %v", name, reasons, tc.want)
		}
	}
}

// Contract: STAT-22.
func TestProblemsOfGroupsEndWithTheCommandThatHelps(t *testing.T) {
	apart, long := every("6h").grouped(), "x"+strings.Repeat("-x", 95)
	apart.Spec.Group.ByLabel = "instance"
	labeled := func(name string) claimBuilder {
		c := claim(name).member()
		c.Labels["instance"] = "one"
		return c
	}
	for name, tc := range map[string]struct {
		of   groupCase
		want string // the end of the message
	}{
		"a PVC is not bound": {
			groupCase{claims: []claimBuilder{claim("a"), claim("b").phase(corev1.ClaimPending)}},
			"because of PVC b: not Bound; why: kubectl describe pvc -n 'shop' 'b'",
		},
		"the API is missing":       {groupCase{missing: true}, "; what is installed: kubectl api-resources --api-group=groupsnapshot.storage.k8s.io"},
		"the labels match another": {groupCase{others: []claimBuilder{claim("x").member()}}, "not by an annotation: kubectl label pvc -n 'shop' 'x' 'app-'"},
		"the label of groups, too": {
			groupCase{schedule: apart, claims: []claimBuilder{labeled("a")}, others: []claimBuilder{labeled("x")}, change: func(seen *mapcontroller.Observation) {
				seen.MapKey = groupKeyOf("instance", "one")
			}},
			"'x' 'instance-'",
		},
		"a command that is too long": {groupCase{others: []claimBuilder{claim(long).member(), claim("y" + long[1:]).member()}}, "not by an annotation"},
		"several drivers": {
			groupCase{claims: []claimBuilder{claim("a").of("a.example.com"), claim("b").of("b.example.com")}, related: []client.Object{groupClass("x", "a.example.com", true), groupClass("y", "b.example.com", true), class("x", "a.example.com"), class("y", "b.example.com")}},
			"such as a to a.example.com and b to b.example.com: divide them by a label, with spec.group.byLabel",
		},
		"a member is lost": {
			groupCase{groups: []groupBuilder{group(time.Hour, "a b", "a")}},
			"is ready, but holds no data of b: kubectl describe -n 'shop' volumegroupsnapshot 'g1h0m0s'",
		},
	} {
		t.Run(name, func(t *testing.T) {
			problems := statusOf(tc.of.decide(t)).Problems
			if len(problems) != 1 || !strings.HasSuffix(problems[0].Message, tc.want) || len(problems[0].Message) > report.MaxProblem {
				t.Errorf("got %s, want one that ends with %s", toJSON(problems), tc.want)
			}
		})
	}
}

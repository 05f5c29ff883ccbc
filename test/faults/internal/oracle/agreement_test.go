// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// The independent statement and the product agree on random series. What the
// product deletes the statement must allow, without exception. What the
// statement allows the product must delete, but where it is known to be more
// careful than the text.
func TestAgreesWithTheProduct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, now := drawView(t)
		spec := &v.schedule.Spec
		terms, err := ReadSpec(spec)
		if err != nil {
			t.Fatal(err)
		}
		due := v.claim != nil && v.claim.Status.Phase == corev1.ClaimBound && slotMayBeDue(terms, v.schedule, v.claim, v.series, now)
		decision := retention.Decide(productPolicy(terms), now, productSeries(v, terms, now, due))
		for i, s := range v.series {
			if s.DeletionTimestamp != nil {
				continue // the product keeps what is going
			}
			allowed, why := v.mayDelete(s, now)
			verdict := decision.Verdicts[i]
			if verdict.Delete() && !allowed {
				t.Fatalf("%s: the product deletes it (%s), and the contract does not allow it: %s", s.Name, verdict, why)
			}
			if allowed && !verdict.Delete() && !moreCareful(v, terms, s, now) {
				t.Fatalf("%s: the contract allows its deletion (%s), and the product keeps it: %s", s.Name, why, verdict)
			}
		}
	})
}

// moreCareful names where the product keeps what the text lets go.
func moreCareful(v *view, t *Spec, s *snapshotv1.VolumeSnapshot, now time.Time) bool {
	e := &evaluation{view: v, Spec: t, now: now, sorted: newestFirst(v.series, now)}
	// The newest of a selected PVC does not expire before its slot does, else the
	// slot would be due again.
	if e.newest() == s && e.selected() && t.TTL > 0 && now.Sub(slotOf(s, now)) < t.TTL {
		return true
	}
	// Of the two readings of "the newest of a period" the product takes one.
	bySlot, byCreation := e.tierKept(e.sorted), e.tierKept(latestCreatedFirst(e.sorted))
	return fmt.Sprint(bySlot) != fmt.Sprint(byCreation)
}

func drawDuration(t *rapid.T, label string) time.Duration {
	unit := rapid.SampledFrom([]time.Duration{10 * time.Minute, time.Hour, day, 7 * day, 31 * day, 365 * day}).Draw(t, label+" unit")
	return time.Duration(rapid.IntRange(0, 12).Draw(t, label)) * unit
}

func drawView(t *rapid.T) (*view, time.Time) {
	now := noon
	schedule := drawSchedule(t)
	v := &view{schedule: schedule}
	if claim := drawClaim(t, schedule); claim != nil {
		v.claim = claim
		v.claims = append(v.claims, claim)
	}
	for i := range rapid.IntRange(0, 10).Draw(t, "count") {
		s := drawSnapshot(t, i)
		v.series = append(v.series, s)
		if rapid.IntRange(0, 9).Draw(t, "restored") == 0 {
			v.claims = append(v.claims, restoreOf(s, fmt.Sprintf("restore-%d", i)))
		}
	}
	return v, now
}

func drawSchedule(t *rapid.T) *v1alpha1.SnapshotSchedule {
	duration := rapid.SampledFrom([]v1alpha1.Duration{"", "", "1h", "12h", "5d", "40d", "2y"})
	few := rapid.SampledFrom([]int32{0, 0, 0, 1, 2, 3})
	s := newSchedule("every")
	s.CreationTimestamp = metav1.Time{Time: noon.Add(-drawDuration(t, "schedule age"))}
	if rapid.Bool().Draw(t, "cron") {
		s.Spec.SnapshotInterval = ""
		s.Spec.Schedule = v1alpha1.CronLine(rapid.SampledFrom([]string{"@hourly", "30 2 * * *", "0 0 1 1 *", "15 9-17/2 * * MON-FRI"}).Draw(t, "line"))
		s.Spec.TimeZone = rapid.SampledFrom([]string{"", "Europe/Oslo", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"}).Draw(t, "zone")
	} else {
		s.Spec.SnapshotInterval = rapid.SampledFrom([]v1alpha1.Duration{"1h", "6h", "1d"}).Draw(t, "interval")
	}
	s.Spec.SnapshotTTL = duration.Draw(t, "ttl")
	s.Spec.StartingDeadline = duration.Draw(t, "startingDeadline")
	s.Spec.ReadyDeadline = rapid.SampledFrom([]v1alpha1.Duration{"1h", "1d"}).Draw(t, "readyDeadline")
	s.Spec.Suspend = rapid.IntRange(0, 4).Draw(t, "suspend") == 0
	r := &s.Spec.Retention
	r.MinReady = ptr.To(rapid.Int32Range(0, 3).Draw(t, "minReady"))
	if n := rapid.SampledFrom([]int32{0, 0, 1, 2, 3, 5}).Draw(t, "maxCount"); n > 0 {
		r.MaxCount = &n
	}
	r.Keep = v1alpha1.Keep{
		Last: few.Draw(t, "last"), Hourly: few.Draw(t, "hourly"), Daily: few.Draw(t, "daily"),
		Weekly: few.Draw(t, "weekly"), Monthly: few.Draw(t, "monthly"), Yearly: few.Draw(t, "yearly"),
	}
	r.Detached.SnapshotTTL = duration.Draw(t, "detached ttl")
	r.Detached.MinReady = rapid.Int32Range(0, 2).Draw(t, "detached minReady")
	return s
}

func drawClaim(t *rapid.T, schedule *v1alpha1.SnapshotSchedule) *corev1.PersistentVolumeClaim {
	claim := newClaim("data")
	claim.CreationTimestamp = metav1.Time{Time: noon.Add(-drawDuration(t, "claim age"))}
	switch rapid.SampledFrom([]string{"bound", "bound", "bound", "pending", "going", "unselected", "its own", "gone"}).Draw(t, "claim") {
	case "pending":
		claim.Status.Phase = corev1.ClaimPending
	case "going":
		claim.DeletionTimestamp = &metav1.Time{Time: noon}
	case "unselected":
		schedule.Spec.Selector = metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}
	case "its own":
		claim.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(schedule, v1alpha1.GroupVersion.WithKind("SnapshotSchedule"))}
	case "gone":
		return nil
	}
	return claim
}

func drawSnapshot(t *rapid.T, i int) *snapshotv1.VolumeSnapshot {
	age := drawDuration(t, "age")
	s := newSnapshot(fmt.Sprintf("s%02d", (i*7)%13), noon.Add(-age))
	switch rapid.SampledFrom([]string{"ready", "ready", "ready", "ready", "uncut", "uploading", "erring"}).Draw(t, "state") {
	case "ready":
		cut(s, s.CreationTimestamp.Time)
		s.Status.ReadyToUse = ptr.To(true)
	case "uploading":
		cut(s, s.CreationTimestamp.Time)
	case "erring":
		cut(s, s.CreationTimestamp.Time)
		s.Status.Error = &snapshotv1.VolumeSnapshotError{}
	}
	switch rapid.IntRange(0, 9).Draw(t, "driver") {
	case 0:
		cut(s, time.Unix(0, 0))
	case 1:
		cut(s, noon.Add(drawDuration(t, "ahead")))
	case 2:
		cut(s, noon.Add(-drawDuration(t, "astray")))
	case 3:
		if s.Status != nil {
			s.Status.CreationTime = nil
		}
	}
	at := s.CreationTimestamp.Time
	switch rapid.IntRange(0, 9).Draw(t, "scheduled-at") {
	case 0:
		delete(s.Annotations, v1alpha1.AnnotationScheduledAt)
		at = time.Time{}
	case 1:
		at = noon.Add(drawDuration(t, "slot ahead"))
	case 2:
		at = noon.Add(-drawDuration(t, "slot astray"))
	}
	if !at.IsZero() {
		s.Annotations[v1alpha1.AnnotationScheduledAt] = at.UTC().Format(time.RFC3339)
	}
	if rapid.IntRange(0, 9).Draw(t, "held") == 0 {
		s.Annotations[v1alpha1.AnnotationHold] = ""
	}
	if rapid.IntRange(0, 9).Draw(t, "deleting") == 0 {
		s.DeletionTimestamp = &metav1.Time{Time: noon}
	}
	return s
}

func productPolicy(t *Spec) retention.Policy {
	k := t.keep
	return retention.Policy{
		TTL: t.TTL, MaxCount: t.maxCount, MinReady: t.minReady, ReadyDeadline: t.readyDeadline, Location: t.zone,
		Keep: retention.Tiers{
			Last: int(k.Last), Hourly: int(k.Hourly), Daily: int(k.Daily),
			Weekly: int(k.Weekly), Monthly: int(k.Monthly), Yearly: int(k.Yearly),
		},
		Detached: retention.Detached{TTL: t.detachedTTL, MinReady: t.detachedMinReady},
	}
}

func productSeries(v *view, t *Spec, now time.Time, due bool) retention.Series {
	series := retention.Series{Claim: retention.Gone, SlotDue: due}
	if v.claim != nil {
		series.Claim = retention.Unselected
		if (&evaluation{view: v, Spec: t}).selected() {
			series.Claim = retention.Selected
		}
		series.ClaimDeleting = v.claim.DeletionTimestamp != nil
	}
	e := &evaluation{view: v, Spec: t, now: now}
	for _, s := range v.series {
		p := retention.Snapshot{
			Name: s.Name, Created: s.CreationTimestamp.Time, Deleting: s.DeletionTimestamp != nil,
			ReadyToUse: readyToUse(s), HasError: inError(s),
		}
		p.CutTime, p.HasCutTime = cutTime(s)
		if at, err := time.Parse(time.RFC3339, s.Annotations[v1alpha1.AnnotationScheduledAt]); err == nil {
			p.ScheduledAt = at
		}
		if _, ok := s.Annotations[v1alpha1.AnnotationHold]; ok {
			p.Hold = retention.HeldByAnnotation
		} else if e.held(s) != "" {
			p.Hold = retention.HeldByRestore
		}
		series.Snapshots = append(series.Snapshots, p)
	}
	return series
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
)

// TestMain raises the number of drawn cases: some disagreements are rare. The command line overrides it.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.checks": "2000", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// On random series, the judge and the product allow the same deletes.
func TestAgreesWithTheProduct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawSeries(t)
		product, err := snapshots.NewJudge(cluster.Scheme, e.schedule, snapshots.Classes{})
		if err != nil {
			t.Fatal(err)
		}
		of := snapshots.Series{MapKey: e.mapKey}
		if e.claim != nil {
			of.Claims = append(of.Claims, e.claim)
		}
		for _, claim := range e.claims {
			of.Restores = append(of.Restores, claim)
		}
		for _, s := range e.snapshots {
			of.Snapshots = append(of.Snapshots, s)
		}
		decided := product.Judge(noon, of)
		if len(decided.Outputs) != len(e.snapshots) {
			t.Fatalf("the product counts %d snapshots of %d", len(decided.Outputs), len(e.snapshots))
		}
		for i, o := range decided.Outputs {
			s, verdict := Named(e.snapshots, o.GetName()), decided.Retention.Verdicts[i]
			if s.DeletionTimestamp != nil {
				continue // the product keeps what is being deleted
			}
			if why := e.kept(s); verdict.Delete() != (why == "") {
				t.Fatalf("%s: the product says %s, and the judge: %q", s.Name, verdict, why)
			}
		}
	})
}

func drawDuration(t *rapid.T, label string) time.Duration {
	unit := rapid.SampledFrom([]time.Duration{10 * time.Minute, time.Hour, day, 7 * day, 31 * day, 365 * day}).Draw(t, label+" unit")
	return time.Duration(rapid.IntRange(0, 12).Draw(t, label)) * unit
}

// drawSeries draws a series. In half of them no clock and no driver was ever wrong.
func drawSeries(t *rapid.T) *series {
	owner := drawSchedule(t)
	objects := []client.Object{owner}
	if claim := drawClaim(t, owner); claim != nil {
		objects = append(objects, claim)
	}
	wrong := rapid.Bool().Draw(t, "wrong clocks and drivers")
	for i := range rapid.IntRange(0, 12).Draw(t, "count") {
		s := drawSnapshot(t, i, drawDuration(t, "age"))
		if wrong {
			drawErrors(t, s)
		}
		objects = append(objects, s)
		if rapid.IntRange(0, 6).Draw(t, "restored") == 0 {
			objects = append(objects, restoreOf(s, fmt.Sprintf("restore-%d", i)))
		}
	}
	spec, err := ReadSpec(&owner.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return StateOf(objects).series(spec, owner, "claim-data", noon)
}

func drawSchedule(t *rapid.T) *v1alpha1.SnapshotSchedule {
	duration := rapid.SampledFrom([]v1alpha1.Duration{"", "", "1h", "12h", "5d", "40d", "2y"})
	few := rapid.SampledFrom([]int32{0, 0, 0, 1, 2, 3})
	s := newSchedule("every")
	s.CreationTimestamp = metav1.Time{Time: noon.Add(-drawDuration(t, "schedule age"))}
	if rapid.Bool().Draw(t, "cron") {
		s.Spec.SnapshotInterval = ""
		s.Spec.Schedule = rapid.SampledFrom([]v1alpha1.CronLine{"@hourly", "30 2 * * *", "0 0 1 1 *", "15 9-17/2 * * MON-FRI"}).Draw(t, "line")
	} else {
		s.Spec.SnapshotInterval = rapid.SampledFrom([]v1alpha1.Duration{"1h", "6h", "1d"}).Draw(t, "interval")
	}
	s.Spec.Jitter = rapid.SampledFrom([]v1alpha1.Duration{"", "", "1s", "50m"}).Draw(t, "jitter")
	// Tiers use the zone, whatever makes the slots.
	s.Spec.TimeZone = rapid.SampledFrom([]string{
		"", "Europe/Oslo", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu",
	}).Draw(t, "zone")
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

func drawClaim(t *rapid.T, owner *v1alpha1.SnapshotSchedule) *corev1.PersistentVolumeClaim {
	claim := newClaim("data")
	claim.CreationTimestamp = metav1.Time{Time: noon.Add(-drawDuration(t, "claim age"))}
	if rapid.IntRange(0, 5).Draw(t, "pending") == 0 {
		claim.Status.Phase = corev1.ClaimPending
	}
	if rapid.IntRange(0, 4).Draw(t, "claim deleting") == 0 {
		claim.DeletionTimestamp = &metav1.Time{Time: noon}
	}
	switch rapid.SampledFrom([]string{"selected", "selected", "selected", "unselected", "its own", "gone"}).Draw(t, "claim") {
	case "unselected":
		owner.Spec.Selector = v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "other"}}
	case "its own":
		claim.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind("SnapshotSchedule"))}
	case "gone":
		return nil
	}
	return claim
}

func drawSnapshot(t *rapid.T, i int, age time.Duration) *snapshotv1.VolumeSnapshot {
	s := newSnapshot(fmt.Sprintf("s%02d", (i*7)%13), noon.Add(-age))
	state := rapid.SampledFrom([]string{
		"ready", "ready", "ready", "ready", "uncut", "uncut in error", "uploading", "failed",
	}).Draw(t, "state")
	s.Status = &snapshotv1.VolumeSnapshotStatus{}
	if state == "ready" || state == "uploading" || state == "failed" {
		cut(s, s.CreationTimestamp.Time)
	}
	if state == "ready" {
		s.Status.ReadyToUse = ptr.To(true)
	}
	if state == "failed" || state == "uncut in error" {
		s.Status.Error = &snapshotv1.VolumeSnapshotError{}
		if rapid.Bool().Draw(t, "time of the error") {
			s.Status.Error.Time = &metav1.Time{Time: noon.Add(-min(age, drawDuration(t, "error age")))}
		}
	}
	if rapid.IntRange(0, 6).Draw(t, "held") == 0 {
		s.Annotations[v1alpha1.AnnotationHold] = rapid.SampledFrom([]string{
			"", "for the audit", noon.Format(time.RFC3339), noon.Add(-time.Second).Format(time.RFC3339), noon.Add(time.Second).Format(time.RFC3339),
		}).Draw(t, "hold")
	}
	if rapid.IntRange(0, 9).Draw(t, "deleting") == 0 {
		s.DeletionTimestamp = &metav1.Time{Time: noon}
	}
	return s
}

// drawErrors draws a driver's wrong creation time, and a slot of a wrong clock. It makes some snapshots imported ones.
func drawErrors(t *rapid.T, s *snapshotv1.VolumeSnapshot) {
	if rapid.IntRange(0, 5).Draw(t, "imported") == 0 {
		imported(s)
	}
	switch rapid.IntRange(0, 9).Draw(t, "driver") {
	case 0:
		cut(s, rapid.SampledFrom([]time.Time{
			{}, time.Unix(0, 0), noon.Add(1), noon.AddDate(1, 0, 0), noon.AddDate(9000, 0, 0),
		}).Draw(t, "wrong cut"))
	case 1:
		cut(s, noon.Add(drawDuration(t, "cut ahead")))
	case 2:
		cut(s, noon.Add(-drawDuration(t, "cut behind")))
	case 3:
		s.Status.CreationTime = nil // of ready ones too
	}
	switch rapid.IntRange(0, 9).Draw(t, "scheduled-at") {
	case 0:
		delete(s.Annotations, v1alpha1.AnnotationScheduledAt)
	case 3: // around what clocks may differ
		ahead := time.Duration(rapid.SampledFrom([]int{-1, 1, 60, 62, 63}).Draw(t, "seconds ahead")) * time.Second
		s.Annotations[v1alpha1.AnnotationScheduledAt] = s.CreationTimestamp.Add(ahead).Format(time.RFC3339)
	case 1:
		s.Annotations[v1alpha1.AnnotationScheduledAt] = noon.Add(drawDuration(t, "slot ahead")).Format(time.RFC3339)
	case 2:
		s.Annotations[v1alpha1.AnnotationScheduledAt] = noon.Add(-drawDuration(t, "slot behind")).Format(time.RFC3339)
	}
}

// The product and the judge find the same firings, except near changes of the zone's clock, where the judge allows more.
func TestCronAgreesWithTheProduct(t *testing.T) {
	lines := []string{
		"@hourly", "@daily", "@weekly", "@monthly", "@yearly", "30 2 * * *", "30 1 * * *", "*/15 * * * *",
		"15,45 9-17/2 * * MON-FRI", "0 0 29 2 *", "0 0 13 * FRI", "59 23 31 12 ?", "5-10 3 1-7 */2 *", "0 0 */2 * 1", "0 0 , * FRI",
	}
	zones := []string{"UTC", "Europe/Oslo", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kathmandu"}
	rapid.Check(t, func(t *rapid.T) {
		text, name := rapid.SampledFrom(lines).Draw(t, "line"), rapid.SampledFrom(zones).Draw(t, "zone")
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		line, err := readCron(text)
		if err != nil {
			t.Fatal(err)
		}
		rule, err := schedule.ParseCron(text, zone)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Unix(rapid.Int64Range(1_767_225_600, 1_830_000_000).Draw(t, "now"), 0).UTC()
		from := now.Add(-40 * day)
		want, ok := rule.Timeline(from, 0).Latest(now)
		got, found := line.lastFiring(now, from, zone)
		if ok && (!found || got.Before(want)) {
			t.Fatalf("%s in %s before %s: the product fires at %s, the judge at %s (%t)", text, name, now, want, got, found)
		}
		_, before := got.Add(-2 * time.Hour).In(zone).Zone()
		_, after := got.Add(2 * time.Hour).In(zone).Zone()
		if found && !got.Equal(want) && before == after {
			t.Fatalf("%s in %s before %s: the judge fires at %s, the product at %s (%t)", text, name, now, got, want, ok)
		}
	})
}

func TestCronRefuses(t *testing.T) {
	for _, text := range []string{
		"", "* * * * * *", "60 * * * *", "0 0 30 2 *", "0 0 31 4,6,9,11 *", "TZ=UTC 0 0 * * *", "TZ=", "@every 1h", "30-10 * * * *", "0 0 , * *",
	} {
		if _, err := readCron(text); err == nil {
			t.Errorf("readCron accepts %q", text)
		}
		if _, err := schedule.ParseCron(text, time.UTC); err == nil {
			t.Errorf("the product accepts %q", text)
		}
	}
}

// The product and the judge agree which specs are valid, whatever boundary values come together. Those that the API server refuses are
// tested in test/crd.
func TestSpecAgreesWithTheProduct(t *testing.T) {
	long := rapid.SampledFrom([]v1alpha1.Duration{"", "", "1s", "100y", "1y1w1d1h1m1s"})
	number := rapid.SampledFrom([]int32{0, 1, 2, math.MaxInt32})
	selectors := []v1alpha1.LabelSelector{{}, {MatchLabels: map[string]v1alpha1.LabelValue{"app": "shop"}}}
	for _, operator := range []metav1.LabelSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist"} {
		r := v1alpha1.LabelSelectorRequirement{
			Key: strings.Repeat("a", 253) + "/" + strings.Repeat("a", 63), Operator: operator,
		}
		if strings.HasSuffix(string(operator), "In") {
			r.Values = []v1alpha1.LabelValue{v1alpha1.LabelValue(strings.Repeat("v", 63))}
		}
		selectors = append(selectors, v1alpha1.LabelSelector{MatchExpressions: []v1alpha1.LabelSelectorRequirement{r}})
	}
	rapid.Check(t, func(t *rapid.T) {
		s := &v1alpha1.SnapshotSchedule{}
		if rapid.Bool().Draw(t, "cron") {
			s.Spec.Schedule = rapid.SampledFrom([]v1alpha1.CronLine{
				"@hourly", "@yearly", "* * * * *", "59 23 31 12 6", "0 0 29 2 *", "0 0 , * FRI",
				"0 0 30 2 *", "0 0 31 4,6,9,11 *", "30-10 * * * *", "0 0 * * FRI-MON", "0 0 , * *",
			}).Draw(t, "schedule")
			s.Spec.TimeZone = rapid.SampledFrom([]string{
				"", "UTC", "Europe/Oslo", "Australia/Lord_Howe", "Etc/GMT+12", "Europe/Atlantis", strings.Repeat("A", 64),
			}).Draw(t, "timeZone")
			s.Spec.Jitter = long.Draw(t, "jitter")
		} else {
			s.Spec.SnapshotInterval = rapid.SampledFrom([]v1alpha1.Duration{"1s", "6h", "100y", "1y1w1d1h1m1s"}).Draw(t, "interval")
			s.Spec.Jitter = rapid.SampledFrom([]v1alpha1.Duration{"", "1s", "5h59m59s", "6h", "100y"}).Draw(t, "jitter")
		}
		s.Spec.Selector = rapid.SampledFrom(selectors).Draw(t, "selector")
		s.Spec.SnapshotTTL, s.Spec.StartingDeadline = long.Draw(t, "ttl"), long.Draw(t, "startingDeadline")
		s.Spec.ReadyDeadline, s.Spec.Retention.Detached.SnapshotTTL = long.Draw(t, "readyDeadline"), long.Draw(t, "detached ttl")
		s.Spec.Retention.MinReady, s.Spec.Retention.MaxCount = ptr.To(number.Draw(t, "minReady")), ptr.To(max(1, number.Draw(t, "maxCount")))
		s.Spec.Retention.Keep = v1alpha1.Keep{Last: number.Draw(t, "last"), Yearly: number.Draw(t, "yearly")}
		_, judged := ReadSpec(&s.Spec)
		if err := snapshots.Validate(s); (judged != nil) != (err != nil) {
			t.Fatalf("the product says %v, the judge %v", err, judged)
		}
	})
}

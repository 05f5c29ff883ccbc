// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"math"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// The product and the judge agree which specs are valid, whatever boundary values come together, and the product names what is wrong. Those
// that the API server refuses are tested in test/crd.
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
		wrong := map[string]bool{} // by field
		if rapid.Bool().Draw(t, "cron") {
			s.Spec.Schedule = rapid.SampledFrom([]v1alpha1.CronLine{
				"@hourly", "@yearly", "* * * * *", "59 23 31 12 6", "0 0 29 2 *", "0 0 , * FRI",
				"0 0 30 2 *", "0 0 31 4,6,9,11 *", "30-10 * * * *", "0 0 * * FRI-MON", "0 0 , * *",
			}).Draw(t, "schedule")
			wrong["schedule"] = strings.HasPrefix(string(s.Spec.Schedule), "0 0 3") || strings.HasPrefix(string(s.Spec.Schedule), "30-") ||
				strings.HasSuffix(string(s.Spec.Schedule), "FRI-MON") || s.Spec.Schedule == "0 0 , * *"
			s.Spec.TimeZone = rapid.SampledFrom([]string{
				"", "UTC", "Europe/Oslo", "Australia/Lord_Howe", "Etc/GMT+12", "Europe/Atlantis", strings.Repeat("A", 64),
			}).Draw(t, "timeZone")
			wrong["timeZone"] = s.Spec.TimeZone == "Europe/Atlantis" || strings.HasPrefix(s.Spec.TimeZone, "AA")
			s.Spec.Jitter = long.Draw(t, "jitter")
		} else {
			s.Spec.SnapshotInterval = rapid.SampledFrom([]v1alpha1.Duration{"1s", "6h", "100y", "1y1w1d1h1m1s"}).Draw(t, "interval")
			s.Spec.Jitter = rapid.SampledFrom([]v1alpha1.Duration{"", "1s", "5h59m59s", "6h", "100y"}).Draw(t, "jitter")
			interval, _ := readDuration(s.Spec.SnapshotInterval)
			jitter, _ := readDuration(s.Spec.Jitter)
			wrong["jitter"] = jitter >= interval
		}
		s.Spec.Selector = rapid.SampledFrom(selectors).Draw(t, "selector")
		s.Spec.SnapshotTTL, s.Spec.StartingDeadline = long.Draw(t, "ttl"), long.Draw(t, "startingDeadline")
		s.Spec.ReadyDeadline, s.Spec.Retention.Detached.SnapshotTTL = long.Draw(t, "readyDeadline"), long.Draw(t, "detached ttl")
		s.Spec.Retention.MinReady, s.Spec.Retention.MaxCount = ptr.To(number.Draw(t, "minReady")), ptr.To(max(1, number.Draw(t, "maxCount")))
		s.Spec.Retention.Keep = v1alpha1.Keep{Last: number.Draw(t, "last"), Yearly: number.Draw(t, "yearly")}

		invalid, err := false, snapshots.Validate(s)
		for field, is := range wrong {
			invalid = invalid || is
			if is && (err == nil || !strings.Contains(err.Error(), "spec."+field)) {
				t.Fatalf("the product does not say what is wrong with spec.%s: %v", field, err)
			}
		}
		if _, judged := ReadSpec(&s.Spec); (judged != nil) != invalid || (err != nil) != invalid {
			t.Fatalf("invalid: %t; the product says %v, the judge %v", invalid, err, judged)
		}
	})
}

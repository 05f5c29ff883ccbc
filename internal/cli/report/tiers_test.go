// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/history"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// What does not follow from the table of tiers: the fields of the API, and the colors of the report.
func TestEveryTierHasAFieldAndAColor(t *testing.T) {
	fields := reflect.TypeFor[v1alpha1.Keep]()
	if fields.NumField() != len(retention.TierTable) {
		t.Fatalf("spec.retention.keep has %d fields, and retention.TierTable %d tiers", fields.NumField(), len(retention.TierTable))
	}
	for i, tier := range retention.TierTable {
		if field, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ","); field != tier.Name {
			t.Errorf("field %d of spec.retention.keep is %s, and tier %d is %s", i, field, i, tier.Name)
		}
		var keep v1alpha1.Keep
		reflect.ValueOf(&keep).Elem().Field(i).SetInt(1)
		if keep.Counts()[i] != 1 {
			t.Errorf("Keep.Counts in retention_types.go does not have %s at its place", tier.Name)
		}
		if same := slices.DeleteFunc(slices.Clone(history.Symbols), func(s history.Symbol) bool { return s.Text() != tier.Name[:1] }); len(same) != 1 {
			t.Errorf("%d symbols are drawn as the first letter of %s: see symbolsOfTiers", len(same), tier.Name)
		}
		if tier.Longest > 0 && !strings.Contains(reportStyle, ".m."+tier.Name+" {") {
			t.Errorf("report.css has no color for .m.%s", tier.Name)
		}
	}
}

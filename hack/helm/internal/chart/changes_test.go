// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestChangesAreThoseOfTheNewestVersion(t *testing.T) {
	changelog := `# Changelog

## [1.1.0] - 2027-01-31

A sentence.

### Added

- One thing, see
  [its page](docs/it.md). It has more.
- "Quotes": and an explanation

### For those who upgrade

- Do this first

## [1.0.0] - 2026-12-31

### Fixed

- Old
`
	r := release
	r.Changelog = changelog
	var got []change
	if err := yaml.UnmarshalStrict([]byte(loadChart(t, r).Metadata.Annotations["artifacthub.io/changes"]), &got); err != nil {
		t.Fatal(err)
	}
	want := []change{{"added", "One thing, see its page"}, {"added", `"Quotes": and an explanation`}, {"changed", "Do this first"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

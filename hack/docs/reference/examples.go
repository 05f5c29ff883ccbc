// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

// examples maps every leaf field of the spec to an example value in YAML. The field's
// description must show the same value.
var examples = map[string]string{
	"spec.selector.matchLabels":                           "{app: my-app}",
	"spec.selector.matchExpressions":                      "[{key: tier, operator: In, values: [gold, silver]}]",
	"spec.selector.matchExpressions[].key":                "tier",
	"spec.selector.matchExpressions[].operator":           "In",
	"spec.selector.matchExpressions[].values":             "[gold, silver]",
	"spec.snapshotInterval":                               "6h",
	"spec.schedule":                                       `"30 2 * * *"`,
	"spec.timeZone":                                       "Europe/Oslo",
	"spec.snapshotTTL":                                    "10d",
	"spec.suspend":                                        "true",
	"spec.startingDeadline":                               "2h",
	"spec.jitter":                                         "15m",
	"spec.readyDeadline":                                  "30m",
	"spec.deletionPolicy":                                 "Orphan",
	"spec.snapshotTemplate.metadata.labels":               "{example.com/tier: gold}",
	"spec.snapshotTemplate.metadata.annotations":          "{example.com/note: nightly}",
	"spec.snapshotTemplate.spec.volumeSnapshotClassName":  "fast",
	"spec.storageClassNames":                              "[fast, standard]",
	"spec.snapshotTemplate.spec.volumeSnapshotClassNames": "[fast, archive]",
	"spec.retention.minReady":                             "2",
	"spec.retention.maxCount":                             "100",
	"spec.retention.keep.last":                            "3",
	"spec.retention.keep.hourly":                          "24",
	"spec.retention.keep.daily":                           "7",
	"spec.retention.keep.weekly":                          "4",
	"spec.retention.keep.monthly":                         "12",
	"spec.retention.keep.yearly":                          "3",
	"spec.retention.editDelay":                            "1h",
	"spec.retention.detached.snapshotTTL":                 "30d",
	"spec.retention.detached.minReady":                    "1",
}

// Examples returns an example value for every leaf field of the spec, by path.
func Examples() map[string]string { return examples }

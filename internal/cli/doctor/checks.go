// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

// checks are what is examined, in this order.
var checks = []struct {
	name  string
	check func(*seen) found
}{
	{"CustomResourceDefinitions", checkDefinitions},
	{"Names", checkNames},
	{"Snapshot controller", checkController},
	{"Drivers", checkDrivers},
	{"Operator", checkOperator},
	{"Rights of the operator", checkRights},
	{"Schedules", checkSchedules},
	{"Snapshots", checkSnapshots},
	{"Left behind", checkLeftovers},
}

// examine runs all checks.
func examine(s *seen) []point {
	all := []point{}
	for _, c := range checks {
		for _, p := range c.check(s) {
			p.Check = c.name
			all = append(all, p)
		}
	}
	return all
}

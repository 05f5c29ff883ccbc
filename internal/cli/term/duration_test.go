// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/spf13/pflag"
)

// Contract: CLI-52.
func TestDurationsOfFlagsAreInTheGrammarOfSpecs(t *testing.T) {
	var timeout, drill time.Duration
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddTimeout(flags, &timeout, 10*time.Minute)
	AddDuration(flags, &drill, "drill-timeout", time.Hour, false, "")
	for line, want := range map[string]string{
		"": "", "--timeout=90s": "", "--timeout=1d12h": "", "--timeout=0": "", "--drill-timeout=7d": "",
		"--timeout=5": "write for example 90s", "--timeout=1.5h": "write for example 90s", "--drill-timeout=0": "write for example 90s",
	} {
		err := flags.Parse(strings.Fields(line))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
	for d, want := range map[time.Duration]string{0: "0s", 90 * time.Second: "1m30s", 36 * time.Hour: "1d12h", time.Minute: "1m"} {
		if got := Span(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// Contract: CLI-53.
func TestANameMayHaveItsTypeBeforeIt(t *testing.T) {
	for text, want := range map[string]string{
		"nightly": "nightly", "snapsched/nightly": "nightly", "SnapshotSchedules/nightly": "nightly",
		"snapshotschedule.snapshots.mapcontroller.dev/nightly": "nightly",
		"snapshotschedule.snapscheduler.backube/nightly":       "", "pod/nightly": "", "": "",
		"snapsched/": "", "/": "",
	} {
		got, err := OneSchedule([]string{text})
		if got != want || (err == nil) != (want != "" || text == "") {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

// rollback goes back to a VolumeSnapshot, and of a type that another kind has it must not take the VolumeSnapshot of the name.
//
// Contract: CLI-53.
func TestAFlagTakesNamesOfItsOwnKindOnly(t *testing.T) {
	for text, want := range map[string]string{"a": "a", "vs/a": "a", "volumesnapshots/a": "a", "vgs/a": "", "vs/": "", "pvc/a": ""} {
		cmd, got := &cobra.Command{}, ""
		cmd.Flags().StringVar(&got, "snapshot", "", "")
		TakeTypes(cmd)
		if err := cmd.Flags().Set("snapshot", text); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

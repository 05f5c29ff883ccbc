// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Contract: CLI-57.
func TestACommandNeedsTheRightsOfWhatItIsGiven(t *testing.T) {
	for line, want := range map[string]string{
		"":                  "list volumesnapshots",
		"a":                 "get volumesnapshots, list volumesnapshots",
		"-- sh":             "list volumesnapshots",
		"a -- sh":           "get volumesnapshots, list volumesnapshots",
		"a --dry-run":       "get volumesnapshots",
		"--dry-run=none":    "list volumesnapshots",
		"--pvc none":        "get persistentvolumeclaims, list volumesnapshots",
		"--pvc a --all":     "get persistentvolumeclaims, list volumesnapshots",
		"--dry-run --all":   "list volumesnapshots",
		"--dry-run --all=f": "",
	} {
		f := &Factory{Namespace: "shop"}
		var has []string
		cmd := &cobra.Command{Use: "verify", RunE: func(cmd *cobra.Command, args []string) error {
			for _, right := range f.RightsOf(cmd, args) {
				has = append(has, right.Verb+" "+right.Resource)
			}
			return nil
		}}
		Needs(cmd, "get volumesnapshots if SNAPSHOT\nget persistentvolumeclaims if --pvc\nlist volumesnapshots unless --dry-run\nlist volumesnapshots if --all")
		cmd.Flags().String("pvc", "", "")
		cmd.Flags().Bool("all", false, "")
		f.AddDryRun(cmd, false)
		cmd.SetArgs(strings.Fields(line))
		if err := cmd.Execute(); err != nil || strings.Join(has, ", ") != want {
			t.Errorf("%q needs %q, not %q: %v", line, has, want, err)
		}
	}
}

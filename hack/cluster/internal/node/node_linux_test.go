// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestCheckSaysWhatIsMissing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	t.Setenv("PATH", os.Getenv("PATH"))
	defer func(saved map[string]string) { debianPackages = saved }(debianPackages)
	debianPackages = map[string]string{"sh": "dash"}
	for dir, want := range map[string]string{"/running": "", "/run/user/0/cluster": "cannot be in /run"} {
		if got := fmt.Sprint(Check(dir)); want == "" && got != "<nil>" || !strings.Contains(got, want) {
			t.Errorf("%s: %s", dir, got)
		}
	}
	debianPackages = map[string]string{"no-such-program": "runc", "nor-this": "nftables"}
	if err := Check("/running"); err == nil || !strings.HasSuffix(err.Error(), "apt-get install nftables runc") {
		t.Error(err)
	}
}

// RunInit reaps every child of its process, so each case runs it in a new one.
func TestRunInitEndsWithItsMainProcess(t *testing.T) {
	if script := os.Getenv("TEST_RUN_INIT"); script != "" {
		if err := RunInit(exec.Command("sh", "-c", script)); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	for script, fails := range map[string]bool{"exit 0": false, "exit 3": true} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestRunInit")
		cmd.Env = append(os.Environ(), "TEST_RUN_INIT="+script)
		if err := cmd.Run(); (err != nil) != fails {
			t.Errorf("%s: got %v", script, err)
		}
	}
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// complete presses TAB after some words, in a bash with kubectl's completion. What bash-completion would do first is reduced to
// the words of the line, which here have no quotes and no colons.
const complete = `
source <(kubectl completion bash)
_init_completion() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${COMP_WORDS[COMP_CWORD]}; prev=${COMP_WORDS[COMP_CWORD-1]}; }
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
COMP_LINE="$*"
COMP_POINT=${#COMP_LINE}
COMP_TYPE=9
compopt() { :; } # it works only while a key is handled
__start_kubectl
printf '%s\n' "${COMPREPLY[@]}"
`

var _ = Describe("completion in a shell", func() {
	var env *environment
	var path string
	BeforeEach(func() {
		env = newEnvironment()
		script := suite.Must(filepath.Abs("../../cmd/kubectl-snapsched"))
		path = strings.Join([]string{script, filepath.Dir(program), os.Getenv("KUBEBUILDER_ASSETS"), os.Getenv("PATH")}, string(os.PathListSeparator))
	})

	press := func(words ...string) []string {
		GinkgoHelper()
		bash := exec.CommandContext(ctx, "bash", append([]string{"--norc", "-c", complete, "bash", "kubectl", "snapsched", "-n", env.namespace}, words...)...)
		bash.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "PATH="+path)
		bash.Stderr = GinkgoWriter
		return strings.Fields(string(suite.Must(bash.Output())))
	}

	It("completes commands, schedules, PVCs and snapshots through kubectl", func() {
		spec := v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}
		s, c := env.createSchedule("nightly", spec), env.createClaim("data")
		env.createSchedule("weekly", spec)
		all := env.createSnapshots(s, c, 6*time.Hour, 2)
		Expect(press("time")).To(ContainElement("timeline"))
		Expect(press("status", "")).To(ConsistOf("nightly", "weekly"))
		Expect(press("status", "ni")).To(ConsistOf("nightly"))
		Expect(press("snapshot", "--pvc", "")).To(ConsistOf("data"))
		Expect(press("why", "data-")).To(ConsistOf(all[0].Name, all[1].Name))
		Expect(press("preview", "--delete", "")).To(ConsistOf("nightly", "weekly"))
		Expect(press("status", "--namespace", "")).To(ContainElement(env.namespace))
	})
})

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"

	"mapcontroller.dev/snapshotschedule/internal/cli/migrate"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// print prints what --apply does as a shell script.
func (t *transfer) print(found []snapshotv1.VolumeSnapshot) error {
	namespace, name := t.peer.GetNamespace(), t.peer.GetName()
	var steps, notes []string
	patch := func(resource, name string, patch []byte) {
		steps = append(steps, fmt.Sprintf("kubectl patch %s %s -n %s --type=merge -p %s", resource, name, namespace, quoted(string(patch))))
	}
	if p := migrate.Disable(t.peer); p != nil {
		patch(migrate.PeerResource, name, p)
	}
	for i := range found {
		v := &found[i]
		adoption := migrate.Adopt(v, t.claimOf(v))
		if adoption.Patch != nil {
			patch(snapshotsResource, v.Name, adoption.Patch)
		} else {
			notes = append(notes, fmt.Sprintf("VolumeSnapshot %s stays with snapscheduler: %s", v.Name, adoption.Reason))
		}
		if adoption.Note != "" {
			notes = append(notes, fmt.Sprintf("VolumeSnapshot %s: %s", v.Name, adoption.Note))
		}
	}
	if !t.exists {
		manifest, err := manifestOf(t.to)
		if err != nil {
			return err
		}
		steps = append(steps, "kubectl create -f - <<'EOF'\n"+manifest+"EOF")
	}
	fmt.Fprintf(t.Out, "# SnapshotSchedule %s/%s of snapscheduler\n", namespace, name)
	for _, note := range append(t.to.Notes, notes...) {
		fmt.Fprintf(t.Out, "#   %s\n", report.Line(note))
	}
	if len(steps) == 0 {
		steps = []string{"# Nothing to do."}
	}
	fmt.Fprintln(t.Out, strings.Join(steps, "\n")+"\n")
	return nil
}

// quoted quotes a word for a shell. Names of owners may contain anything.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// snapshotsResource is the full name of VolumeSnapshots for kubectl.
const snapshotsResource = "volumesnapshots.snapshot.storage.k8s.io"

// manifestOf returns a converted schedule as its user would write it.
func manifestOf(c migrate.Conversion) (string, error) {
	var text strings.Builder
	err := (&Output{Format: YAML}).PrintStructured(&text, c.Schedule)
	return text.String(), err
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/migrate/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

func (t *transfer) name() string {
	return fmt.Sprintf("SnapshotSchedule %s/%s of snapscheduler", t.state.Peer.GetNamespace(), t.state.Peer.GetName())
}

// planned says what will be done with a schedule.
func (t *transfer) planned() string {
	var words []string
	snapshots := 0
	for _, step := range t.left {
		switch one := step.Changes[0]; one.Object.(type) {
		case *snapshotv1.VolumeSnapshot:
			snapshots++
		case nil:
			words = append(words, "create SnapshotSchedule "+one.Create.GetName())
		default:
			words = append(words, "disable it")
		}
	}
	if snapshots > 0 {
		words = append(words, "hand over "+term.Plural(snapshots, "snapshot"))
	}
	if len(words) == 0 {
		return "nothing to do"
	}
	return strings.Join(words, ", ")
}

// resourceOf returns the names of an object's kind, before a slash and for kubectl patch.
func resourceOf(o client.Object) (short, full string) {
	switch o.(type) {
	case *snapshotv1.VolumeSnapshot:
		return term.SnapshotResource, "volumesnapshots.snapshot.storage.k8s.io"
	case *v1alpha1.SnapshotSchedule:
		return term.ScheduleResource, ""
	}
	return "snapshotschedule.snapscheduler.backube", core.PeerResource
}

// done prints what was done, and in which namespace if there are several.
func (t *transfer) done(o client.Object, what string) {
	if t.of.allNamespaces {
		what += " in namespace " + o.GetNamespace()
	}
	resource, _ := resourceOf(o)
	t.of.f.Did(resource, o.GetName(), what)
}

// print prints what would be done as a shell script.
func (t *transfer) print() error {
	namespace, name := t.state.Peer.GetNamespace(), t.state.Peer.GetName()
	fmt.Fprintf(t.of.f.Out, "# SnapshotSchedule %s/%s of snapscheduler\n", namespace, name)
	for _, note := range t.state.To.Notes {
		fmt.Fprintf(t.of.f.Out, "#   %s\n", report.Line(note))
	}
	for _, note := range t.notes {
		fmt.Fprintf(t.of.f.Out, "#   %s\n", report.Line("VolumeSnapshot "+note.Snapshot+note.Text))
	}
	lines := []string{"# Nothing to do."}
	if len(t.left) > 0 {
		lines = nil
	}
	for _, step := range t.left {
		one := step.Changes[0]
		if one.Create == nil {
			_, resource := resourceOf(one.Object)
			lines = append(lines, fmt.Sprintf("kubectl patch %s %s -n %s --type=merge -p %s",
				resource, one.Object.GetName(), namespace, term.Quoted(string(one.Patch))))
			continue
		}
		var manifest strings.Builder // as its user would write it
		if err := (&term.Output{Format: term.YAML}).PrintStructured(&manifest, one.Create); err != nil {
			return err
		}
		lines = append(lines, "kubectl create -f - <<'EOF'\n"+manifest.String()+"EOF")
	}
	fmt.Fprintln(t.of.f.Out, strings.Join(lines, "\n")+"\n")
	return nil
}

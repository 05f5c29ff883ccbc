// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"mapcontroller.dev/snapshotschedule/internal/cli/restore"
)

// restoreFlags are the flags of restore, as they are written.
type restoreFlags struct {
	claim, schedule, asOf string
	to, class, size       string
	modes                 []string
	allowIncomplete       bool
	dryRun                string
	snapshot              string
	wait                  Wait
	output                Output
}

func newRestoreCommand(f *Factory) *cobra.Command {
	var flags restoreFlags
	cmd := &cobra.Command{
		Use:     "restore (SNAPSHOT | --pvc PVC | --schedule NAME)",
		GroupID: GroupAct,
		Short:   "Restore snapshots to new PVCs",
		Long: `Restore a snapshot, the newest one of a PVC, or those of all PVCs of a schedule, to new PVCs. An existing PVC is
never changed or deleted.

The size of a new PVC is that of the source PVC, but at least that of the snapshot. Its storage class and modes are
those of the source PVC. If that is gone, the storage class is the default or the only one of the snapshot's driver. A new PVC
has no labels: label it to have a schedule take snapshots of it.

--as-of chooses the newest ready snapshot whose data is of that time or earlier. With --schedule, the set of all PVCs
at that time is restored. The snapshots of a set are not taken at the same instant: the output shows the skew
between them. A set in which a PVC has no ready snapshot is refused, unless --allow-incomplete is given.

Which PVC a snapshot was taken of is what its spec.source says: labels, which can be edited, do not matter. Only of an
imported snapshot, whose source names no PVC, the label map-key says it, and a warning says that.`,
		Example: `  # One snapshot, to a new PVC with the snapshot's name
  kubectl snapsched restore pgdata-20261121100928-46grgsginy

  # The state of a PVC before an accident, and wait until the data is there
  kubectl snapsched restore --pvc pgdata --as-of 2026-11-21T09:00:00Z --to pgdata-before --wait

  # All PVCs of a schedule, to new PVCs with names such as data-0-drill
  kubectl snapsched restore --schedule nightly --to '{pvc}-drill'

  # All PVCs of a schedule under their old names, after they were deleted
  kubectl snapsched restore --schedule nightly --as-of 2026-11-21T09:00:00Z --to '{pvc}'

  # Only show the manifest
  kubectl snapsched restore --pvc pgdata --dry-run=client -o yaml`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: CompleteOne(f.CompleteSnapshots()),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				flags.snapshot = args[0]
			}
			r, err := newRestoration(f, &flags)
			if err != nil {
				return err
			}
			return r.run(cmd.Context())
		},
	}
	flags.add(f, cmd)
	return cmd
}

func (flags *restoreFlags) add(f *Factory, cmd *cobra.Command) {
	cmd.Flags().StringVar(&flags.claim, "pvc", "", "Restore the newest ready snapshot of this PVC, which may be gone.")
	cmd.Flags().StringVar(&flags.schedule, "schedule", "", "Restore the newest ready snapshot of each PVC of this schedule.")
	cmd.Flags().StringVar(&flags.asOf, "as-of", "", "Restore data of this time or earlier, such as 2026-01-31T12:00:00Z.")
	cmd.Flags().StringVar(&flags.to, "to", restore.SnapshotPlaceholder,
		"Name of the new PVC. "+restore.ClaimPlaceholder+" stands for the name of the source PVC, "+
			restore.SnapshotPlaceholder+" for that of the snapshot.")
	cmd.Flags().StringVar(&flags.class, "storage-class", "", "Storage class of the new PVC, instead of the source PVC's.")
	cmd.Flags().StringVar(&flags.size, "size", "", "Size of the new PVC, such as 20Gi.")
	cmd.Flags().StringSliceVar(&flags.modes, "access-mode", nil,
		"Access modes of the new PVC, instead of the source PVC's, such as ReadWriteOnce or RWO.")
	cmd.Flags().BoolVar(&flags.allowIncomplete, "allow-incomplete", false,
		"Restore a set even if PVCs of it have no ready snapshot of that time.")
	cmd.Flags().StringVar(&flags.dryRun, "dry-run", dryRunNone,
		`"client": only print what would be created. "server": let the API server check it, without creating anything.`)
	flags.wait.AddFlags(cmd, "the new PVCs are bound, or wait for their first pod")
	flags.output.AddFlags(cmd, false, JSON, YAML, Names)
	_ = cmd.RegisterFlagCompletionFunc("pvc", f.CompleteClaims())
	_ = cmd.RegisterFlagCompletionFunc("schedule", f.CompleteSchedules())
	_ = cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions(dryRuns, cobra.ShellCompDirectiveNoFileComp))
}

// Values of --dry-run.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

var dryRuns = []string{dryRunNone, dryRunServer, dryRunClient}

// newRestoration checks the flags.
func newRestoration(f *Factory, flags *restoreFlags) (*restoration, error) {
	r := &restoration{Factory: f, flags: flags, now: f.Clock.Now()}
	r.asOf = r.now
	given := 0
	for _, source := range []string{flags.snapshot, flags.claim, flags.schedule} {
		if source != "" {
			given++
		}
	}
	if given != 1 {
		return nil, errors.New("name one of a snapshot, --pvc and --schedule")
	}
	if !slices.Contains(dryRuns, flags.dryRun) {
		return nil, fmt.Errorf("invalid --dry-run %q: use one of %s", flags.dryRun, strings.Join(dryRuns, ", "))
	}
	if flags.wait.Enabled && flags.dryRun != dryRunNone {
		return nil, errors.New("--wait has nothing to wait for with --dry-run")
	}
	if flags.asOf != "" {
		if flags.snapshot != "" {
			return nil, errors.New("--as-of chooses a snapshot: name a PVC or a schedule with it, not a snapshot")
		}
		at, err := time.Parse(time.RFC3339, flags.asOf)
		if err != nil {
			return nil, fmt.Errorf("invalid --as-of %q: write an RFC 3339 time such as %s", flags.asOf, timestamp(r.now))
		}
		r.asOf = at
	}
	r.options = restore.Options{Name: flags.to, StorageClass: flags.class}
	if flags.size != "" {
		size, err := resource.ParseQuantity(flags.size)
		if err != nil {
			return nil, fmt.Errorf("invalid --size %q: write a quantity such as 20Gi", flags.size)
		}
		r.options.Size = &size
	}
	for _, text := range flags.modes {
		mode, ok := accessModes[text]
		if !ok {
			return nil, fmt.Errorf("invalid --access-mode %q: use ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod", text)
		}
		r.options.AccessModes = append(r.options.AccessModes, mode)
	}
	return r, nil
}

// accessModes are the access modes by their names and kubectl's short ones.
var accessModes = map[string]corev1.PersistentVolumeAccessMode{
	"ReadWriteOnce": corev1.ReadWriteOnce, "RWO": corev1.ReadWriteOnce,
	"ReadOnlyMany": corev1.ReadOnlyMany, "ROX": corev1.ReadOnlyMany,
	"ReadWriteMany": corev1.ReadWriteMany, "RWX": corev1.ReadWriteMany,
	"ReadWriteOncePod": corev1.ReadWriteOncePod, "RWOP": corev1.ReadWriteOncePod,
}

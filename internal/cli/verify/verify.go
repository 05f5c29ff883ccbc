// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package verify is the command verify, which restores snapshots in drills as internal/core decides.
//
//	verify.go  the command, and what is printed
//	drill.go   one drill
//	image.go   its image
package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/recovery"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/verify/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// verification is one run of verify.
type verification struct {
	f *term.Factory
	// choice are the snapshots, and the PVCs that they are restored to.
	choice      *steps.Choice
	options     core.Options
	user, group int64
	parallel    int
	allowRetain bool

	mu sync.Mutex // of output
	// done are the drills that have ended, of all.
	done, all int
}

// New returns the command verify.
func New(f *term.Factory) *cobra.Command {
	choice := &steps.Choice{Factory: f, Doing: "Verifying", Options: recovery.Options{Name: "verify-" + recovery.SnapshotPlaceholder}}
	r := &verification{f: f, choice: choice}
	cmd := &cobra.Command{
		Use:     "verify (SNAPSHOT | --pvc PVC | --schedule NAME) [-- COMMAND...]",
		GroupID: term.GroupAct,
		Short:   "Prove that snapshots can be restored",
		Long: `Restore a snapshot, the newest one of a PVC, or those of all PVCs of a schedule, to a volume of a Job, and run a command on
the data. The Job owns the volume: Kubernetes deletes both after the timeout, even if this command is gone.

The command finds the data in ` + core.DataPath + ` (a device, for a block volume), and the names in the variables SNAPSHOT and PVC. Without
a command, there must be data, and every regular file must be readable as a whole. The command runs as the user of the pod that
mounts the PVC now, on the nodes on which this pod may run, and without permissions in the cluster. If no pod mounts the PVC, the
namespace's own rules choose the user, unless --run-as-user and --fs-group do.

If the command ends with 0, the snapshot gets the annotation ` + v1alpha1.AnnotationVerifiedAt + `, otherwise
` + v1alpha1.AnnotationVerifyFailed + ` with its last line. retention.minVerified keeps verified snapshots. A snapshot
that the storage refuses to restore until the timeout has failed too. Anything else, such as a quota, a missing image or the
timeout, says nothing about the data, and no annotation is written.`,
		Example: `  # The newest snapshot of a PVC
  kubectl snapsched verify --pvc pgdata

  # All PVCs of a schedule, five at a time
  kubectl snapsched verify --schedule nightly --parallel 5

  # With the application's own check
  kubectl snapsched verify --pvc pgdata --image postgres:18 -- pg_checksums --check -D /snapshot/pgdata`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: term.CompleteOne(f.CompleteSnapshots()),
	}
	cmd.RunE = f.Connected(func(ctx context.Context, args []string) error {
		named := args
		if dash := cmd.ArgsLenAtDash(); dash >= 0 {
			named, r.options.Command = args[:dash], args[dash:]
		}
		if len(named) > 1 {
			return errors.New("name one snapshot; a command comes after --")
		}
		choice.Snapshot = strings.Join(named, "")
		if cmd.Flags().Changed("run-as-user") {
			r.options.RunAsUser = &r.user
		}
		if cmd.Flags().Changed("fs-group") {
			r.options.FSGroup = &r.group
		}
		return r.run(ctx)
	})
	term.Needs(cmd, `
get volumesnapshots if SNAPSHOT
list volumesnapshots if --pvc --schedule
get persistentvolumeclaims if --pvc
get snapshotschedules if --schedule
list persistentvolumeclaims pods
create get delete jobs unless --dry-run
get persistentvolumeclaims unless --dry-run
list volumesnapshots unless --dry-run
patch volumesnapshots`)
	cmd.Flags().StringVar(&choice.Claim, "pvc", "", "Verify the newest ready snapshot of this PVC.")
	cmd.Flags().StringVar(&choice.Schedule, "schedule", "", "Verify the newest ready snapshot of each PVC of this schedule.")
	cmd.Flags().StringVar(&choice.Time, "as-of", "", "Verify snapshots of this time or earlier: "+term.AsOfForms+".")
	cmd.Flags().StringVar(&r.options.Image, "image", "", "Image of the command. If omitted, the operator's, if its Deployment can be "+
		"read, otherwise that of this release. Without a command, it must contain "+core.DefaultCommand[0]+".")
	term.AddDuration(cmd.Flags(), &r.options.Timeout, "drill-timeout", time.Hour, false, "How long a drill may take, its start included.")
	cmd.Flags().IntVar(&r.parallel, "parallel", 1, "How many drills run at once.")
	cmd.Flags().Int64Var(&r.user, "run-as-user", 0, "User ID of the command, instead of that of the pod that mounts the PVC.")
	cmd.Flags().Int64Var(&r.group, "fs-group", 0, "Group ID of the command and of the volume, instead of that of the pod that mounts the PVC.")
	cmd.Flags().StringVar(&choice.Options.StorageClass, "storage-class", "", "Storage class of the volume, instead of the source PVC's.")
	cmd.Flags().BoolVar(&r.allowRetain, "allow-retain", false,
		"Use a storage class with reclaimPolicy Retain, or one that you may not read: somebody has to delete the volumes afterwards.")
	f.AddDryRun(cmd, true)
	term.Ends(cmd, "a snapshot failed", "it is unknown whether all are good")
	choice.Output.AddFlags(cmd, false, term.JSON, term.YAML)
	return cmd
}

// run plans all drills before it starts the first one.
func (r *verification) run(ctx context.Context) error {
	switch {
	case r.choice.Output.Structured() && !r.f.DryRun.On():
		return errors.New("-o is for --dry-run=client")
	case r.parallel < 1:
		return errors.New("--parallel is at least 1")
	}
	if err := r.choice.Check(); err != nil {
		return err
	}
	if err := r.f.Need(ctx, "verify"); err != nil {
		return err
	}
	found, err := r.choice.Choose(ctx)
	if err != nil {
		return err
	}
	all, err := r.choice.Plan(ctx, found, "")
	if err != nil {
		return err
	}
	if r.options.Image == "" {
		if r.options.Image, err = Image(ctx, r.f); err != nil {
			return err
		}
	}
	pods := &corev1.PodList{}
	if err := r.f.List(ctx, pods, client.InNamespace(r.f.Namespace)); err != nil {
		return err
	}
	drills := make([]*drill, len(all))
	for i, p := range all {
		provisioner, err := r.checkReclaim(ctx, *p.Plan.Claim.Spec.StorageClassName)
		if err != nil {
			return err
		}
		drills[i] = &drill{of: r, snapshot: p.Snapshot, volume: core.Volume{Provisioner: provisioner}}
		drills[i].job = core.Job(p.Snapshot, p.Plan.Claim, userOf(pods.Items, p.Snapshot), r.options)
	}
	if r.f.DryRun.On() {
		return r.printJobs(drills)
	}
	return r.drill(ctx, drills)
}

// drill runs the drills, and returns an error if one failed or was inconclusive.
func (r *verification) drill(ctx context.Context, drills []*drill) error {
	if r.all = len(drills); r.all > 1 {
		fmt.Fprintf(r.f.ErrOut, "Starting %d drills, %d at a time\n", r.all, min(r.parallel, r.all))
	}
	ended := make(chan struct{})
	defer close(ended)
	go r.await(ended)
	var group errgroup.Group
	group.SetLimit(r.parallel)
	for _, d := range drills {
		group.Go(func() error {
			if d.run(ctx); !d.verdict.FailedIfOthers {
				r.tell(r.f.Out, d.snapshot, words[d.verdict.Result], d.verdict.Reason)
			}
			r.progress()
			return nil
		})
	}
	_ = group.Wait()
	r.settle(ctx, drills)
	result := func(is core.Result) bool {
		return slices.ContainsFunc(drills, func(d *drill) bool { return d.verdict.Result == is })
	}
	switch {
	case result(core.Failed):
		return term.ErrFound
	case result(core.Inconclusive):
		return fmt.Errorf("%w: nothing was learned about some snapshots", term.ErrInconclusive)
	}
	return nil
}

// words say how a drill ended.
var words = map[core.Result]string{core.Verified: "verified", core.Failed: "failed", core.Inconclusive: "inconclusive"}

func (r *verification) tell(w io.Writer, v *snapshotv1.VolumeSnapshot, what, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if reason != "" {
		what += ": " + report.Text(reason, backup.MaxDrillReason)
	}
	fmt.Fprintln(w, term.SnapshotResource+"/"+v.Name+" "+what)
}

// await says how many drills have ended, until all have: each may take an hour.
func (r *verification) await(ended <-chan struct{}) {
	for pause := term.ProgressAfter; ; pause = term.ProgressEvery {
		select {
		case <-ended:
			return
		case <-time.After(pause):
		}
		r.mu.Lock()
		fmt.Fprintf(r.f.ErrOut, "Waiting: %d of %s ended\n", r.done, term.Plural(r.all, "drill"))
		r.mu.Unlock()
	}
}

// progress says how many drills have ended: each may take an hour.
func (r *verification) progress() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done++; r.all > 1 {
		fmt.Fprintf(r.f.ErrOut, "%d of %d drills have ended\n", r.done, r.all)
	}
}

func (r *verification) printJobs(drills []*drill) error {
	if !r.choice.Output.Structured() {
		r.choice.Output.Format = term.YAML
	}
	all := make([]client.Object, len(drills))
	for i, d := range drills {
		all[i] = d.job
	}
	return r.choice.PrintObjects(all...)
}

// checkReclaim refuses a class whose volumes stay when their PVC is deleted, and returns its provisioner; empty if it is
// unknown.
func (r *verification) checkReclaim(ctx context.Context, name string) (provisioner string, err error) {
	class := &storagev1.StorageClass{}
	err = r.f.Client.Get(ctx, client.ObjectKey{Name: name}, class)
	unknown := apierrors.IsNotFound(err) || apierrors.IsForbidden(err)
	switch {
	case unknown && r.allowRetain:
		return "", nil
	case unknown: // is asked for here, and not with the other permissions: a role may be of this class only, and --allow-retain does without
		return "", fmt.Errorf("whether volumes of drills would stay is unknown; use --allow-retain, or a StorageClass that you may get: %w", err)
	case err != nil:
		return "", err
	case !r.allowRetain && ptr.Deref(class.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete) == corev1.PersistentVolumeReclaimRetain:
		return "", fmt.Errorf("StorageClass %s has reclaimPolicy Retain, so the volumes of drills would stay: "+
			"name another one with --storage-class, or use --allow-retain and delete them", name)
	}
	return class.Provisioner, nil
}

// userOf returns the pod that mounts the source PVC of a snapshot now; nil if there is none.
func userOf(pods []corev1.Pod, v *snapshotv1.VolumeSnapshot) *corev1.Pod {
	for i := range pods {
		if pods[i].Status.Phase != corev1.PodRunning {
			continue
		}
		for _, volume := range pods[i].Spec.Volumes {
			if c := volume.PersistentVolumeClaim; c != nil && c.ClaimName == backup.ClaimName(v) {
				return &pods[i]
			}
		}
	}
	return nil
}

// NewReadData is the default command of a drill. It runs in the drill's pod.
func NewReadData(f *term.Factory) *cobra.Command {
	return &cobra.Command{
		Use: "read-data PATH", Hidden: true, Args: cobra.ExactArgs(1),
		Short:       "Read all data, in the pod of a drill",
		Annotations: map[string]string{term.FailsWith: strconv.Itoa(term.ExitFound)},
		RunE: func(_ *cobra.Command, args []string) error {
			files, bytes, err := core.ReadData(args[0])
			if err == nil {
				fmt.Fprintf(f.Out, "read %s with %d bytes\n", term.Plural(files, "file"), bytes)
			}
			if errors.Is(err, core.ErrDenied) {
				return fmt.Errorf("%w: %s", term.ErrInconclusive, err.Error())
			}
			return err
		},
	}
}

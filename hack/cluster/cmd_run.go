// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
)

func newRun() *cobra.Command {
	var dir dirFlag
	var kind kindFlags
	var chdir string
	cmd := &cobra.Command{
		Use:   "run [flags] -- command [args]",
		Short: "Run a command against a new cluster, then stop the cluster",
		Long: `Start a cluster in a new temporary folder, run the command with KUBECONFIG,
KUBEBUILDER_ASSETS, SNAPSCHED_CLUSTER_DIR and PATH set for it, stop the cluster
in any case, and exit with the command's exit code.

With --dir, the cluster's logs and its audit log are kept.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 {
				return errors.New("put -- before the command, as in: run -- kubectl get namespaces")
			}
			workDir, err := absPath(chdir)
			if err != nil {
				return err
			}
			return runInNewCluster(cmd.Context(), dir, kind, workDir, args)
		},
	}
	dir.add(cmd, "a new temporary one")
	kind.add(cmd)
	cmd.Flags().StringVar(&chdir, "chdir", "", "working `folder` of the command")
	return cmd
}

// runInNewCluster removes the cluster and its temporary folder on every return. After
// a SIGKILL, which runs no deferred function, the watchdog does.
func runInNewCluster(ctx context.Context, dir dirFlag, kind kindFlags, workDir string, args []string) (err error) {
	d, temporary, err := newClusterDir(dir)
	if err != nil {
		return err
	}
	w, err := startWatchdog(d, temporary)
	if err != nil {
		return err
	}
	sigs, stop := signals()
	defer stop()
	owned := true
	defer func() {
		if owned {
			_, downErr := cluster.Down(context.WithoutCancel(ctx), d, os.Stderr)
			err = errors.Join(err, downErr)
		}
		if temporary {
			err = errors.Join(err, os.RemoveAll(string(d)))
		}
		w.release()
	}()
	startCtx, cancel := cancelOnSignal(ctx, sigs)
	c, err := buildAndStart(startCtx, kind, kind.options(d, true))
	cancel()
	if err != nil {
		return err
	}
	if c.AlreadyUp {
		owned = false
		return fmt.Errorf("a cluster is already up in %s; run needs a new one", d)
	}
	return runCommand(c, workDir, args, sigs, w)
}

// newClusterDir returns the folder of the cluster and whether it is temporary.
func newClusterDir(flag dirFlag) (cluster.Dir, bool, error) {
	if flag != "" {
		d, err := flag.dir()
		return d, false, err
	}
	path, err := os.MkdirTemp("", "snapsched-")
	return cluster.Dir(path), true, err
}

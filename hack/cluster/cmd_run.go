// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
)

// envKeepLogs names the variable with the folder that logs are copied to when
// the command fails.
const envKeepLogs = "SNAPSCHED_KEEP_LOGS"

func newRun() *cobra.Command {
	var dir, chdir string
	var noCSI, withNode bool
	cmd := &cobra.Command{
		Use:   "run [flags] -- command [args]",
		Short: "Run a command against a cluster of its own, then take that down",
		Long: `Bring a cluster up in a fresh temporary folder, run the command with KUBECONFIG,
KUBEBUILDER_ASSETS, SNAPSCHED_CLUSTER_DIR and PATH set for it, take the cluster
down whatever happens, and exit with the command's exit code.

When the command fails and $SNAPSCHED_KEEP_LOGS names a folder, the cluster's
logs and its audit log are copied there.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 {
				return errors.New("put -- before the command, as in: run -- kubectl get namespaces")
			}
			work, err := resolve(chdir)
			if err != nil {
				return err
			}
			return runOwned(cmd.Context(), dir, cluster.Options{CSI: !noCSI, Node: withNode, Attached: true}, work, args)
		},
	}
	dirFlag(cmd, &dir, "a fresh temporary one")
	cmd.Flags().BoolVar(&noCSI, "no-csi", false, "no snapshot CRDs, no snapshot controllers, no driver")
	nodeFlag(cmd, &withNode)
	cmd.Flags().StringVar(&chdir, "chdir", "", "`folder` to run the command in")
	return cmd
}

// runOwned has the cluster and its folder cleaned away on every way out. For
// the way that runs no deferred function, SIGKILL, there is the janitor.
func runOwned(ctx context.Context, dir string, o cluster.Options, work string, args []string) (err error) {
	d, temporary, err := ownDir(dir)
	if err != nil {
		return err
	}
	o.Dir = d
	sweep, err := hireJanitor(d, temporary)
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
		sweep.dismiss()
	}()
	c, err := upUnlessSignalled(ctx, o, sigs)
	if err != nil {
		return err
	}
	if c.Found {
		owned = false
		return fmt.Errorf("a cluster is already up in %s; run wants one of its own", d)
	}
	err = runCommand(c, work, args, sigs, sweep)
	if err != nil {
		err = errors.Join(err, keepLogs(d))
	}
	return err
}

// ownDir is the folder of the cluster, and whether it goes in the end.
func ownDir(flag string) (cluster.Dir, bool, error) {
	if flag != "" {
		d, err := clusterDir(flag)
		return d, false, err
	}
	path, err := os.MkdirTemp("", "snapsched-")
	return cluster.Dir(path), true, err
}

func upUnlessSignalled(ctx context.Context, o cluster.Options, sigs <-chan os.Signal) (*cluster.Cluster, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	up := make(chan struct{})
	defer close(up)
	go func() {
		select {
		case <-sigs:
			cancel()
		case <-up:
		}
	}()
	return bringUp(ctx, o)
}

// keepLogs copies the logs to where the environment asks for them.
func keepLogs(d cluster.Dir) error {
	to := os.Getenv(envKeepLogs)
	if to == "" {
		return nil
	}
	to, err := resolve(to)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	files, err := filepath.Glob(d.Log("*"))
	if err != nil {
		return err
	}
	for _, f := range append(files, d.Audit()) {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(f)), b, 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintln(os.Stderr, "logs kept in", to)
	return nil
}

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

// envKeepLogs is the environment variable with the folder to which logs are copied if
// the command fails.
const envKeepLogs = "SNAPSCHED_KEEP_LOGS"

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

If the command fails and $SNAPSCHED_KEEP_LOGS is a folder, the cluster's logs and
its audit log are copied there.`,
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
	watchdog, err := startWatchdog(d, temporary)
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
		watchdog.release()
	}()
	startCtx, cancel := cancelOnSignal(ctx, sigs)
	c, err := buildAndStart(startCtx, kind.options(d, true))
	cancel()
	if err != nil {
		return err
	}
	if c.AlreadyUp {
		owned = false
		return fmt.Errorf("a cluster is already up in %s; run needs a new one", d)
	}
	if err = runCommand(c, workDir, args, sigs, watchdog); err != nil {
		err = errors.Join(err, keepLogs(d))
	}
	return err
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

// keepLogs copies the logs to the folder in envKeepLogs.
func keepLogs(d cluster.Dir) error {
	to := os.Getenv(envKeepLogs)
	if to == "" {
		return nil
	}
	to, err := absPath(to)
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
	fmt.Fprintln(os.Stderr, "logs copied to", to)
	return nil
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Demo shows SnapshotSchedule at work on a local cluster, step by step. Start it with
// "make demo": demo.sh builds it, and hack/cluster runs it against a cluster.
package main

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func main() {
	keep := flag.Bool("keep", false, "leave the operator running at the end")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Getenv("SNAPSCHED_CLUSTER_DIR"), *keep)
	cancel()
	os.Exit(code)
}

// run plays the demo on the cluster that hack/cluster has put into the environment, and returns the exit code.
func run(ctx context.Context, clusterDir string, keep bool) int {
	d := &demo{screen: newScreen(os.Stdout), operator: &operator{dir: clusterDir, keep: keep}, limit: 90 * time.Second}
	if clusterDir == "" {
		d.print("The demo needs a cluster of its own. Start it with: make demo")
		return 1
	}
	// The user's preferences and discovery cache must not change what kubectl prints.
	_, _ = os.Setenv("KUBERC", "off"), os.Setenv("KUBECACHEDIR", filepath.Join(clusterDir, "kubectl-cache"))
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err == nil {
		d.client, err = client.New(config, client.Options{Scheme: scheme})
	}
	start := time.Now()
	if err == nil {
		err = d.playAll(ctx, story)
	}
	if err != nil || !keep {
		defer d.operator.kill()
	}
	switch {
	case ctx.Err() != nil:
		d.print("\nInterrupted. The operator and the cluster are stopped and removed.")
		return 130
	case err != nil:
		d.print("\n%s", d.paint(red, "The demo failed in "+err.Error()))
		_ = d.shell(ctx, []string{"kubectl get snapsched,volumesnapshots,pvc -o wide", "tail -n 15 " + d.operator.log()})
		d.print("To keep all logs, run it again with SNAPSCHED_KEEP_LOGS=<folder>.")
		return 1
	}
	d.print("%s", d.paint(green, "All steps came true, in "+time.Since(start).Round(time.Second).String()+"."))
	return 0
}

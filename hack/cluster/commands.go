// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

func (o *options) assets(ctx context.Context, _ []string) error {
	bin, err := o.build(ctx, func(c recipe.Component) bool { return c.Envtest || c.Name == recipe.CRDs })
	if err == nil {
		fmt.Println(bin)
	}
	return err
}

func (o *options) up(ctx context.Context, _ []string) error {
	s, err := o.buildCluster(ctx)
	if err != nil {
		return err
	}
	if err := cluster.Up(ctx, s, os.Stderr); err != nil {
		return err
	}
	flag := ""
	if o.folder != "" {
		flag = " --dir " + quote(o.folder)
	}
	fmt.Printf(`
  kubeconfig  %s
  logs        %s
  to use it   eval "$(%s env%s)"
  to stop it  %s down%s

`, s.Dir.Kubeconfig(), s.Dir.Logs(), os.Args[0], flag, os.Args[0], flag)
	return nil
}

func (o *options) down(ctx context.Context, _ []string) error {
	d, err := o.dir()
	if err != nil {
		return err
	}
	stopped, err := cluster.Down(ctx, d)
	switch {
	case err != nil:
		return err
	case stopped:
		fmt.Printf("Stopped the cluster in %s. Its logs are in %s.\n", d, d.Logs())
	default:
		fmt.Printf("No cluster is up in %s.\n", d)
	}
	return nil
}

func (o *options) env(context.Context, []string) error {
	s, err := o.state()
	if err != nil {
		return err
	}
	for _, v := range environment(s) {
		fmt.Printf("export %s=%s\n", v[0], quote(v[1]))
	}
	return nil
}

func (o *options) load(ctx context.Context, archives []string) error {
	s, err := o.state()
	if err != nil {
		return err
	}
	if !s.Node {
		return fmt.Errorf("the cluster in %s has no node; start one with up --node", s.Dir)
	}
	for _, a := range archives {
		if err := s.LoadImage(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

func checkNode(ctx context.Context, _ []string) error {
	if err := node.Check(os.TempDir()); err != nil {
		return err
	}
	if err := cluster.TryNode(ctx); err != nil {
		return err
	}
	fmt.Println("This machine allows a cluster with a node.")
	return nil
}

// environment returns the variables with which a program finds a cluster and its tools: names and values.
func environment(s cluster.State) [][2]string {
	return [][2]string{
		{"KUBECONFIG", s.Dir.Kubeconfig()},
		{"KUBEBUILDER_ASSETS", s.Bin},
		{"SNAPSCHED_CLUSTER_DIR", string(s.Dir)},
		{"PATH", s.Bin + string(os.PathListSeparator) + os.Getenv("PATH")},
	}
}

// quote quotes a word for a shell.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

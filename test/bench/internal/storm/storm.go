// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storm lets many PVCs fall due at once on a real snapshot stack, and watches what becomes of
// them. It runs in a process of its own, inside a cluster of hack/cluster.
package storm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/operator"
	"mapcontroller.dev/snapshotschedule/test/internal/record"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// Job is one storm.
type Job struct {
	// Operator is the program, Limit its --max-in-flight-per-driver.
	Operator string
	Limit    int
	// Claims is how many PVCs fall due at once.
	Claims int
	// ReadyDeadline is the schedule's.
	ReadyDeadline time.Duration
	// Dir receives the operator's log and the outcome.
	Dir string
}

const (
	argument = "storm"
	many     = "storm"
	tenant   = "tenant"
)

func (j Job) outcome() string { return filepath.Join(j.Dir, fmt.Sprintf("outcome-%d.json", j.Limit)) }

// Run runs a storm in a new cluster, whose snapshot controllers have their default rate.
func Run(ctx context.Context, root string, j Job) (o Outcome, err error) {
	self, err := os.Executable()
	if err != nil {
		return o, err
	}
	text, err := json.Marshal(j)
	if err != nil {
		return o, err
	}
	program := filepath.Join(j.Dir, "cluster") // 'go run' would not pass on the signal
	build := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	build.Dir, build.Stderr = filepath.Join(root, "hack", "cluster"), os.Stderr
	if err := build.Run(); err != nil {
		return o, fmt.Errorf("build hack/cluster: %w", err)
	}
	cmd := exec.CommandContext(ctx, program, "run", "--default-rates", "--", self, argument, string(text))
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, os.Stderr, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // the cluster must be stopped
	cmd.WaitDelay = time.Minute
	if err := cmd.Run(); err != nil {
		return o, fmt.Errorf("storm in a local cluster: %w", err)
	}
	if text, err = os.ReadFile(j.outcome()); err == nil {
		err = json.Unmarshal(text, &o)
	}
	return o, err
}

// RunIfRequested runs a storm if this process was started for that, and does not return then.
func RunIfRequested(args []string) {
	if len(args) != 2 || args[0] != argument {
		return
	}
	var j Job
	err := json.Unmarshal([]byte(args[1]), &j)
	if err == nil {
		err = j.run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "storm:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run runs the storm against the cluster of the environment.
func (j Job) run(ctx context.Context) (err error) {
	config, _, err := cluster.Find()
	if err != nil {
		return err
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: cluster.Scheme})
	if err != nil {
		return err
	}
	if err := j.install(ctx, config, c); err != nil {
		return err
	}
	for namespace, claims := range map[string]int{many: j.Claims, tenant: 1} {
		if err := createClaims(ctx, c, namespace, claims); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	started, err := j.startOperator(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, started.Stop(10*time.Second)) }()

	seen := newObserver(time.Now)
	wait, err := record.Follow(ctx, c, &snapshotv1.VolumeSnapshotList{}, seen.changed)
	if err != nil {
		return err
	}
	broken := make(chan error, 1)
	go func() { broken <- wait() }()
	if err := j.makeDue(ctx, c, seen, many); err != nil {
		return err
	}
	progress := time.NewTicker(10 * time.Second)
	defer progress.Stop()
	for asked := false; !seen.finished(many, j.Claims) || !seen.finished(tenant, 1); {
		if !asked && seen.cut(many) >= (j.Claims+2)/3 {
			asked = true
			if err := j.makeDue(ctx, c, seen, tenant); err != nil {
				return err
			}
		}
		select {
		case err := <-broken:
			return fmt.Errorf("the watch of snapshots ended: %w", err)
		case <-seen.told:
		case <-progress.C:
			fmt.Fprintf(os.Stderr, "%s  limit %d: %d of %d cut\n", time.Now().Format(time.TimeOnly), j.Limit, seen.cut(many), j.Claims)
		}
		if !started.Alive() {
			return fmt.Errorf("the operator ended: %s", started.Tail(20))
		}
	}
	text, err := json.Marshal(seen.outcome(j))
	if err != nil {
		return err
	}
	return os.WriteFile(j.outcome(), text, 0o600)
}

func (j Job) install(ctx context.Context, config *rest.Config, c client.Client) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	shipped, err := repo.Shipped(ctx, root)
	if err != nil {
		return err
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return cluster.Install(ctx, c, kube.Discovery(), shipped...)
}

// createClaims creates PVCs and waits until the driver has bound them.
func createClaims(ctx context.Context, c client.Client, namespace string, n int) error {
	if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	for i := range n {
		if err := c.Create(ctx, builders.Claim(namespace, fmt.Sprint("data-", i), nil)); err != nil {
			return err
		}
	}
	for {
		var all corev1.PersistentVolumeClaimList
		if err := c.List(ctx, &all, client.InNamespace(namespace)); err != nil {
			return err
		}
		bound := 0
		for i := range all.Items {
			if all.Items[i].Status.Phase == corev1.ClaimBound {
				bound++
			}
		}
		if bound == n {
			return nil
		}
		time.Sleep(time.Second)
	}
}

// startOperator starts the operator as the shipped ServiceAccount.
func (j Job) startOperator(ctx context.Context, config *rest.Config) (*operator.Operator, error) {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	token, err := cluster.Token(ctx, kube, cluster.SystemNamespace, cluster.ServiceAccount, 3*time.Hour)
	if err != nil {
		return nil, err
	}
	asOperator := rest.AnonymousClientConfig(config)
	asOperator.BearerToken = token
	name := fmt.Sprint("operator-", j.Limit)
	kubeconfig := filepath.Join(j.Dir, name+".kubeconfig")
	if err := cluster.WriteKubeconfig(kubeconfig, asOperator); err != nil {
		return nil, err
	}
	return operator.Start(ctx, operator.Options{
		Command: []string{j.Operator}, Kubeconfig: kubeconfig, Dir: j.Dir, Name: name,
		Flags: []string{fmt.Sprint("--max-in-flight-per-driver=", j.Limit)},
	})
}

// makeDue creates the schedule of a namespace, whose PVCs are all due then.
func (j Job) makeDue(ctx context.Context, c client.Client, seen *observer, namespace string) error {
	seen.due(namespace)
	return c.Create(ctx, builders.Schedule(namespace, "nightly", v1alpha1.SnapshotScheduleSpec{
		SnapshotInterval: "1d", ReadyDeadline: v1alpha1.Duration(fmt.Sprintf("%ds", int(j.ReadyDeadline.Seconds()))),
	}))
}

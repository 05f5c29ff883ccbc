// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package environment is what operators run in: a real API server with etcd and the garbage collector, the record of every change that
// is committed there, and a simulated CSI driver.
package environment

import (
	"context"
	"errors"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/etcd"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// Cluster is the API server, as an administrator reaches it.
type Cluster struct {
	Client client.WithWatch
	// Operator is the operator's configuration.
	Operator *rest.Config
	// Records holds every change, of all runs.
	Records *Recorder

	etcd    etcd.Client
	volumes *volumes
	// collects is closed when the garbage collector knows the kinds.
	collects chan struct{}
}

// Connect finds the local cluster, installs what is shipped and starts to record. root is the root of
// the repository.
func Connect(ctx context.Context, root string) (*Cluster, error) {
	config, state, err := cluster.Find()
	if err != nil {
		return nil, err
	}
	etcdPart, err := state.Part("etcd")
	if err != nil {
		return nil, err
	}
	c := &Cluster{collects: make(chan struct{}), etcd: etcd.Client{URL: strings.TrimSuffix(etcdPart.Probe, "/readyz")}}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	if err := install(ctx, config, kube, root); err != nil {
		return nil, err
	}
	if c.Client, err = client.NewWithWatch(config, client.Options{Scheme: cluster.Scheme}); err != nil {
		return nil, err
	}
	token, err := cluster.Token(ctx, kube, cluster.SystemNamespace, cluster.ServiceAccount, 24*time.Hour)
	if err != nil {
		return nil, err
	}
	c.Operator = rest.AnonymousClientConfig(config)
	c.Operator.BearerToken = token
	if c.volumes, err = newVolumes(ctx, c.etcd); err != nil {
		return nil, err
	}
	if c.Records, err = newRecorder(ctx, c.Client); err != nil {
		return nil, err
	}
	go c.awaitCollector(ctx)
	return c, nil
}

// install applies the CRDs of snapshots and of schedules, and config/default.
func install(ctx context.Context, config *rest.Config, kube kubernetes.Interface, root string) error {
	direct, err := client.New(config, client.Options{Scheme: cluster.Scheme})
	if err != nil {
		return err
	}
	crds, err := repo.SnapshotCRDs()
	if err != nil {
		return err
	}
	shipped, err := repo.Shipped(ctx, root)
	if err != nil {
		return err
	}
	return cluster.Install(ctx, direct, kube.Discovery(), append(crds, shipped...)...)
}

// Await calls a function until it succeeds. After the timeout it returns the last error.
func Await(ctx context.Context, timeout time.Duration, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}

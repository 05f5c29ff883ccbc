// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package environment is what operators run in: a real API server with etcd and the garbage collector, the record of every change that
// is committed there, and a simulated CSI driver.
//
//   - cluster.go: the API server, and what is installed there
//   - run.go: the namespace of a run, and what is stored in it before the run
//   - driver.go: the simulated snapshot controller and CSI driver
//   - recorder.go: the record of every change, and what a namespace holds
package environment

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
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

	// Collects waits until the garbage collector works.
	Collects func() error

	etcd etcd.Client
}

// Connect finds the local cluster, installs what is shipped and starts to record. root is the root of the repository.
func Connect(ctx context.Context, root string) (*Cluster, error) {
	config, state, err := cluster.Find()
	if err != nil {
		return nil, err
	}
	etcdPart, err := state.Part("etcd")
	if err != nil {
		return nil, err
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := &Cluster{etcd: etcd.Client{URL: strings.TrimSuffix(etcdPart.Probe, "/readyz")}, Operator: rest.AnonymousClientConfig(config)}
	if c.Client, err = client.NewWithWatch(config, client.Options{Scheme: cluster.Scheme}); err != nil {
		return nil, err
	}
	// The CRDs of snapshots and of schedules, and config/default.
	crds, err := repo.SnapshotCRDs()
	if err != nil {
		return nil, err
	}
	shipped, err := repo.Shipped(ctx, root)
	if err != nil {
		return nil, err
	}
	if err := cluster.Install(ctx, c.Client, kube.Discovery(), append(crds, shipped...)...); err != nil {
		return nil, err
	}
	if c.Operator.BearerToken, err = cluster.Token(ctx, kube, cluster.SystemNamespace, cluster.ServiceAccount, 24*time.Hour); err != nil {
		return nil, err
	}
	if c.Records, err = newRecorder(ctx, c.Client); err != nil {
		return nil, err
	}
	c.Collects = sync.OnceValue(func() error { return awaitCollector(ctx, c.Client) })
	go func() { _ = c.Collects() }() // it takes half a minute
	return c, nil
}

// awaitCollector waits until the garbage collector deletes a snapshot whose owner is gone: it discovers new kinds every 30 seconds only.
func awaitCollector(ctx context.Context, c client.Client) error {
	const name = "faults-collector"
	if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		return client.IgnoreAlreadyExists(err) // an earlier run has waited on this cluster
	}
	owner := builders.Schedule(name, "owner", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h"})
	if err := c.Create(ctx, owner); err != nil {
		return err
	}
	owned := builders.Snapshot(owner, builders.Claim(name, "none", nil), time.Now())
	owned.Labels = nil // the operator must not see it
	if err := errors.Join(c.Create(ctx, owned), c.Delete(ctx, owner)); err != nil {
		return err
	}
	return await(ctx, 3*time.Minute, func() error {
		err := c.Get(ctx, client.ObjectKeyFromObject(owned), owned)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("the garbage collector has not deleted a snapshot whose owner is gone"))
	})
}

// await calls a function until it succeeds. After the timeout it returns the last error.
func await(ctx context.Context, timeout time.Duration, try func() error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, timeout, true, func(context.Context) (bool, error) {
		last = try()
		return last == nil, nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package environment is what the campaign runs the operator in: a real API server with etcd and
// the garbage collector, the record of every change that is committed there, the operator's
// processes, and a simulated CSI driver.
package environment

import (
	"context"
	"errors"
	"net/http"
	"net/url"
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
	Client    client.WithWatch
	Upstream  *url.URL
	Transport http.RoundTripper
	// Token is the operator's, and Operator its configuration.
	Token    string
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
	if c.Upstream, err = url.Parse(config.Host); err != nil {
		return nil, err
	}
	if c.Transport, err = transport(config); err != nil {
		return nil, err
	}
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
	if c.Token, err = cluster.Token(ctx, kube, cluster.SystemNamespace, cluster.ServiceAccount, 24*time.Hour); err != nil {
		return nil, err
	}
	c.Operator = rest.AnonymousClientConfig(config)
	c.Operator.BearerToken = c.Token
	if c.volumes, err = newVolumes(ctx, c.etcd); err != nil {
		return nil, err
	}
	if c.Records, err = newRecorder(ctx, c.Client); err != nil {
		return nil, err
	}
	go c.awaitCollector(ctx)
	return c, nil
}

// transport reaches the API server without credentials: the proxy passes on the operator's.
func transport(config *rest.Config) (http.RoundTripper, error) {
	anonymous := rest.AnonymousClientConfig(config)
	tls, err := rest.TLSConfigFor(anonymous)
	if err != nil {
		return nil, err
	}
	return &http.Transport{
		TLSClientConfig: tls, DisableCompression: true,
		MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute,
	}, nil
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

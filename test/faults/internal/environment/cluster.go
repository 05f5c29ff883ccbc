// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package environment is what the campaign runs the operator in: a real API server with etcd and
// the garbage collector, the record of every change that is committed there, the operator's
// processes, and a simulated CSI driver.
package environment

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/etcd"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// Cluster is the API server, as an administrator reaches it.
type Cluster struct {
	Client    client.WithWatch
	Upstream  *url.URL
	Transport http.RoundTripper
	// Token is the operator's.
	Token string
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
	if err := install(ctx, config, root); err != nil {
		return nil, err
	}
	if c.Client, err = client.NewWithWatch(config, client.Options{Scheme: cluster.Scheme}); err != nil {
		return nil, err
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	if c.Token, err = cluster.Token(ctx, kube, cluster.SystemNamespace, cluster.ServiceAccount, 24*time.Hour); err != nil {
		return nil, err
	}
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

// install applies the CRDs of snapshots and config/default, except the Deployment.
func install(ctx context.Context, config *rest.Config, root string) error {
	direct, err := client.New(config, client.Options{Scheme: cluster.Scheme})
	if err != nil {
		return err
	}
	objects, err := repo.SnapshotCRDs()
	if err != nil {
		return err
	}
	text, err := repo.Kustomize(ctx, root, "config/default")
	if err != nil {
		return err
	}
	shipped, err := repo.Decode(text)
	if err != nil {
		return err
	}
	for _, o := range append(objects, shipped...) {
		if o.GetKind() == "Deployment" {
			continue
		}
		err := direct.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("faults"), client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	// A new kind becomes available some time after its CRD.
	for _, list := range []client.ObjectList{&v1alpha1.SnapshotScheduleList{}, &snapshotv1.VolumeSnapshotList{}} {
		if err := retry(ctx, 30*time.Second, func() error { return direct.List(ctx, list) }); err != nil {
			return err
		}
	}
	return nil
}

// retry calls a function until it succeeds. After the timeout it returns the last error.
func retry(ctx context.Context, timeout time.Duration, try func() error) error {
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

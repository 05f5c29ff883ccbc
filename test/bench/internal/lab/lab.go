// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/proc"
)

// Scheme knows every kind that the benchmarks use.
var Scheme = newScheme()

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(snapshotv1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

// Options say what a lab is made of.
type Options struct {
	// Root is the root of the repository.
	Root string
	// Assets is the folder with etcd, kube-apiserver and crds.
	Assets string
	// Audit has the API server log every request. That costs it CPU: speeds are compared
	// without.
	Audit bool
}

// Lab is an API server and etcd, seen by an administrator.
type Lab struct {
	// Client is not limited in its rate, and no part of what is measured.
	Client client.Client
	// Kubeconfig is a file for the operator's user, who may do what the shipped roles allow.
	Kubeconfig string
	// Audit is the log of requests; without Options.Audit it is empty.
	Audit Audit

	root        string
	dir         string
	environment *envtest.Environment
	http        *http.Client
	config      *rest.Config
	etcd        etcd
	server      []int
	// running counts the operators and bare clients.
	running atomic.Int32
}

// Start brings a lab up. Stop takes it down, also if Start failed.
func Start(ctx context.Context, o Options) (l *Lab, err error) {
	l = &Lab{root: o.Root}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("start etcd and kube-apiserver: %w", err), l.Stop())
		}
	}()
	if l.dir, err = os.MkdirTemp("", "snapsched-bench-"); err != nil {
		return l, err
	}
	if err := shims(l.dir, o.Assets); err != nil {
		return l, err
	}
	if err := l.startServer(o); err != nil {
		return l, err
	}
	if l.Client, err = client.New(l.config, client.Options{Scheme: Scheme}); err != nil {
		return l, err
	}
	if l.http, err = rest.HTTPClientFor(l.config); err != nil {
		return l, err
	}
	for _, name := range []string{etcdName, apiserverName} {
		pid, err := proc.Child(name)
		if err != nil {
			return l, err
		}
		l.server = append(l.server, pid)
	}
	return l, l.admitOperator(ctx)
}

func (l *Lab) startServer(o Options) error {
	l.environment = &envtest.Environment{
		CRDDirectoryPaths: []string{
			filepath.Join(o.Root, "config", "crd", "bases"),
			filepath.Join(o.Assets, "crds"),
		},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: time.Minute,
	}
	plane := &l.environment.ControlPlane
	plane.Etcd = &envtest.Etcd{Path: filepath.Join(l.dir, etcdName)}
	plane.Etcd.Configure().Set("quota-backend-bytes", "8589934592").Set("log-level", "error")
	server := plane.GetAPIServer()
	server.Path = filepath.Join(l.dir, apiserverName)
	if o.Audit {
		l.Audit = Audit(filepath.Join(l.dir, "audit.log"))
		policy := filepath.Join(l.dir, "audit-policy.json")
		if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
			return err
		}
		server.Configure().Set("audit-policy-file", policy).
			Set("audit-log-path", string(l.Audit)).Set("audit-log-maxsize", "100000")
	}
	var err error
	if l.config, err = l.environment.Start(); err != nil {
		return err
	}
	l.config.QPS = -1
	l.etcd = etcd(plane.Etcd.URL.String())
	return nil
}

// ServerCPU is what etcd and kube-apiserver have used so far.
func (l *Lab) ServerCPU() (time.Duration, error) {
	var sum time.Duration
	for _, pid := range l.server {
		used, err := proc.CPU(pid)
		if err != nil {
			return 0, err
		}
		sum += used
	}
	return sum, nil
}

// Stop ends everything and removes what it wrote.
func (l *Lab) Stop() error {
	var errs []error
	if l.environment != nil {
		errs = append(errs, l.environment.Stop())
	}
	if l.dir != "" {
		errs = append(errs, os.RemoveAll(l.dir))
	}
	return errors.Join(errs...)
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"mapcontroller.dev/snapshotschedule/test/internal/audit"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/etcd"
	"mapcontroller.dev/snapshotschedule/test/internal/process"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// server is an API server and etcd and nothing else, as an administrator reaches them.
type server struct {
	// client has no rate limit, and its requests are not measured.
	client client.WithWatch

	// audit is the log of the operator's requests, if there is one.
	audit       *audit.Log
	dir         string
	environment envtest.Environment
	etcd        etcd.Client
	// kubeconfig is a file for the operator's ServiceAccount.
	kubeconfig string
	// pids are the processes of etcd and kube-apiserver.
	pids []int
	// started counts the operators and bare clients so far, and running those that run.
	started, running atomic.Int32
}

// start starts the server in its folder, with the programs and CRDs of the assets, and installs what the operator needs. With an
// audit the server logs every request, which costs CPU: speeds are compared without it.
func (s *server) start(ctx context.Context, root, assets string, audited bool) {
	s.environment = envtest.Environment{
		CRDDirectoryPaths:        []string{filepath.Join(assets, "crds")},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: time.Minute,
		ControlPlaneStopTimeout:  time.Minute,
	}
	plane := &s.environment.ControlPlane
	plane.Etcd = &envtest.Etcd{Path: filepath.Join(assets, "etcd")}
	plane.Etcd.Configure().Set("quota-backend-bytes", "8589934592").Set("log-level", "error")
	apiserver := plane.GetAPIServer()
	apiserver.Path = filepath.Join(assets, "kube-apiserver")
	if audited {
		s.audit = &audit.Log{Path: value(audit.Enable(apiserver, s.dir)), User: cluster.OperatorUser(cluster.SystemNamespace)}
	}
	config := value(s.environment.Start())
	config.QPS = -1
	s.etcd = etcd.Client{URL: plane.Etcd.URL.String()}
	s.client = value(client.NewWithWatch(config, client.Options{Scheme: cluster.Scheme}))
	s.pids = []int{value(process.Child("etcd")), value(process.Child("kube-apiserver"))}

	// The bare client uses the operator's ServiceAccount, too, so that the API server authorizes and queues both in the same way.
	kube := value(kubernetes.NewForConfig(config))
	must(cluster.Install(ctx, s.client, kube.Discovery(), value(repo.Shipped(ctx, root))...))
	must(s.client.Create(ctx, snapshotClass()))
	operator := rest.AnonymousClientConfig(config)
	operator.BearerToken = value(cluster.Token(ctx, kube, cluster.SystemNamespace, cluster.ServiceAccount, 3*time.Hour))
	s.kubeconfig = filepath.Join(s.dir, "kubeconfig")
	must(cluster.WriteKubeconfig(s.kubeconfig, operator))
}

// stop stops etcd and kube-apiserver and removes their files.
func (s *server) stop() error { return errors.Join(s.environment.Stop(), os.RemoveAll(s.dir)) }

// namespace creates a namespace.
func (s *server) namespace(ctx context.Context, name string) error {
	return s.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// mark returns the end of the log of requests, if there is one, for since.
func (s *server) mark() audit.Mark {
	if s.audit == nil {
		return 0
	}
	return value(s.audit.Mark())
}

// since returns the operator's requests since a mark, if they are logged.
func (s *server) since(mark audit.Mark) audit.Requests {
	if s.audit == nil {
		return nil
	}
	return value(s.audit.Since(mark))
}

// cpu returns what etcd and kube-apiserver have used so far.
func (s *server) cpu() (sum time.Duration) {
	for _, pid := range s.pids {
		sum += value(process.CPU(pid))
	}
	return sum
}

// poll waits until a condition holds. An error ends the wait.
func poll(ctx context.Context, every time.Duration, done func() (bool, error)) error {
	err := wait.PollUntilContextCancel(ctx, every, true, func(context.Context) (bool, error) { return done() })
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

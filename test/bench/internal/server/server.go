// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server is what the benchmarks measure on: an API server with etcd and nothing else, objects
// that are written directly into etcd, the clients whose CPU and memory are measured, and watches that
// take next to no CPU from them.
package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

const (
	etcdName      = "etcd"
	apiserverName = "kube-apiserver"
)

// Server is an API server and etcd, as an administrator reaches them.
type Server struct {
	// Client has no rate limit, and its requests are not measured.
	Client client.WithWatch

	// audit is the log of the operator's requests, if there is one.
	audit       *audit.Log
	root        string
	dir         string
	environment *envtest.Environment
	config      *rest.Config
	etcd        etcd.Client
	// kubeconfig is a file for the operator's ServiceAccount.
	kubeconfig string
	// pids are the processes of etcd and kube-apiserver.
	pids []int
	// started counts the operators and bare clients so far, and running those that run.
	started, running atomic.Int32
}

// Start starts a server with the programs and CRDs of a folder. If that fails, it stops what it has started. With an
// audit the server logs every request, which costs CPU: speeds are compared without it.
func Start(ctx context.Context, root, assets string, audited bool) (s *Server, err error) {
	s = &Server{root: root}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("start etcd and kube-apiserver: %w", err), s.Stop())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "snapsched-bench-"); err != nil {
		return s, err
	}
	if err := s.startParts(assets, audited); err != nil {
		return s, err
	}
	if s.Client, err = client.NewWithWatch(s.config, client.Options{Scheme: cluster.Scheme}); err != nil {
		return s, err
	}
	for _, name := range []string{etcdName, apiserverName} {
		pid, err := process.Child(name)
		if err != nil {
			return s, err
		}
		s.pids = append(s.pids, pid)
	}
	return s, s.installOperator(ctx)
}

func (s *Server) startParts(assets string, audited bool) error {
	s.environment = &envtest.Environment{
		CRDDirectoryPaths:        []string{filepath.Join(assets, "crds")},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: time.Minute,
		ControlPlaneStopTimeout:  time.Minute,
	}
	plane := &s.environment.ControlPlane
	plane.Etcd = &envtest.Etcd{Path: filepath.Join(assets, etcdName)}
	plane.Etcd.Configure().Set("quota-backend-bytes", "8589934592").Set("log-level", "error")
	server := plane.GetAPIServer()
	server.Path = filepath.Join(assets, apiserverName)
	if audited {
		log, err := audit.Enable(server, s.dir)
		if err != nil {
			return err
		}
		s.audit = &audit.Log{Path: log, User: cluster.OperatorUser(cluster.SystemNamespace)}
	}
	var err error
	if s.config, err = s.environment.Start(); err != nil {
		return err
	}
	s.config.QPS = -1
	s.etcd = etcd.Client{URL: plane.Etcd.URL.String()}
	return nil
}

// Mark returns the end of the log of requests, if there is one, for Since.
func (s *Server) Mark() (audit.Mark, error) {
	if s.audit == nil {
		return 0, nil
	}
	return s.audit.Mark()
}

// Since returns the operator's requests since a mark, if they are logged.
func (s *Server) Since(mark audit.Mark) (audit.Requests, error) {
	if s.audit == nil {
		return nil, nil
	}
	return s.audit.Since(mark)
}

// CPU returns what etcd and kube-apiserver have used so far.
func (s *Server) CPU() (time.Duration, error) {
	var sum time.Duration
	for _, pid := range s.pids {
		used, err := process.CPU(pid)
		if err != nil {
			return 0, err
		}
		sum += used
	}
	return sum, nil
}

// installOperator installs what is shipped, and writes the kubeconfig of the operator's ServiceAccount. The bare
// client uses it too, so that the API server authorizes and queues both in the same way.
func (s *Server) installOperator(ctx context.Context) error {
	kube, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		return err
	}
	shipped, err := repo.Shipped(ctx, s.root)
	if err != nil {
		return err
	}
	if err := cluster.Install(ctx, s.Client, kube.Discovery(), shipped...); err != nil {
		return err
	}
	if err := s.Client.Create(ctx, snapshotClass()); err != nil {
		return err
	}
	config := rest.AnonymousClientConfig(s.config)
	config.BearerToken, err = cluster.Token(ctx, kube, cluster.SystemNamespace, cluster.ServiceAccount, 3*time.Hour)
	if err != nil {
		return err
	}
	s.kubeconfig = filepath.Join(s.dir, "kubeconfig")
	return cluster.WriteKubeconfig(s.kubeconfig, config)
}

// Namespace creates a namespace.
func (s *Server) Namespace(ctx context.Context, name string) error {
	return s.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// Stop stops etcd and kube-apiserver and removes their files.
func (s *Server) Stop() error {
	var errs []error
	if s.environment != nil {
		errs = append(errs, s.environment.Stop())
	}
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}

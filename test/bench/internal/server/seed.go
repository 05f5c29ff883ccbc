// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net/http"
	"reflect"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/etcd"
)

// Put writes objects into etcd, or overwrites them.
func (s *Server) Put(ctx context.Context, objects ...client.Object) error {
	seed := s.Seed(ctx)
	for _, o := range objects {
		seed.Put(o)
	}
	return seed.Close()
}

// Drop removes an object from etcd, whatever finalizers it has.
func (s *Server) Drop(ctx context.Context, o client.Object) error {
	key, err := etcd.Key(o)
	if err != nil {
		return err
	}
	return s.etcd.Delete(ctx, key)
}

// Clear removes all PVCs, snapshots and schedules of a namespace from etcd.
func (s *Server) Clear(ctx context.Context, namespace string) error {
	var toDelete []string
	for _, o := range []client.Object{&v1alpha1.SnapshotSchedule{}, &snapshotv1.VolumeSnapshot{}, &corev1.PersistentVolumeClaim{}} {
		o.SetNamespace(namespace)
		keys, err := s.etcd.Keys(ctx, o)
		if err != nil {
			return err
		}
		toDelete = append(toDelete, keys...)
	}
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(http.DefaultMaxIdleConnsPerHost)
	for _, key := range toDelete {
		all.Go(func() error { return s.etcd.Delete(ctx, key) })
	}
	return all.Wait()
}

// Seed writes many objects. Close returns its first error.
type Seed struct {
	server  *Server
	ctx     context.Context
	pending []client.Object
	// last is the last object of each type.
	last map[reflect.Type]client.Object
	err  error
}

// Seed returns a new Seed, which must be closed.
func (s *Server) Seed(ctx context.Context) *Seed {
	return &Seed{server: s, ctx: ctx, last: map[reflect.Type]client.Object{}}
}

// Put writes another object.
func (s *Seed) Put(o client.Object) {
	s.last[reflect.TypeOf(o)] = o
	s.pending = append(s.pending, o)
	// The objects of one transaction have the same revision. A client that starts a watch between two of them
	// misses the rest, and a running client may have to start its watch again at any time.
	if len(s.pending) == etcd.MaxObjects || s.server.running.Load() > 0 {
		s.flush()
	}
}

func (s *Seed) flush() {
	if s.err == nil && len(s.pending) > 0 {
		_, s.err = s.server.etcd.Put(s.ctx, s.pending...)
	}
	s.pending = nil
}

// Close writes the remaining objects and waits until the API server has seen all of them: it writes the
// last one of each type again, alone, and waits for that.
func (s *Seed) Close() error {
	s.flush()
	for _, o := range s.last {
		if s.err == nil {
			s.err = s.server.putAlone(s.ctx, o)
		}
	}
	return s.err
}

func (s *Server) putAlone(ctx context.Context, o client.Object) error {
	revision, err := s.etcd.Put(ctx, o)
	if err != nil {
		return err
	}
	kind, err := apiutil.GVKForObject(o, cluster.Scheme)
	if err != nil {
		return err
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return poll(ctx, func() (bool, error) {
		err := s.Client.List(ctx, list, client.InNamespace(o.GetNamespace()), client.MatchingFields{"metadata.name": o.GetName()},
			&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}})
		if apierrors.IsTooManyRequests(err) { // the API server's cache of a new kind is being filled
			return false, nil
		}
		return err == nil && len(list.Items) == 1 && list.Items[0].ResourceVersion == revision, err
	})
}

func poll(ctx context.Context, done func() (bool, error)) error {
	return wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(context.Context) (bool, error) { return done() })
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// etcd is the address of its JSON gateway. Objects are written there as the API server would
// store them (custom resources are JSON in etcd in any case): tens of thousands come to be in
// seconds, and what they look like, ages included, is free.
type etcd string

// batch is how many keys one transaction writes: etcd allows 128.
const batch = 100

type (
	etcdOp struct {
		Put    *etcdKey `json:"requestPut,omitempty"`
		Delete *etcdKey `json:"requestDeleteRange,omitempty"`
	}
	etcdKey struct {
		Key      []byte `json:"key"`
		Value    []byte `json:"value,omitempty"`
		End      []byte `json:"range_end,omitempty"`
		KeysOnly bool   `json:"keys_only,omitempty"`
	}
	etcdAnswer struct {
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
		Keys []etcdKey `json:"kvs"`
	}
)

func (e etcd) call(ctx context.Context, what string, body any) (answer etcdAnswer, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return answer, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, string(e)+"/v3/kv/"+what, bytes.NewReader(text))
	if err != nil {
		return answer, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()
	if text, err = io.ReadAll(response.Body); err != nil {
		return answer, err
	}
	if response.StatusCode != http.StatusOK {
		return answer, fmt.Errorf("etcd answers %s: %s", response.Status, text)
	}
	return answer, json.Unmarshal(text, &answer)
}

// do applies some operations at once, and returns etcd's revision after them.
func (e etcd) do(ctx context.Context, ops ...etcdOp) (revision string, err error) {
	answer, err := e.call(ctx, "txn", map[string]any{"success": ops})
	return answer.Header.Revision, err
}

// storage is where the API server keeps an object.
func storage(o client.Object) string {
	var resource string
	switch o.(type) {
	case *corev1.PersistentVolumeClaim:
		resource = "persistentvolumeclaims"
	case *snapshotv1.VolumeSnapshot:
		resource = "snapshot.storage.k8s.io/volumesnapshots"
	case *v1alpha1.SnapshotSchedule:
		resource = "snapshots.mapcontroller.dev/snapshotschedules"
	default:
		panic(fmt.Sprintf("where does the API server keep a %T?", o))
	}
	return fmt.Sprintf("/registry/%s/%s/%s", resource, o.GetNamespace(), o.GetName())
}

// Put writes objects into etcd, or writes over them.
func (l *Lab) Put(ctx context.Context, objects ...client.Object) error {
	s := l.Seed(ctx)
	for _, o := range objects {
		s.Put(o)
	}
	return s.Close()
}

// Drop removes an object from etcd, at once and whatever its finalizers.
func (l *Lab) Drop(ctx context.Context, o client.Object) error {
	_, err := l.etcd.do(ctx, etcdOp{Delete: &etcdKey{Key: []byte(storage(o))}})
	return err
}

// Clear removes all PVCs, snapshots and schedules of a namespace: one by one, for the API server
// takes it that each change has a revision of its own.
func (l *Lab) Clear(ctx context.Context, namespace string) error {
	var doomed []etcdKey
	for _, o := range []client.Object{&v1alpha1.SnapshotSchedule{}, &snapshotv1.VolumeSnapshot{}, &corev1.PersistentVolumeClaim{}} {
		o.SetNamespace(namespace)
		prefix := []byte(storage(o))
		end := bytes.Clone(prefix)
		end[len(end)-1]++ // '0' follows '/'
		found, err := l.etcd.call(ctx, "range", etcdKey{Key: prefix, End: end, KeysOnly: true})
		if err != nil {
			return err
		}
		doomed = append(doomed, found.Keys...)
	}
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(http.DefaultMaxIdleConnsPerHost)
	for _, key := range doomed {
		all.Go(func() error {
			_, err := l.etcd.do(ctx, etcdOp{Delete: &etcdKey{Key: key.Key}})
			return err
		})
	}
	return all.Wait()
}

// Seed writes many objects. Its errors come with Close.
type Seed struct {
	lab *Lab
	ctx context.Context
	ops []etcdOp
	// last is the last object of each resource.
	last map[string]client.Object
	err  error
}

// Seed begins to write. Close ends it.
func (l *Lab) Seed(ctx context.Context) *Seed {
	return &Seed{lab: l, ctx: ctx, last: map[string]client.Object{}}
}

// Put writes one more.
func (s *Seed) Put(o client.Object) {
	if s.err != nil {
		return
	}
	op, err := put(o)
	if err != nil {
		s.err = err
		return
	}
	s.last[path.Dir(storage(o))] = o
	s.ops = append(s.ops, op)
	// Many objects of one transaction have one revision. A client that begins to watch in the midst
	// of them never sees the rest, and one that runs may be dropped and begin again at any time.
	if len(s.ops) == batch || s.lab.running.Load() > 0 {
		s.flush()
	}
}

func put(o client.Object) (etcdOp, error) {
	value, err := json.Marshal(o)
	return etcdOp{Put: &etcdKey{Key: []byte(storage(o)), Value: value}}, err
}

func (s *Seed) flush() {
	if s.err == nil && len(s.ops) > 0 {
		_, s.err = s.lab.etcd.do(s.ctx, s.ops...)
	}
	s.ops = nil
}

// Close writes what is left, and waits until the API server has all of it: the last object is
// written once more, alone, and awaited.
func (s *Seed) Close() error {
	s.flush()
	for _, o := range s.last {
		if s.err == nil {
			s.err = s.lab.putAlone(s.ctx, o)
		}
	}
	return s.err
}

func (l *Lab) putAlone(ctx context.Context, o client.Object) error {
	op, err := put(o)
	if err != nil {
		return err
	}
	revision, err := l.etcd.do(ctx, op)
	if err != nil {
		return err
	}
	kind := o.GetObjectKind().GroupVersionKind()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return until(ctx, func() (bool, error) {
		err := l.Client.List(ctx, list, client.InNamespace(o.GetNamespace()), client.MatchingFields{"metadata.name": o.GetName()},
			&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}})
		if apierrors.IsTooManyRequests(err) { // its cache of a new kind is being filled
			return false, nil
		}
		return err == nil && len(list.Items) == 1 && list.Items[0].ResourceVersion == revision, err
	})
}

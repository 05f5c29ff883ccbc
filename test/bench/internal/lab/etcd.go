/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
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
		Put    *etcdPut    `json:"requestPut,omitempty"`
		Delete *etcdDelete `json:"requestDeleteRange,omitempty"`
	}
	etcdPut struct {
		Key   []byte `json:"key"`
		Value []byte `json:"value"`
	}
	etcdDelete struct {
		Key []byte `json:"key"`
		End []byte `json:"range_end,omitempty"`
	}
)

func (e etcd) do(ctx context.Context, ops []etcdOp) error {
	if len(ops) == 0 {
		return nil
	}
	body, err := json.Marshal(map[string]any{"success": ops})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, string(e)+"/v3/kv/txn", bytes.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd answers %s: %s", answer.Status, text)
	}
	return nil
}

// storage is where the API server keeps an object.
func storage(o client.Object) string {
	resource := ""
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
	return l.etcd.do(ctx, []etcdOp{{Delete: &etcdDelete{Key: []byte(storage(o))}}})
}

// Clear removes all PVCs, snapshots and schedules of a namespace.
func (l *Lab) Clear(ctx context.Context, namespace string) error {
	var ops []etcdOp
	for _, o := range []client.Object{&v1alpha1.SnapshotSchedule{}, &snapshotv1.VolumeSnapshot{}, &corev1.PersistentVolumeClaim{}} {
		o.SetNamespace(namespace)
		prefix := []byte(storage(o))
		end := bytes.Clone(prefix)
		end[len(end)-1]++ // '0' follows '/'
		ops = append(ops, etcdOp{Delete: &etcdDelete{Key: prefix, End: end}})
	}
	return l.etcd.do(ctx, ops)
}

// Seed writes many objects. Its errors come with Close.
type Seed struct {
	ctx  context.Context
	etcd etcd
	ops  []etcdOp
	err  error
}

// Seed begins to write. Close ends it.
func (l *Lab) Seed(ctx context.Context) *Seed { return &Seed{ctx: ctx, etcd: l.etcd} }

// Put writes one more.
func (s *Seed) Put(o client.Object) {
	if s.err != nil {
		return
	}
	value, err := json.Marshal(o)
	if err != nil {
		s.err = err
		return
	}
	s.ops = append(s.ops, etcdOp{Put: &etcdPut{Key: []byte(storage(o)), Value: value}})
	if len(s.ops) == batch {
		s.flush()
	}
}

func (s *Seed) flush() {
	if s.err == nil {
		s.err = s.etcd.do(s.ctx, s.ops)
	}
	s.ops = nil
}

// Close writes what is left, and tells what went wrong.
func (s *Seed) Close() error {
	s.flush()
	return s.err
}

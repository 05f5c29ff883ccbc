// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package etcd writes objects into etcd as the API server stores them. No client of the API server
// can choose a creationTimestamp, and none creates 100,000 objects in seconds.
package etcd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
)

// MaxObjects is how many objects Put takes: etcd allows 128 operations in a transaction.
const MaxObjects = 100

// Client talks to etcd's JSON gateway.
type Client struct {
	// URL is the address of the gateway.
	URL string
}

type (
	operation struct {
		Put    *key `json:"requestPut,omitempty"`
		Delete *key `json:"requestDeleteRange,omitempty"`
	}
	// JSON has bytes in base64, as the gateway expects them.
	key struct {
		Key      []byte `json:"key"`
		Value    []byte `json:"value,omitempty"`
		End      []byte `json:"range_end,omitempty"`
		KeysOnly bool   `json:"keys_only,omitempty"`
	}
	answer struct {
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
		Keys []key `json:"kvs"`
	}
)

func (c Client) call(ctx context.Context, method string, body any) (a answer, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return a, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/v3/kv/"+method, bytes.NewReader(text))
	if err != nil {
		return a, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	if text, err = io.ReadAll(response.Body); err != nil {
		return a, err
	}
	if response.StatusCode != http.StatusOK {
		return a, fmt.Errorf("etcd answers %s: %s", response.Status, text)
	}
	return a, json.Unmarshal(text, &a)
}

// Put stores objects, or overwrites them, in one transaction, and returns its revision.
func (c Client) Put(ctx context.Context, objects ...client.Object) (revision string, err error) {
	var operations []operation
	for _, o := range objects {
		k, err := Key(o)
		if err != nil {
			return "", err
		}
		value, err := cluster.JSON(o)
		if err != nil {
			return "", err
		}
		operations = append(operations, operation{Put: &key{Key: []byte(k), Value: value}})
	}
	a, err := c.call(ctx, "txn", map[string]any{"success": operations})
	return a.Header.Revision, err
}

// Delete removes a key, whatever finalizers the object has. Each call has a revision of its own: the API
// server expects that of deletions.
func (c Client) Delete(ctx context.Context, k string) error {
	_, err := c.call(ctx, "txn", map[string]any{"success": []operation{{Delete: &key{Key: []byte(k)}}}})
	return err
}

// Keys returns the keys of all objects of a kind in a namespace. The object names both.
func (c Client) Keys(ctx context.Context, o client.Object) ([]string, error) {
	prefix, err := Key(o)
	if err != nil {
		return nil, err
	}
	prefix = prefix[:len(prefix)-len(o.GetName())]
	end := []byte(prefix)
	end[len(end)-1]++ // '0' follows '/'
	a, err := c.call(ctx, "range", key{Key: []byte(prefix), End: end, KeysOnly: true})
	var keys []string
	for _, k := range a.Keys {
		keys = append(keys, string(k.Key))
	}
	return keys, err
}

// Key returns where the API server stores an object.
func Key(o client.Object) (string, error) {
	name := o.GetNamespace() + "/" + o.GetName()
	if u, ok := o.(*unstructured.Unstructured); ok && u.GroupVersionKind() == v1alpha1.GroupVersion.WithKind("SnapshotSchedule") {
		o = &v1alpha1.SnapshotSchedule{}
	}
	switch o.(type) {
	case *corev1.PersistentVolume:
		return "/registry/persistentvolumes/" + o.GetName(), nil
	case *coordinationv1.Lease:
		return "/registry/leases/" + name, nil
	case *corev1.PersistentVolumeClaim:
		return "/registry/persistentvolumeclaims/" + name, nil
	case *snapshotv1.VolumeSnapshot:
		return "/registry/snapshot.storage.k8s.io/volumesnapshots/" + name, nil
	case *snapshotv1.VolumeSnapshotContent:
		return "/registry/snapshot.storage.k8s.io/volumesnapshotcontents/" + o.GetName(), nil
	case *groupv1.VolumeGroupSnapshot:
		return "/registry/groupsnapshot.storage.k8s.io/volumegroupsnapshots/" + name, nil
	case *v1alpha1.SnapshotSchedule:
		return "/registry/snapshots.mapcontroller.dev/snapshotschedules/" + name, nil
	case *v1alpha1.ClusterSnapshotSchedule:
		return "/registry/snapshots.mapcontroller.dev/clustersnapshotschedules/" + o.GetName(), nil
	}
	return "", fmt.Errorf("no etcd key is known for a %T", o)
}

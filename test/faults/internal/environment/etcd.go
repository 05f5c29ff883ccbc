// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// etcd is written to directly for one thing only: objects that are older than
// the run. No client of the API server can choose a creationTimestamp, and
// without it a run would wait for hours for a snapshot to expire.
type etcd struct{ url string }

// put stores an object as the API server would have.
func (e etcd) put(ctx context.Context, o client.Object) error {
	key, err := storageKey(o)
	if err != nil {
		return err
	}
	value, err := stored(o)
	if err != nil {
		return err
	}
	// JSON has bytes in base64, as the gateway wants them.
	body, err := json.Marshal(map[string][]byte{"key": []byte(key), "value": value})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+"/v3/kv/put", bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("etcd did not store %s: %s: %s", key, resp.Status, text)
	}
	return nil
}

func storageKey(o client.Object) (string, error) {
	in := o.GetNamespace() + "/" + o.GetName()
	switch o.(type) {
	case *corev1.PersistentVolume:
		return "/registry/persistentvolumes/" + o.GetName(), nil
	case *corev1.PersistentVolumeClaim:
		return "/registry/persistentvolumeclaims/" + in, nil
	case *snapshotv1.VolumeSnapshot:
		return "/registry/snapshot.storage.k8s.io/volumesnapshots/" + in, nil
	case *v1alpha1.SnapshotSchedule:
		return "/registry/snapshots.mapcontroller.dev/snapshotschedules/" + in, nil
	}
	return "", fmt.Errorf("%T is not made in the past", o)
}

func stored(o client.Object) ([]byte, error) {
	gvk, err := apiutil.GVKForObject(o, Scheme)
	if err != nil {
		return nil, err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	fields["apiVersion"], fields["kind"] = gvk.GroupVersion().String(), gvk.Kind
	return json.Marshal(fields)
}

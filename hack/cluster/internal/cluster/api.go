// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"
)

// api is a minimal Kubernetes client.
type api struct {
	server string
	http   *http.Client
}

func (c *Cluster) api() (*api, error) {
	cert, err := tls.X509KeyPair(c.keys.admin.Cert, c.keys.admin.Key)
	if err != nil {
		return nil, err
	}
	return &api{server: c.State.Server, http: &http.Client{
		Timeout: 30 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{
			RootCAs: c.keys.ca.Pool(), Certificates: []tls.Certificate{cert},
		}},
	}}, nil
}

func (a *api) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, a.server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/apply-patch+yaml")
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, bytes.TrimSpace(b))
	}
	return b, err
}

// apply creates or updates an object by server-side apply.
func (a *api) apply(ctx context.Context, collection, name string, object []byte) error {
	_, err := a.do(ctx, http.MethodPatch, collection+"/"+name+"?fieldManager=local-cluster&force=true", object)
	return err
}

const crdCollection = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// applyCRDs applies the CRDs of a folder and waits until they are established.
func (a *api) applyCRDs(ctx context.Context, dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		return errors.Join(fmt.Errorf("no CRDs in %s", dir), err)
	}
	var names []string
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		var crd struct {
			Metadata struct{ Name string } `json:"metadata"`
		}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		if err := a.apply(ctx, crdCollection, crd.Metadata.Name, text); err != nil {
			return err
		}
		names = append(names, crd.Metadata.Name)
	}
	for _, n := range names {
		if err := poll(ctx, 30*time.Second, func(ctx context.Context) error {
			return a.checkCondition(ctx, crdCollection+"/"+n, "Established")
		}); err != nil {
			return err
		}
	}
	return nil
}

// checkCondition returns an error unless the condition of an object is true.
func (a *api) checkCondition(ctx context.Context, path, condition string) error {
	b, err := a.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	var o struct {
		Status struct {
			Conditions []struct{ Type, Status, Message string }
		}
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	message := ""
	for _, c := range o.Status.Conditions {
		if c.Type == condition && c.Status == "True" {
			return nil
		}
		if c.Type == condition {
			message = ": " + c.Message
		}
	}
	return fmt.Errorf("%s is not %s%s", path, condition, message)
}

// applyClasses creates the default StorageClass and VolumeSnapshotClass.
func (a *api) applyClasses(ctx context.Context) error {
	const storage, snapshots = "/apis/storage.k8s.io/v1/storageclasses", "/apis/snapshot.storage.k8s.io/v1/volumesnapshotclasses"
	if err := a.apply(ctx, storage, "mock", []byte(storageClass)); err != nil {
		return err
	}
	// An established CRD may not be served yet.
	return poll(ctx, 30*time.Second, func(ctx context.Context) error {
		return a.apply(ctx, snapshots, "mock", []byte(snapshotClass))
	})
}

const storageClass = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: mock
  annotations: {storageclass.kubernetes.io/is-default-class: "true"}
provisioner: mock.csi.k8s.io
reclaimPolicy: Delete
volumeBindingMode: Immediate
`

const snapshotClass = `
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotClass
metadata:
  name: mock
  annotations: {snapshot.storage.kubernetes.io/is-default-class: "true"}
driver: mock.csi.k8s.io
deletionPolicy: Delete
`

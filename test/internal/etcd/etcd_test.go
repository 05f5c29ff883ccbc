// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type request struct {
	path     string
	Success  []operation
	Key, End []byte
}

// gateway answers each request with a text and keeps the last one.
func gateway(t *testing.T, code int, text string) (Client, *request) {
	t.Helper()
	last := &request{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var keys key
		body, err := io.ReadAll(r.Body)
		if err := errors.Join(err, json.Unmarshal(body, last), json.Unmarshal(body, &keys)); err != nil {
			t.Error(err)
		}
		last.path, last.End = r.URL.Path, keys.End
		w.WriteHeader(code)
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	return Client{URL: server.URL}, last
}

func snapshot(name string) *snapshotv1.VolumeSnapshot {
	return &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "here", Name: name}}
}

func TestPutStoresObjectsAsTheAPIServerDoes(t *testing.T) {
	c, sent := gateway(t, http.StatusOK, `{"header":{"revision":"7"}}`)
	revision, err := c.Put(t.Context(), snapshot("a"), snapshot("b"))
	if err != nil || revision != "7" || sent.path != "/v3/kv/txn" || len(sent.Success) != 2 {
		t.Fatalf("got %s, %v; sent %+v", revision, err, sent)
	}
	put := sent.Success[0].Put
	if got := string(put.Key); got != "/registry/snapshot.storage.k8s.io/volumesnapshots/here/a" {
		t.Error(got)
	}
	for _, want := range []string{`"kind":"VolumeSnapshot"`, `"apiVersion":"snapshot.storage.k8s.io/v1"`} {
		if !strings.Contains(string(put.Value), want) {
			t.Errorf("%s is missing in %s", want, put.Value)
		}
	}
	if _, err := c.Put(t.Context(), &corev1.Pod{}); err == nil {
		t.Error("a Pod was stored under an unknown key")
	}
}

func TestKeysAreThoseOfAKindInANamespace(t *testing.T) {
	c, sent := gateway(t, http.StatusOK, `{"kvs":[{"key":"L2E="},{"key":"L2I="}]}`)
	keys, err := c.Keys(t.Context(), snapshot("ignored"))
	if err != nil || !slices.Equal(keys, []string{"/a", "/b"}) || sent.path != "/v3/kv/range" {
		t.Errorf("got %v, %v; sent %s", keys, err, sent.path)
	}
	const prefix = "/registry/snapshot.storage.k8s.io/volumesnapshots/here"
	if got, end := string(sent.Key), string(sent.End); got != prefix+"/" || end != prefix+"0" {
		t.Errorf("asked from %s to %s", got, end)
	}
}

func TestErrorsOfEtcdAreReturned(t *testing.T) {
	c, _ := gateway(t, http.StatusBadRequest, "no space")
	if err := c.Delete(t.Context(), "/a"); err == nil || !strings.Contains(err.Error(), "no space") {
		t.Errorf("got %v", err)
	}
}

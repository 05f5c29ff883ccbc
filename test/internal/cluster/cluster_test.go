// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

func TestFindReadsTheState(t *testing.T) {
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	t.Setenv("KUBECONFIG", kubeconfig)
	t.Setenv(EnvDir, "")
	if _, _, err := Find(); err == nil || !strings.Contains(err.Error(), EnvDir) {
		t.Errorf("got %v without %s", err, EnvDir)
	}
	t.Setenv(EnvDir, dir)
	if err := WriteKubeconfig(kubeconfig, &rest.Config{Host: "https://127.0.0.1:1", BearerToken: "secret"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Find(); err == nil {
		t.Error("no error without cluster.json")
	}
	text := `{"node":true,"containerd":"/c","parts":[{"name":"etcd","pid":7,"probe":"http://127.0.0.1:2/readyz"}]}`
	if err := os.WriteFile(filepath.Join(dir, "cluster.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	config, state, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://127.0.0.1:1" || config.BearerToken != "secret" || config.QPS >= 0 {
		t.Errorf("got %v", config)
	}
	if p, err := state.Part("etcd"); err != nil || p.Pid != 7 || p.Probe != "http://127.0.0.1:2/readyz" || !state.Node || state.Containerd != "/c" {
		t.Errorf("got %+v, %v of %+v", p, err, state)
	}
	if p, err := state.Part("kubelet"); err == nil {
		t.Errorf("got %+v and no error", p)
	}
}

func TestJSONHasTheKindAndLeavesTheObjectAlone(t *testing.T) {
	o := &corev1.PersistentVolumeClaim{}
	text, err := JSON(o)
	if err != nil || !strings.Contains(string(text), `"kind":"PersistentVolumeClaim","apiVersion":"v1"`) {
		t.Errorf("got %s, %v", text, err)
	}
	if o.Kind != "" {
		t.Error("the object was changed")
	}
}

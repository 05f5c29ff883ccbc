// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// realServer tests the rules against a real API server.
type realServer struct{ client.Client }

var empty = map[Kind]func() client.Object{
	Schedules: func() client.Object { return &v1alpha1.SnapshotSchedule{} },
	Claims:    func() client.Object { return &corev1.PersistentVolumeClaim{} },
	Snapshots: func() client.Object { return &snapshotv1.VolumeSnapshot{} },
}

func (r realServer) create(o client.Object) (client.Object, error) {
	o = clone(o)
	return o, r.Create(context.Background(), o)
}

func (r realServer) get(k Kind, name string) (client.Object, error) {
	o := empty[k]()
	return o, r.Get(context.Background(), client.ObjectKey{Namespace: ns, Name: name}, o)
}

func (r realServer) write(k Kind, name, sub string, change func(client.Object)) (client.Object, error) {
	o, err := r.get(k, name)
	if err != nil {
		return nil, err
	}
	change(o)
	if sub == "status" {
		return o, r.Status().Update(context.Background(), o)
	}
	return o, r.Update(context.Background(), o)
}

func (r realServer) merge(k Kind, name, patch string) (client.Object, error) {
	o := empty[k]()
	o.SetNamespace(ns)
	o.SetName(name)
	return o, r.Patch(context.Background(), o, client.RawPatch(types.MergePatchType, []byte(patch)))
}

func (r realServer) remove(k Kind, name string, options metav1.DeleteOptions) error {
	o := empty[k]()
	o.SetNamespace(ns)
	o.SetName(name)
	return r.Delete(context.Background(), o, &client.DeleteOptions{
		Preconditions: options.Preconditions, PropagationPolicy: options.PropagationPolicy,
	})
}

// A real API server without controllers follows the same rules.
func TestRulesOnARealServer(t *testing.T) {
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set: make test-integration sets it")
	}
	environment := &envtest.Environment{
		CRDDirectoryPaths: []string{
			filepath.Join("..", "..", "..", "..", "..", "config", "crd", "bases"), filepath.Join(assets, "crds"),
		},
		ErrorIfCRDPathMissing: true,
	}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	config.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, snapshotv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{ns, "ending"} {
		if err := api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := api.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ending"}}); err != nil {
		t.Fatal(err)
	}
	for name, rule := range all {
		t.Run(name, func(t *testing.T) { rule(rules{T: t, api: realServer{api}}) })
	}
}

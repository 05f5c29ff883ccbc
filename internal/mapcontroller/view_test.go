// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An output whose map key was set to the empty string must not stand for the
// outputs of all keys: a tombstone would be asked about them as one series.
func TestClaimableTellsKeysApart(t *testing.T) {
	tags := Tags{MapKey: "key", Parent: "parent"}
	parent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "p-uid"}}
	output := func(name, key string, owned bool) client.Object {
		o := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, Labels: map[string]string{"key": key, "parent": "p"},
		}}
		if owned {
			o.OwnerReferences = []metav1.OwnerReference{{UID: "p-uid", Name: "p", Controller: new(true)}}
		}
		return o
	}
	engine := &testEngine{Name: "test", Tags: tags}
	store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, engine.OutputIndexers())
	for _, o := range []client.Object{
		output("a1", "a", true), output("a2", "a", false),
		output("b1", "b", true),
		output("none", "", true),
	} {
		if err := store.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	stores := NewStores()
	stores.Add(&corev1.Secret{}, store)
	v := view{Stores: stores, indexes: indexesOf(engine.Name)}
	kinds := []Output{{Object: &corev1.Secret{}}}

	for name, test := range map[string]struct {
		key  string
		want []string
	}{
		"owned and orphans of a key": {key: "a", want: []string{"a1", "a2"}},
		"another key":                {key: "b", want: []string{"b1"}},
		"the empty key":              {key: "", want: []string{"none"}},
		"a key without outputs":      {key: "c", want: nil},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := v.claimable(kinds, parent, test.key)
			if got := names(found); err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			}
		})
	}
	all, err := v.claimableAll(kinds, parent)
	if got := names(all); err != nil || !slices.Equal(got, []string{"a1", "a2", "b1", "none"}) {
		t.Errorf("all keys: got %v, %v", got, err)
	}
}

func names(objects []client.Object) []string {
	var all []string
	for _, o := range objects {
		all = append(all, o.GetName())
	}
	slices.Sort(all)
	return all
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// factoryOf returns a factory for a cluster with the namespaces shop and empty, and a schedule in shop.
func factoryOf(namespace string, errOut *bytes.Buffer) *term.Factory {
	s := &v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "nightly"}}
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	empty := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "empty"}}
	return &term.Factory{
		Namespace: namespace, IOStreams: genericiooptions.IOStreams{ErrOut: errOut},
		Client: fake.NewClientBuilder().WithScheme(term.Scheme).WithObjects(s, shop, empty).
			WithIndex(s, metav1.ObjectNameField, func(o client.Object) []string { return []string{o.GetName()} }).Build(),
	}
}

// Contract: CLI-40.
func TestAMissingScheduleNamesWhatThereIs(t *testing.T) {
	for name, c := range map[string]struct{ namespace, schedule, want string }{
		"another name":         {"shop", "weekly", `"weekly" not found in namespace shop: it has nightly`},
		"another namespace":    {"empty", "nightly", `"nightly" not found in namespace empty, but in namespace shop`},
		"nothing at all":       {"empty", "weekly", `"weekly" not found`},
		"a mistyped namespace": {"shpo", "nightly", `"nightly" not found: there is no namespace shpo`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadSchedule(t.Context(), factoryOf(c.namespace, nil), c.schedule)
			if !apierrors.IsNotFound(err) || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// Who has forgotten that a snapshot has a name of its own learns where to find it.
func TestAPVCIsNoSnapshot(t *testing.T) {
	f := factoryOf("shop", nil)
	if err := f.Client.Create(t.Context(), &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"db": `"db" not found; it is a PVC: kubectl snapsched list -n shop --pvc db`, "web": `"web" not found`} {
		if _, err := GetSnapshot(t.Context(), f, name); !apierrors.IsNotFound(err) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Contract: CLI-40.
func TestNothingFoundInAMistypedNamespaceIsAnError(t *testing.T) {
	for namespace, found := range map[string]bool{"empty": true, "shpo": false} {
		var out bytes.Buffer
		err := new(term.Scope).NothingFound(t.Context(), factoryOf(namespace, &out))
		if apierrors.IsNotFound(err) == found || (out.String() == "No resources found in empty namespace.\n") != found {
			t.Errorf("%s: %v, %q", namespace, err, out.String())
		}
	}
}

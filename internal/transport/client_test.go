// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestClientCreatesWithoutDecodingTheResponse(t *testing.T) {
	var path, body string
	status, answer := http.StatusCreated, "this is no object"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		path, body = r.Method+" "+r.URL.String(), string(content)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	c, err := NewClient(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}},
		client.Options{HTTPClient: server.Client(), Scheme: clientgoscheme.Scheme, Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	generic := &unstructured.Unstructured{}
	generic.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	generic.SetNamespace("ns")
	generic.SetName("generic")
	for want, o := range map[string]client.Object{
		"POST /api/v1/namespaces/ns/configmaps?fieldManager=test":  &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}},
		"POST /api/v1/namespaces?fieldManager=test":                &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
		"POST /api/v1/namespaces/ns/configmaps?fieldManager=test ": generic,
	} {
		if err := c.Create(t.Context(), o, client.FieldOwner("test")); err != nil || path != strings.TrimSpace(want) || !strings.Contains(body, `"name":"`+o.GetName()+`"`) {
			t.Errorf("error %v, request %s with %s; want %s", err, path, body, want)
		}
	}
	status, answer = http.StatusConflict, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"AlreadyExists","code":409}`
	if err := c.Create(t.Context(), generic); !apierrors.IsAlreadyExists(err) {
		t.Errorf("got %v", err)
	}
	if err := c.Create(t.Context(), &corev1.Secret{}); !meta.IsNoMatchError(err) {
		t.Errorf("a kind that is not installed: %v", err)
	}
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Normalized returns a snapshot of a namespace as JSON, without the values that differ between any two
// snapshots. It is the same for two clients that create the same objects.
func (s *Server) Normalized(ctx context.Context, namespace string) (string, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshotList"))
	if err := s.Client.List(ctx, list, client.InNamespace(namespace), client.Limit(1)); err != nil {
		return "", err
	}
	if len(list.Items) == 0 {
		return "", fmt.Errorf("namespace %s has no snapshots", namespace)
	}
	return normalize(list.Items[0].Object)
}

// varying are the values that differ. Each has a fixed length, except the resource version.
var varying = []struct {
	value *regexp.Regexp
	by    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`-\d{14}-[0-9a-z]{10}`), "-SLOT-HASH"},
	{regexp.MustCompile(`"resourceVersion":"\d+"`), `"resourceVersion":"N"`},
	{regexp.MustCompile(`claim-\d{5}`), "CLAIM"},
	{regexp.MustCompile(`"namespace":"[^"]*"`), `"namespace":"NAMESPACE"`},
}

func normalize(object map[string]any) (string, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return "", err
	}
	for _, v := range varying {
		text = v.value.ReplaceAll(text, []byte(v.by))
	}
	return string(text), nil
}

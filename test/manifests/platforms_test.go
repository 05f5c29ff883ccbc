// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// OpenShift rejects a ServiceMonitor that names a file.
func TestTheOverlayForOpenShiftUsesATokenInASecret(t *testing.T) {
	_, mine, found := strings.Cut(read(t, "docs/run/openshift.md"), "```yaml\n")
	mine, _, ends := strings.Cut(mine, "```\n")
	if !found || !ends {
		t.Fatal("docs/run/openshift.md shows no overlay")
	}
	dir := t.TempDir()
	overlay(t, dir, "mine", strings.NewReplacer("../../config/default", "%s", "../../config/monitoring", "%s").Replace(mine),
		"config/default", "config/monitoring")
	endpoints := 0
	for _, o := range build(t, filepath.Join(dir, "mine")) {
		if o.GetKind() != "ServiceMonitor" {
			continue
		}
		all, _, err := unstructured.NestedSlice(o.Object, "spec", "endpoints")
		if err != nil {
			t.Fatal(err)
		}
		for _, endpoint := range all {
			endpoints++
			fields := endpoint.(map[string]any)
			secret, _, err := unstructured.NestedString(fields, "authorization", "credentials", "name")
			if _, file := fields["bearerTokenFile"]; file || err != nil || secret != "metrics-reader" {
				t.Errorf("the ServiceMonitor has the endpoint %v: %v", fields, err)
			}
		}
	}
	if endpoints != 1 {
		t.Errorf("found %d endpoints", endpoints)
	}
}

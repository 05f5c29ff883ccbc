// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

func TestNormalizeRemovesWhatVariesAndNothingElse(t *testing.T) {
	normalized := func(namespace, claim, version string, change func(*snapshotv1.VolumeSnapshot)) string {
		now := time.Unix(1_700_000_000, 0)
		s := readySnapshot(old(builders.Schedule(namespace, "schedule", v1alpha1.SnapshotScheduleSpec{}), now), boundClaim(namespace, claim, now), now)
		s.ResourceVersion = version
		change(s)
		return normalize(s)
	}
	same := func(*snapshotv1.VolumeSnapshot) {}
	one := normalized("a", "claim-00001", "7", same)
	if other := normalized("bb", "claim-00002", "1234", same); one != other {
		t.Errorf("they differ:\n%s\n%s", one, other)
	}
	for name, change := range map[string]func(*snapshotv1.VolumeSnapshot){
		"no labels":       func(s *snapshotv1.VolumeSnapshot) { clear(s.Labels) },
		"another manager": func(s *snapshotv1.VolumeSnapshot) { s.ManagedFields[0].Manager = "x" },
		"no owner":        func(s *snapshotv1.VolumeSnapshot) { s.OwnerReferences = nil },
		"an odd name":     func(s *snapshotv1.VolumeSnapshot) { s.Name = "x" },
	} {
		if normalized("a", "claim-00001", "7", change) == one {
			t.Errorf("%s: no difference", name)
		}
	}
}

func TestLiveHeapWaitsForTwoWholeCycles(t *testing.T) {
	cycles := 4
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "# TYPE %[1]s counter\n%[1]s %[3]d\n# TYPE %[2]s gauge\n%[2]s %[3]de+06\n", cyclesMetric, liveMetric, cycles)
		cycles++
	}))
	defer server.Close()
	if got := (&program{metrics: server.URL}).liveHeap(); got != 7e6 {
		t.Errorf("got %v", got)
	}
}

func TestManifest(t *testing.T) {
	if m, err := readManifest("../.."); err != nil || !slices.Contains(m.args, "--leader-elect") || len(m.env) == 0 {
		t.Errorf("got %+v, %v", m, err)
	}
	fromLimit := func(name, of string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: of}}}
	}
	c := corev1.Container{
		Env: []corev1.EnvVar{fromLimit("MEMORY_LIMIT", "limits.memory"), {Name: "GOGC", Value: "75"}},
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
			corev1.ResourceMemory: resource.MustParse("512Mi"), corev1.ResourceCPU: resource.MustParse("2500m"),
		}},
	}
	m, err := manifestOf(c)
	if err != nil || !slices.Equal(m.env, []string{"MEMORY_LIMIT=536870912", "GOGC=75"}) || !slices.Equal(m.processors, []string{"GOMAXPROCS=3"}) {
		t.Errorf("got %+v, %v", m, err)
	}
	c.Env = []corev1.EnvVar{fromLimit("GOMAXPROCS", "limits.cpu")}
	if m, err := manifestOf(c); err == nil {
		t.Errorf("got %+v and no error", m)
	}
}

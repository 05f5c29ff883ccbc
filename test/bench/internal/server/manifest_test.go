// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestReadManifest(t *testing.T) {
	m, err := ReadManifest("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(m.Args, "--leader-elect") {
		t.Errorf("args: %v", m.Args)
	}
	if !slices.ContainsFunc(m.Env, func(e string) bool { return strings.HasPrefix(e, "MEMORY_LIMIT=") }) {
		t.Errorf("env: %v", m.Env)
	}
}

func TestManifestOf(t *testing.T) {
	fromLimit := func(name, of string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: of}}}
	}
	c := corev1.Container{
		Args: []string{"--leader-elect"},
		Env:  []corev1.EnvVar{fromLimit("MEMORY_LIMIT", "limits.memory"), {Name: "GOGC", Value: "75"}},
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
			corev1.ResourceMemory: resource.MustParse("512Mi"), corev1.ResourceCPU: resource.MustParse("2500m"),
		}},
	}
	m, err := manifestOf(c)
	if want := []string{"MEMORY_LIMIT=536870912", "GOGC=75"}; err != nil || !slices.Equal(m.Env, want) {
		t.Errorf("got %v, %v; want %v", m.Env, err, want)
	}
	if want := []string{"GOMAXPROCS=3"}; !slices.Equal(m.Processors, want) {
		t.Errorf("got %v, want %v", m.Processors, want)
	}
	c.Resources.Limits[corev1.ResourceCPU] = resource.MustParse("100m")
	if m, _ := manifestOf(c); !slices.Contains(m.Processors, "GOMAXPROCS=2") {
		t.Errorf("got %v for a limit of a tenth of a CPU", m.Processors)
	}
	c.Env = []corev1.EnvVar{fromLimit("GOMAXPROCS", "limits.cpu")}
	if m, err := manifestOf(c); err == nil {
		t.Errorf("got %v and no error", m)
	}
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// manifest is what the shipped manifest starts the operator's container with.
type manifest struct {
	args []string
	// env has the variables that bound its memory, such as MEMORY_LIMIT and GOGC.
	env []string
	// processors is the GOMAXPROCS that Go derives from the container's CPU limit. It is empty without a limit.
	processors []string
}

// readManifest reads config/manager/manager.yaml.
func readManifest(root string) (m manifest, err error) {
	text, err := os.ReadFile(filepath.Join(root, "config", "manager", "manager.yaml"))
	if err != nil {
		return m, err
	}
	objects, err := repo.Decode(text)
	if err != nil {
		return m, err
	}
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" })
	var d appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[i].Object, &d); err != nil {
		return m, err
	}
	return manifestOf(d.Spec.Template.Spec.Containers[0])
}

func manifestOf(c corev1.Container) (manifest, error) {
	m := manifest{args: c.Args}
	for _, e := range c.Env {
		value := e.Value
		if e.ValueFrom != nil {
			if e.ValueFrom.ResourceFieldRef == nil || e.ValueFrom.ResourceFieldRef.Resource != "limits.memory" {
				return m, fmt.Errorf("variable %s of the manager does not come from limits.memory: the benchmarks have to be extended", e.Name)
			}
			value = strconv.FormatInt(c.Resources.Limits.Memory().Value(), 10)
		}
		m.env = append(m.env, e.Name+"="+value)
	}
	if cpu := c.Resources.Limits.Cpu(); !cpu.IsZero() {
		// Go uses at least two processors under a limit.
		m.processors = []string{fmt.Sprintf("GOMAXPROCS=%d", max(2, cpu.Value()))}
	}
	return m, nil
}

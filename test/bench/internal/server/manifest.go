// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Manifest is what the shipped manifest starts the operator's container with.
type Manifest struct {
	Args []string
	// Env has the variables that bound its memory, such as MEMORY_LIMIT and GOGC.
	Env []string
	// Processors is the GOMAXPROCS that Go derives from the container's CPU limit. It is empty without a limit.
	Processors []string
}

const managerContainer = "manager"

// ReadManifest reads config/manager/manager.yaml.
func ReadManifest(root string) (Manifest, error) {
	file := filepath.Join(root, "config", "manager", "manager.yaml")
	f, err := os.Open(file)
	if err != nil {
		return Manifest{}, err
	}
	defer f.Close()
	documents := yaml.NewYAMLOrJSONDecoder(f, 4096)
	for {
		var d appsv1.Deployment
		if err := documents.Decode(&d); err != nil {
			return Manifest{}, fmt.Errorf("%s has no Deployment with a container %s: %w", file, managerContainer, err)
		}
		for _, c := range d.Spec.Template.Spec.Containers {
			if d.Kind == "Deployment" && c.Name == managerContainer {
				return manifestOf(c)
			}
		}
	}
}

func manifestOf(c corev1.Container) (Manifest, error) {
	m := Manifest{Args: c.Args}
	for _, e := range c.Env {
		value := e.Value
		if e.ValueFrom != nil {
			if e.ValueFrom.ResourceFieldRef == nil || e.ValueFrom.ResourceFieldRef.Resource != "limits.memory" {
				return m, fmt.Errorf("variable %s of the manager does not come from limits.memory: the benchmarks have to be extended", e.Name)
			}
			value = strconv.FormatInt(c.Resources.Limits.Memory().Value(), 10)
		}
		m.Env = append(m.Env, e.Name+"="+value)
	}
	if cpu := c.Resources.Limits.Cpu(); !cpu.IsZero() {
		// Go uses at least two processors under a limit.
		m.Processors = []string{fmt.Sprintf("GOMAXPROCS=%d", max(2, cpu.Value()))}
	}
	return m, nil
}

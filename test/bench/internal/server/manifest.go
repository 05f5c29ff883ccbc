// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// Manifest is what the shipped manifest starts the operator's container with.
type Manifest struct {
	Args []string
	// Env has the variables that bound its memory, such as MEMORY_LIMIT and GOGC.
	Env []string
	// Processors is the GOMAXPROCS that Go derives from the container's CPU limit. It is empty without a limit.
	Processors []string
}

// ReadManifest reads config/manager/manager.yaml.
func ReadManifest(root string) (Manifest, error) {
	text, err := os.ReadFile(filepath.Join(root, "config", "manager", "manager.yaml"))
	if err != nil {
		return Manifest{}, err
	}
	objects, err := repo.Decode(text)
	if err != nil {
		return Manifest{}, err
	}
	for _, o := range objects {
		if o.GetKind() == "Deployment" {
			var d appsv1.Deployment
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &d); err != nil {
				return Manifest{}, err
			}
			return manifestOf(d.Spec.Template.Spec.Containers[0])
		}
	}
	return Manifest{}, errors.New("config/manager/manager.yaml has no Deployment")
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

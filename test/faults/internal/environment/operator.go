// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"

	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/operator"
	"mapcontroller.dev/snapshotschedule/test/internal/process"
)

// Operator is one process of the operator's program.
type Operator struct{ *operator.Operator }

// StartOperator starts a program as the operator, with the API server at a URL. Its kubeconfig and
// its log are files in dir whose names start with name.
func (c *Cluster) StartOperator(program, url, dir, name string, flags ...string) (*Operator, error) {
	kubeconfig := filepath.Join(dir, name+".kubeconfig")
	if err := cluster.WriteKubeconfig(kubeconfig, &rest.Config{Host: url}); err != nil {
		return nil, err
	}
	o, err := operator.Start(context.Background(), operator.Options{
		Command: []string{program}, Kubeconfig: kubeconfig, Flags: append([]string{"--status-interval=200ms"}, flags...),
		Dir: dir, Name: name,
	})
	if err != nil {
		return nil, err
	}
	return &Operator{Operator: o}, nil
}

// Stop ends the operator as a kubelet does. Its exit status may be due to a fault, and is ignored.
func (o *Operator) Stop() error {
	if err := o.Operator.Stop(15 * time.Second); errors.Is(err, process.ErrTimeout) {
		return err
	}
	return nil
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The annotations in which Kubernetes records the provisioner of a PVC. Anyone who may
// edit the PVC can write them.
const (
	annotationProvisioner     = "volume.kubernetes.io/storage-provisioner"
	annotationBetaProvisioner = "volume.beta.kubernetes.io/storage-provisioner"
)

// Provisioners with this prefix are plugins of Kubernetes itself, except
// noProvisioner, which stands for volumes that are provisioned by hand.
const (
	inTree        = "kubernetes.io/"
	noProvisioner = "kubernetes.io/no-provisioner"
)

// driver is the name of a storage driver, or the empty string if it is unknown. It is
// short and printable, wherever it came from.
type driver string

var csiName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)

// driverNamed returns the driver of a name. What cannot be the name of a CSI driver or
// an in-tree plugin is unknown.
func driverNamed(name string) driver {
	plugin, isInTree := strings.CutPrefix(name, inTree)
	switch {
	case name == noProvisioner || !isInTree && !csiName.MatchString(name):
		return ""
	case isInTree && !csiName.MatchString(plugin):
		return inTree
	}
	return driver(name)
}

// inTree returns whether a driver is a plugin of Kubernetes itself.
func (d driver) inTree() bool { return strings.HasPrefix(string(d), inTree) }

// String returns a driver for a message.
func (d driver) String() string {
	if d == "" {
		return "unknown"
	}
	return string(d)
}

// driverOf returns the driver of a PVC.
func driverOf(claim *corev1.PersistentVolumeClaim) driver {
	for _, key := range [...]string{annotationProvisioner, annotationBetaProvisioner} {
		if d := driverNamed(claim.Annotations[key]); d != "" {
			return d
		}
	}
	return ""
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"errors"
	"fmt"
	"slices"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Source is a VolumeSnapshot and what its restore depends on.
type Source struct {
	Snapshot *snapshotv1.VolumeSnapshot
	// Content is the content that the snapshot is bound to; nil if it is gone or may
	// not be read.
	Content     *snapshotv1.VolumeSnapshotContent
	ContentGone bool
	// Class is the snapshot's class; nil if it is gone or may not be read.
	Class *snapshotv1.VolumeSnapshotClass
	// Claim is the PVC that the snapshot was taken of; nil if it is gone.
	Claim *corev1.PersistentVolumeClaim
}

// Cluster is what a restore must fit.
type Cluster struct {
	// StorageClasses are all there are. ClassesUnknown is true if they may not be read.
	StorageClasses []storagev1.StorageClass
	ClassesUnknown bool
	// Claims are the names of the PVCs in the namespace.
	Claims map[string]bool
}

// usable returns why a snapshot can't be restored, or nil.
func (s *Source) usable() error {
	v := s.Snapshot
	if v.DeletionTimestamp != nil {
		return errors.New("it is being deleted")
	}
	if !ready(v) {
		if v.Status != nil && v.Status.Error != nil {
			return fmt.Errorf("it is not ready to use: %s", ptr.Deref(v.Status.Error.Message, "its driver reports an error"))
		}
		return errors.New("it is not ready to use")
	}
	name := ptr.Deref(v.Status.BoundVolumeSnapshotContentName, "")
	switch {
	case name == "":
		return errors.New("it is bound to no VolumeSnapshotContent, so its data is lost")
	case s.ContentGone:
		return fmt.Errorf("its VolumeSnapshotContent %s does not exist, so its data is lost", name)
	case s.Content == nil:
		return nil
	case s.Content.DeletionTimestamp != nil:
		return fmt.Errorf("its VolumeSnapshotContent %s is being deleted", name)
	case s.Content.Spec.VolumeSnapshotRef.UID != "" && s.Content.Spec.VolumeSnapshotRef.UID != v.UID:
		return fmt.Errorf("its VolumeSnapshotContent %s belongs to another VolumeSnapshot", name)
	}
	return nil
}

// driver returns the CSI driver that holds a snapshot; empty if it is unknown.
func (s *Source) driver() string {
	switch {
	case s.Content != nil:
		return s.Content.Spec.Driver
	case s.Class != nil:
		return s.Class.Driver
	}
	return ""
}

// storageClass returns the storage class of a restored PVC: the one that was asked
// for, that of the source PVC, or the one of the snapshot's driver. class is nil if
// classes may not be read.
func (s *Source) storageClass(cluster Cluster, asked string) (name string, class *storagev1.StorageClass, err error) {
	driver := s.driver()
	name = asked
	if name == "" && s.Claim != nil {
		name = ptr.Deref(s.Claim.Spec.StorageClassName, "")
	}
	if cluster.ClassesUnknown {
		if name == "" {
			return "", nil, errors.New("its storage class is unknown, because StorageClasses can't be read: name it with --storage-class")
		}
		return name, nil, nil
	}
	if i := slices.IndexFunc(cluster.StorageClasses, func(c storagev1.StorageClass) bool { return c.Name == name }); i >= 0 {
		class = &cluster.StorageClasses[i]
		if driver != "" && class.Provisioner != driver {
			return "", nil, fmt.Errorf("it belongs to driver %s, but StorageClass %s to %s: name one of %s with --storage-class",
				driver, name, class.Provisioner, driver)
		}
		return name, class, nil
	}
	if asked != "" {
		return "", nil, fmt.Errorf("StorageClass %s does not exist", asked)
	}
	class, err = ofDriver(cluster.StorageClasses, driver)
	if err != nil {
		return "", nil, err
	}
	return class.Name, class, nil
}

// ofDriver returns the only storage class of a driver, or its default one.
func ofDriver(all []storagev1.StorageClass, driver string) (*storagev1.StorageClass, error) {
	if driver == "" {
		return nil, errors.New("its driver is unknown, because its VolumeSnapshotContent can't be read: " +
			"name a storage class of its driver with --storage-class")
	}
	var found, defaults []*storagev1.StorageClass
	for i := range all {
		if all[i].Provisioner != driver {
			continue
		}
		found = append(found, &all[i])
		if metav1.HasAnnotation(all[i].ObjectMeta, "storageclass.kubernetes.io/is-default-class") &&
			all[i].Annotations["storageclass.kubernetes.io/is-default-class"] == "true" {
			defaults = append(defaults, &all[i])
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(defaults) == 1:
		return defaults[0], nil
	case len(found) == 0:
		return nil, fmt.Errorf("there is no StorageClass of its driver %s", driver)
	}
	names := make([]string, len(found))
	for i, c := range found {
		names[i] = c.Name
	}
	return nil, fmt.Errorf("its driver %s has several StorageClasses: name one with --storage-class: %v", driver, names)
}

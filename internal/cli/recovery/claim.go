// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recovery decides how snapshots are restored: which snapshot holds the
// data of a time, which PVC it becomes, and why it must not. It reads and writes
// nothing.
//
//	set.go   the snapshot of a PVC at a time, or those of all PVCs of a schedule
//	claim.go the PVC that a snapshot becomes
//	clone.go the steps to a PVC in another namespace
package recovery

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/internal/backup"
)

// Placeholders in the name of a restored PVC.
const (
	SnapshotPlaceholder = "{snapshot}"
	ClaimPlaceholder    = "{pvc}"
)

// Options are what a user may choose. Zero values mean: as the source PVC.
type Options struct {
	// Name is the name of the new PVC, with placeholders.
	Name         string
	StorageClass string
	Size         *resource.Quantity
	AccessModes  []corev1.PersistentVolumeAccessMode
}

// CheckName refuses a pattern for the name of a PVC that has another placeholder: it would be wrong for every snapshot.
func CheckName(pattern string) error {
	for _, found := range placeholders.FindAllString(pattern, -1) {
		if found != SnapshotPlaceholder && found != ClaimPlaceholder {
			return fmt.Errorf("unknown placeholder %s in --to: use %s or %s", found, ClaimPlaceholder, SnapshotPlaceholder)
		}
	}
	return nil
}

var placeholders = regexp.MustCompile(`\{[^{}]*\}`)

// Plan is a PVC to create.
type Plan struct {
	Claim *corev1.PersistentVolumeClaim
	// WaitsForConsumer: the volume is provisioned when a pod uses the PVC.
	WaitsForConsumer bool
	// Notes say what could not be checked, or had to be chosen.
	Notes []string
}

// Claim returns the PVC that a snapshot is restored to, or an error with
// every reason why it cannot be restored.
func Claim(s Source, cluster Cluster, o Options) (Plan, error) {
	v := s.Snapshot
	if err := s.usable(); err != nil {
		return Plan{}, refusal(v, err)
	}
	var plan Plan
	note := func(format string, args ...any) {
		plan.Notes = append(plan.Notes, v.Name+": "+fmt.Sprintf(format, args...))
	}

	name, nameErr := nameOf(s, cluster, o.Name)
	className, class, classErr := s.storageClass(cluster, o.StorageClass)
	size, sizeErr := s.size(o.Size)
	if err := errors.Join(nameErr, classErr, sizeErr); err != nil {
		return Plan{}, refusal(v, err)
	}
	if s.driver() == "" || class == nil {
		note("whether StorageClass %s belongs to the snapshot's driver was not checked", className)
	}
	if source := s.sourceSize(); size.Cmp(source) < 0 {
		note("size %s is less than the %s of its PVC: the driver may refuse it", &size, &source)
	}
	modes := o.AccessModes
	if len(modes) == 0 {
		if s.Claim != nil {
			modes = s.Claim.Spec.AccessModes
		} else {
			modes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
			note("its PVC is gone, so the access mode is %s", corev1.ReadWriteOnce)
		}
	}
	mode := s.volumeMode()
	if mode == nil {
		note("its volume mode is unknown, so it is %s", corev1.PersistentVolumeFilesystem)
	}

	claim := &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      modes,
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
			StorageClassName: &className,
			VolumeMode:       mode,
			DataSource: &corev1.TypedLocalObjectReference{
				APIGroup: ptr.To(snapshotv1.GroupName), Kind: "VolumeSnapshot", Name: v.Name,
			},
		},
	}
	if s.Claim != nil && ptr.Deref(s.Claim.Spec.StorageClassName, "") == className {
		claim.Spec.VolumeAttributesClassName = s.Claim.Spec.VolumeAttributesClassName
	}
	plan.Claim = claim
	plan.WaitsForConsumer = class != nil && ptr.Deref(class.VolumeBindingMode, "") == storagev1.VolumeBindingWaitForFirstConsumer
	return plan, nil
}

// refusal says about which snapshot something is said. Every reason has a line.
func refusal(v *snapshotv1.VolumeSnapshot, err error) error {
	return fmt.Errorf("VolumeSnapshot %s cannot be restored: %s", v.Name, strings.ReplaceAll(err.Error(), "\n", "; "))
}

// nameOf returns the name of the new PVC. It must be free: a restore never changes
// an existing PVC.
func nameOf(s Source, cluster Cluster, pattern string) (string, error) {
	if pattern == "" {
		pattern = SnapshotPlaceholder
	}
	claim := backup.ClaimName(s.Snapshot)
	if s.Claim != nil {
		claim = s.Claim.Name
	}
	if claim == "" && strings.Contains(pattern, ClaimPlaceholder) {
		return "", fmt.Errorf("the name of its PVC is unknown, so --to cannot contain %s", ClaimPlaceholder)
	}
	name := strings.NewReplacer(SnapshotPlaceholder, s.Snapshot.Name, ClaimPlaceholder, claim).Replace(pattern)
	if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
		return "", fmt.Errorf("%q is not a valid name of a PersistentVolumeClaim: %s", name, errs[0])
	}
	if cluster.Planned[name] {
		return "", fmt.Errorf("another snapshot is restored to PersistentVolumeClaim %s: put %s or %s into --to",
			name, ClaimPlaceholder, SnapshotPlaceholder)
	}
	if cluster.Claims[name] {
		return "", fmt.Errorf("PersistentVolumeClaim %s already exists, and a restore never changes an existing one: "+
			"choose another name with --to", name)
	}
	return name, nil
}

// sourceSize returns the size of the source PVC: the larger of what it asks for and what it has. Volumes may be larger than asked
// for, and a snapshot may have no restoreSize, or that of the data in use.
func (s *Source) sourceSize() (size resource.Quantity) {
	if s.Claim != nil {
		for _, of := range []corev1.ResourceList{s.Claim.Spec.Resources.Requests, s.Claim.Status.Capacity} {
			if has := of[corev1.ResourceStorage]; has.Cmp(size) > 0 {
				size = has
			}
		}
	}
	return size
}

// size returns the size of the new PVC, which is at least that of the snapshot.
func (s *Source) size(asked *resource.Quantity) (resource.Quantity, error) {
	least := ptr.Deref(backup.SizeOf(s.Snapshot), resource.Quantity{})
	switch size := s.sourceSize(); {
	case asked != nil && asked.Sign() <= 0:
		return size, fmt.Errorf("size %s is not positive", asked)
	case asked != nil && asked.Cmp(least) < 0:
		return size, fmt.Errorf("size %s is less than its restoreSize %s", asked, &least)
	case asked != nil:
		return *asked, nil
	case size.Cmp(least) > 0:
		return size, nil
	case least.IsZero():
		return size, errors.New("its size is unknown: set one with --size")
	}
	return least, nil
}

// volumeMode returns the mode of the snapshot's volume, or nil if it is unknown.
func (s *Source) volumeMode() *corev1.PersistentVolumeMode {
	if s.Content != nil && s.Content.Spec.SourceVolumeMode != nil {
		return s.Content.Spec.SourceVolumeMode
	}
	if s.Claim != nil {
		return s.Claim.Spec.VolumeMode
	}
	return nil
}

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
	// Claims are the names of the PVCs in the namespace, Planned those that this command is going to make.
	Claims, Planned map[string]bool
}

// usable returns why a snapshot cannot be restored, or nil.
func (s *Source) usable() error {
	v := s.Snapshot
	if v.DeletionTimestamp != nil {
		return errors.New("it is being deleted")
	}
	if !backup.Ready(v) {
		if text := backup.DriverError(v); text != "" {
			return fmt.Errorf("it is not ready to use: %s", text)
		}
		return errors.New("it is not ready to use")
	}
	switch name := backup.ContentName(v); {
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
			return "", nil, errors.New("its storage class is unknown, because StorageClasses cannot be read: name it with --storage-class")
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
		return nil, errors.New("its driver is unknown, because its VolumeSnapshotContent cannot be read: " +
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

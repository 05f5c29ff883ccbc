// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"errors"
	"fmt"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
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

// Plan is a PVC to create.
type Plan struct {
	Claim *corev1.PersistentVolumeClaim
	// WaitsForConsumer: the volume is provisioned when a pod uses the PVC.
	WaitsForConsumer bool
	// Notes say what could not be checked, or had to be chosen.
	Notes []string
}

// Claim returns the PVC that a snapshot is restored to, or an error with
// everything that speaks against it.
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
	return fmt.Errorf("VolumeSnapshot %s can't be restored: %s", v.Name, strings.ReplaceAll(err.Error(), "\n", "; "))
}

// nameOf returns the name of the new PVC. It must be free: a restore never changes
// an existing PVC.
func nameOf(s Source, cluster Cluster, pattern string) (string, error) {
	if pattern == "" {
		pattern = SnapshotPlaceholder
	}
	claim := claimName(s.Snapshot)
	if s.Claim != nil {
		claim = s.Claim.Name
	}
	if claim == "" && strings.Contains(pattern, ClaimPlaceholder) {
		return "", fmt.Errorf("the name of its PVC is unknown, so --to can't contain %s", ClaimPlaceholder)
	}
	name := strings.NewReplacer(SnapshotPlaceholder, s.Snapshot.Name, ClaimPlaceholder, claim).Replace(pattern)
	if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
		return "", fmt.Errorf("%q is no name of a PersistentVolumeClaim: %s", name, errs[0])
	}
	if cluster.Claims[name] {
		return "", fmt.Errorf("PersistentVolumeClaim %s already exists, and a restore never changes an existing one: "+
			"choose another name with --to", name)
	}
	return name, nil
}

// size returns the size of the new PVC, which is at least that of the snapshot.
func (s *Source) size(asked *resource.Quantity) (resource.Quantity, error) {
	var least resource.Quantity
	if s.Snapshot.Status.RestoreSize != nil {
		least = *s.Snapshot.Status.RestoreSize
	}
	switch {
	case asked != nil && asked.Sign() <= 0:
		return resource.Quantity{}, fmt.Errorf("size %s is not positive", asked)
	case asked != nil && asked.Cmp(least) < 0:
		return resource.Quantity{}, fmt.Errorf("size %s is less than its restoreSize %s", asked, &least)
	case asked != nil:
		return *asked, nil
	}
	if s.Claim != nil {
		if request := s.Claim.Spec.Resources.Requests[corev1.ResourceStorage]; request.Cmp(least) > 0 {
			return request, nil
		}
	}
	if least.IsZero() {
		return resource.Quantity{}, errors.New("its size is unknown: set one with --size")
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

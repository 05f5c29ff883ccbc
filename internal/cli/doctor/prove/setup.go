// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package prove

import (
	"context"
	"errors"
	"fmt"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/drivers"
)

// uidRange is the annotation of namespaces where OpenShift chooses the users of pods.
const uidRange = "openshift.io/sa.scc.uid-range"

// checkRights asks first: a proof that may not go on would leave what it made. Its namespace has no name yet.
func (p *Proof) checkRights(ctx context.Context, f *term.Factory) error {
	rights := term.Rights("", "namespaces", "get", "list", "create", "patch", "delete")
	add := func(resource string, verbs ...string) {
		rights = append(rights, term.Rights("", resource, verbs...)...)
	}
	add("persistentvolumeclaims", "list", "create", "delete")
	add("pods", "list", "create", "delete")
	add("persistentvolumes", "get", "list")
	add("volumesnapshots", "list", "create", "patch", "delete")
	add("volumesnapshotcontents", "get", "list", "create", "patch", "delete")
	add("volumesnapshotclasses", "list")
	add("storageclasses", "list")
	if p.groups {
		add("volumegroupsnapshots", "list", "create", "delete")
		add("volumegroupsnapshotclasses", "list")
		add("volumegroupsnapshotcontents", "get", "list")
	}
	if p.annotate {
		add("volumesnapshotclasses", "patch")
	}
	return f.Need(ctx, "doctor --prove", rights...)
}

// chosen is what is proven, and with what.
type chosen struct {
	storage *storagev1.StorageClass
	class   *snapshotv1.VolumeSnapshotClass
	// retains is set if one of them keeps what is deleted, ownUsers if each namespace has its own range of users.
	retains, ownUsers bool
	pending           int
	image, version    string
}

// choose finds the classes, and refuses those that keep what is deleted.
func (p *Proof) choose(ctx context.Context, f *term.Factory) (c chosen, err error) {
	if c.storage, err = p.storage(ctx, f); err != nil {
		return c, err
	}
	driver := c.storage.Provisioner
	classes, err := view.ReadClasses(ctx, f)
	if err != nil {
		return c, err
	}
	class, is := classes.DefaultOf(driver, false).(*snapshotv1.VolumeSnapshotClass)
	if c.class = class; !is {
		why, command := classes.Wrong(driver, false)
		return c, errors.New(strings.TrimSuffix(why+": "+command, ": "))
	}
	group, is := classes.DefaultOf(driver, true).(*groupv1.VolumeGroupSnapshotClass)
	if p.groups && !is {
		return c, fmt.Errorf("driver %s has no default VolumeGroupSnapshotClass: omit --groups", driver)
	}
	c.pending = classes.Pending(driver)
	keeps := p.keeps(c, group)
	if c.retains = keeps != ""; c.retains && !p.allowRetain {
		return c, fmt.Errorf("%s Retain, so what the proof deletes would stay in the storage: name another storage class with "+
			"--storage-class, or use --allow-retain and delete it", keeps)
	}
	if c.image = p.image; c.image == "" {
		if c.image, err = p.Image(ctx, f); err != nil {
			return c, err
		}
	}
	csi, _, err := view.ReadIfAllowed(ctx, f.Client, driver, &storagev1.CSIDriver{})
	if err != nil {
		return c, err
	}
	c.version = drivers.VersionOf(csi)
	other, err := view.LookUp(ctx, f.Client, client.ObjectKey{Name: corev1.NamespaceDefault}, &corev1.Namespace{})
	c.ownUsers = other != nil && other.Annotations[uidRange] != ""
	return c, err
}

// keeps says which of the classes keeps what is deleted; empty: none does.
func (p *Proof) keeps(c chosen, group *groupv1.VolumeGroupSnapshotClass) string {
	switch {
	case ptr.Deref(c.storage.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete) == corev1.PersistentVolumeReclaimRetain:
		return "StorageClass " + c.storage.Name + " has reclaimPolicy"
	case c.class.DeletionPolicy == snapshotv1.VolumeSnapshotContentRetain:
		return "VolumeSnapshotClass " + c.class.Name + " has deletionPolicy"
	case p.groups && string(group.DeletionPolicy) == string(snapshotv1.VolumeSnapshotContentRetain):
		return "VolumeGroupSnapshotClass " + group.Name + " has deletionPolicy"
	}
	return ""
}

// storage returns the StorageClass that is named, or the default one.
func (p *Proof) storage(ctx context.Context, f *term.Factory) (found *storagev1.StorageClass, err error) {
	all := &storagev1.StorageClassList{}
	if err := f.List(ctx, all); err != nil {
		return nil, err
	}
	for i := range all.Items {
		class := &all.Items[i]
		switch isDefault := class.Annotations["storageclass.kubernetes.io/is-default-class"] == "true"; {
		case p.storageClass == class.Name:
			return class, nil
		case p.storageClass == "" && isDefault && (found == nil || found.CreationTimestamp.Before(&class.CreationTimestamp)):
			found = class // of several, the API server takes the newest
		}
	}
	switch {
	case found == nil && p.storageClass != "":
		return nil, fmt.Errorf("StorageClass %s does not exist", p.storageClass)
	case found == nil:
		return nil, errors.New("there is no default StorageClass: specify one with --storage-class")
	}
	return found, nil
}

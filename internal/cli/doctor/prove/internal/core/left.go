// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"regexp"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

const prefix = "snapsched-proof-"

// Dead is how old the mark of a run is that has ended. Renew is how often a run renews it.
const (
	Dead  = 10 * time.Minute
	Renew = time.Minute
)

// Namespace returns that of a proof. No namespace that anybody works in has such a name, and nobody can rename one: whoever labels
// another namespace as a proof's has nothing deleted by it.
func Namespace(id string) string { return prefix + id }

var named = regexp.MustCompile("^" + prefix + "([a-z0-9]{5})$")

// IDOf returns of which proof a namespace is, by its name; empty: of none.
func IDOf(namespace string) string {
	if m := named.FindStringSubmatch(namespace); m != nil {
		return m[1]
	}
	return ""
}

// Mark labels an object as one of a proof, and says when it was seen to run.
func Mark(o client.Object, id string, now time.Time) {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1alpha1.LabelProof] = id
	o.SetLabels(labels)
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.AnnotationProofRenewed] = term.Timestamp(now)
	o.SetAnnotations(annotations)
}

// Owner returns of which proof a namespace or a content is that a proof has made; empty: of none. The delete of a content with policy
// Retain deletes no data.
func Owner(o client.Object) string {
	namespace := o.GetName()
	if c, is := o.(*snapshotv1.VolumeSnapshotContent); is {
		if c.Spec.DeletionPolicy != snapshotv1.VolumeSnapshotContentRetain || c.Spec.Source.SnapshotHandle == nil {
			return ""
		}
		namespace = c.Spec.VolumeSnapshotRef.Namespace
	}
	if id := o.GetLabels()[v1alpha1.LabelProof]; id == IDOf(namespace) {
		return id
	}
	return ""
}

// Alive returns whether the run that made an object still runs. A mark that is malformed, or of the future, is none.
func Alive(o client.Object, now time.Time) bool {
	at, err := time.Parse(time.RFC3339, o.GetAnnotations()[v1alpha1.AnnotationProofRenewed])
	if err != nil || at.After(now.Add(Renew)) {
		at = o.GetCreationTimestamp().Time
	}
	return now.Sub(at) < Dead
}

// asSource is the finalizer by which the provisioner protects the source of a PVC. It never takes it off if the PVC is deleted before a
// volume came of it.
const asSource = "provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection"

// Stuck returns whether a snapshot of a proof, of which no PVC waits, is kept by that finalizer alone.
func Stuck(v *snapshotv1.VolumeSnapshot) bool {
	return v.DeletionTimestamp != nil && len(v.Finalizers) == 1 && v.Finalizers[0] == asSource
}

// Release takes all finalizers off a snapshot that is stuck.
func Release(v *snapshotv1.VolumeSnapshot) change.Change {
	return change.Patch(v, map[string]any{"finalizers": nil}, nil)
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// MaxGroup is how many PVCs a group has at most.
const MaxGroup = 100

// MaxRecord is how many bytes the record of a group snapshot has at most: of 100 PVCs with
// the longest names.
const MaxRecord = 40_000

// GroupKeyLength is that of the hash in the map key of a group.
const GroupKeyLength = 26

var groupKeyPattern = regexp.MustCompile(fmt.Sprintf("^g-[a-z2-7]{%d}$", GroupKeyLength))

// IsGroupKey returns whether a map key is that of a group. A UID never is.
func IsGroupKey(key string) bool {
	return len(key) == GroupKeyLength+2 && strings.HasPrefix(key, "g-") && groupKeyPattern.MatchString(key)
}

// ClaimsOf returns the record of a group snapshot: the PVCs that it was to be taken of, and
// their UIDs. A record that is missing or malformed has none.
func ClaimsOf(o client.Object) map[string]types.UID {
	text, ok := o.GetAnnotations()[v1alpha1.AnnotationClaims]
	if _, isGroup := o.(*groupv1.VolumeGroupSnapshot); !isGroup || !ok || len(text) > MaxRecord {
		return nil
	}
	var record map[string]types.UID
	if json.Unmarshal([]byte(text), &record) != nil || len(record) > MaxGroup {
		return nil
	}
	for name, uid := range record {
		if name == "" || len(name) > validation.DNS1123SubdomainMaxLength || uid == "" || len(uid) > 64 {
			return nil
		}
	}
	return record
}

// SourcesOf implements Output.Sources.
func SourcesOf(o client.Object) []string {
	var uids []string
	for _, uid := range ClaimsOf(o) {
		uids = append(uids, string(uid))
	}
	slices.Sort(uids)
	return slices.Compact(uids)
}

// IsMember returns whether a VolumeSnapshot, labeled or not, is a member of a group snapshot: its status names the group snapshot,
// and an owner has its UID. Whoever may create VolumeSnapshots writes owners and labels. Only the snapshot controller writes the
// status.
func IsMember(o, group client.Object) bool {
	return o.GetNamespace() == group.GetNamespace() && GroupOf(o) == group.GetName() &&
		slices.ContainsFunc(o.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.UID == group.GetUID() })
}

// GroupOf returns the name of the group snapshot for which the snapshot controller made a VolumeSnapshot; empty: for none.
func GroupOf(o client.Object) string {
	if v, ok := o.(*snapshotv1.VolumeSnapshot); ok && v.Status != nil {
		return ptr.Deref(v.Status.VolumeGroupSnapshotName, "")
	}
	return ""
}

// GroupLabel returns the group snapshot that a VolumeSnapshot is labeled with, as whoever may create it can; empty if with none.
func GroupLabel(o client.Object) string { return o.GetLabels()[v1alpha1.LabelGroupSnapshot] }

// LabeledMember returns the name of the group snapshot that a VolumeSnapshot is a labeled member of; empty if it is of none.
func LabeledMember(o client.Object) string {
	if name := GroupLabel(o); name == GroupOf(o) {
		return name
	}
	return ""
}

// BoundFinalizer is set by the snapshot controller once a VolumeGroupSnapshot is bound to its
// content. Without it, the content and the data of a deleted one would stay in the storage.
const BoundFinalizer = "groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-bound-protection"

// isGroup returns whether an owner is what the snapshot controller makes members for, of
// any version. The reference is not one of a controller.
func isGroup(owner metav1.OwnerReference) bool {
	group, _, _ := strings.Cut(owner.APIVersion, "/")
	return group == "groupsnapshot.storage.k8s.io" && owner.Kind == "VolumeGroupSnapshot"
}

// Bound returns whether the snapshot controller protects a group snapshot that is bound to its content, and whether it is bound.
func Bound(v *groupv1.VolumeGroupSnapshot) (protected, bound bool) {
	return slices.Contains(v.Finalizers, BoundFinalizer), v.Status != nil && v.Status.BoundVolumeGroupSnapshotContentName != nil
}

// GroupMember returns whether a VolumeSnapshot is a member of a VolumeGroupSnapshot. Its
// data belongs to the group: the deletion of a member deletes none of it, never ends, and
// cannot be revoked.
func GroupMember(o client.Object) bool {
	if slices.ContainsFunc(o.GetOwnerReferences(), isGroup) {
		return true
	}
	v, ok := o.(*snapshotv1.VolumeSnapshot) // else only the metadata is known
	return ok && v.Status != nil && v.Status.VolumeGroupSnapshotName != nil
}

// MaxSelector is how many bytes the labels have by which a group snapshot finds its PVCs: 33 of the longest.
const MaxSelector = 13_000

// SelectorOf returns by which labels an uncut group snapshot finds its PVCs; nil if it does otherwise than the operator writes it.
func SelectorOf(v *groupv1.VolumeGroupSnapshot) *metav1.LabelSelector {
	s := v.Spec.Source.Selector
	if taken := Of(v); s == nil || len(s.MatchExpressions) > 0 || !taken.Uncut() {
		return nil
	}
	n := 0
	for key, value := range s.MatchLabels {
		n += len(key) + len(value)
	}
	if n > MaxSelector {
		return nil
	}
	return s
}

// Selects returns whether an uncut group snapshot will be cut of a PVC, too.
func Selects(v *groupv1.VolumeGroupSnapshot, claim *corev1.PersistentVolumeClaim) bool {
	s := SelectorOf(v)
	if s == nil {
		return false
	}
	for key, value := range s.MatchLabels {
		if has, ok := claim.Labels[key]; !ok || has != value {
			return false
		}
	}
	return true
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// maxGroup is how many PVCs a group has at most.
const maxGroup = 100

// maxRecord is how many bytes the record of a group snapshot has at most: of 100 PVCs with
// the longest names.
const maxRecord = 40_000

// groupKeyLength is that of the hash in the map key of a group.
const groupKeyLength = 26

var groupKeyPattern = regexp.MustCompile(fmt.Sprintf("^g-[a-z2-7]{%d}$", groupKeyLength))

// isGroupKey returns whether a map key is that of a group. A UID never is.
func isGroupKey(key string) bool {
	return len(key) == groupKeyLength+2 && strings.HasPrefix(key, "g-") && groupKeyPattern.MatchString(key)
}

// ClaimsOf returns the record of a group snapshot: the PVCs that it was to be taken of, and
// their UIDs. A record that is missing or malformed has none.
func ClaimsOf(o client.Object) map[string]types.UID {
	text, ok := o.GetAnnotations()[v1alpha1.AnnotationClaims]
	if _, isGroup := o.(*groupv1.VolumeGroupSnapshot); !isGroup || !ok || len(text) > maxRecord {
		return nil
	}
	var record map[string]types.UID
	if json.Unmarshal([]byte(text), &record) != nil || len(record) > maxGroup {
		return nil
	}
	for name, uid := range record {
		if name == "" || len(name) > validation.DNS1123SubdomainMaxLength || uid == "" || len(uid) > 64 {
			return nil
		}
	}
	return record
}

// sourcesOf implements Output.Sources.
func sourcesOf(o client.Object) []string {
	var uids []string
	for _, uid := range ClaimsOf(o) {
		uids = append(uids, string(uid))
	}
	slices.Sort(uids)
	return slices.Compact(uids)
}

// Claims returns the names and the UIDs of the PVCs that a VolumeGroupSnapshot was to be taken of.
func Claims(v *groupv1.VolumeGroupSnapshot) map[string]types.UID { return ClaimsOf(v) }

// madeFor implements Children.Made. Whoever may create VolumeSnapshots writes owners and labels. Only the
// snapshot controller writes the status.
func madeFor(output, child client.Object) bool { return groupOf(child) == output.GetName() }

// groupOf returns the name of the group snapshot for which the snapshot controller made a VolumeSnapshot; empty: for none.
func groupOf(o client.Object) string {
	if v, ok := o.(*snapshotv1.VolumeSnapshot); ok && v.Status != nil {
		return ptr.Deref(v.Status.VolumeGroupSnapshotName, "")
	}
	return ""
}

// LabeledMember returns the name of the group snapshot that a VolumeSnapshot is a labeled member of; empty if it is of none.
func LabeledMember(o client.Object) string {
	if name := o.GetLabels()[v1alpha1.LabelGroupSnapshot]; name == groupOf(o) {
		return name
	}
	return ""
}

// boundFinalizer is set by the snapshot controller once a VolumeGroupSnapshot is bound to its
// content. Without it, the content and the data of a deleted one would stay in the storage.
const boundFinalizer = "groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-bound-protection"

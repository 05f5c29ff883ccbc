// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"crypto/sha256"
	"maps"
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// groupKey implements Program.Key: the key of the group to which a PVC's labels make it
// belong, whether or not it is selected, and otherwise its UID.
func (p *program) groupKey(o client.Object) string {
	labels, by := o.GetLabels(), p.schedule.Spec.Group.ByLabel
	for key, value := range p.schedule.Spec.Selector.MatchLabels {
		if has, ok := labels[key]; !ok || has != string(value) {
			return string(o.GetUID())
		}
	}
	value, ok := labels[by]
	if by != "" && !ok {
		return string(o.GetUID())
	}
	return groupKeyOf(by, value)
}

// groupKeyOf returns the key of the group of the PVCs that have a value of a label; of all selected ones without a label.
func groupKeyOf(by, value string) string {
	sum := sha256.Sum256([]byte(by + "=" + value))
	return "g-" + nameEncoding.EncodeToString(sum[:])[:backup.GroupKeyLength]
}

// groupIndex finds the PVCs of a group by all labels that its key depends on.
func (p *program) groupIndex() *mapcontroller.KeyIndex {
	by, match := p.schedule.Spec.Group.ByLabel, p.schedule.Spec.Selector.MatchLabels
	names := slices.Sorted(maps.Keys(match))
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = "/" + string(match[name])
	}
	rest := strings.Join(values, "")
	return &mapcontroller.KeyIndex{
		Name: strings.Join(append([]string{by}, names...), ","),
		Value: func(o client.Object) string { // of no program, because those of one name share it
			labels := o.GetLabels()
			value, ok := labels[by]
			if by != "" && !ok {
				return ""
			}
			found := make([]string, 1, len(names)+1)
			found[0] = groupKeyOf(by, value)
			for _, name := range names {
				if value, ok = labels[name]; !ok {
					return ""
				}
				found = append(found, value)
			}
			return strings.Join(found, "/")
		},
		Of: func(key string) string { return key + rest },
	}
}

// Complete makes a group snapshot that is to be created one that is ready, and returns it with
// its members: what becomes of it if all goes well.
func Complete(v *groupv1.VolumeGroupSnapshot, at metav1.Time) (all []client.Object) {
	v.UID, v.CreationTimestamp, v.Finalizers = types.UID(v.Name), at, []string{backup.BoundFinalizer}
	v.Status = &groupv1.VolumeGroupSnapshotStatus{ReadyToUse: new(true), CreationTime: &at}
	for _, name := range slices.Sorted(maps.Keys(backup.ClaimsOf(v))) {
		m := &snapshotv1.VolumeSnapshot{}
		m.Namespace, m.Name, m.CreationTimestamp = v.Namespace, v.Name+"/"+name, at
		m.Labels = map[string]string{v1alpha1.LabelGroupSnapshot: v.Name}
		m.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: groupv1.SchemeGroupVersion.String(), Kind: "VolumeGroupSnapshot", Name: v.Name, UID: v.UID},
		}
		m.Spec.Source.PersistentVolumeClaimName = &name
		m.Status = &snapshotv1.VolumeSnapshotStatus{ReadyToUse: new(true), CreationTime: &at, VolumeGroupSnapshotName: &v.Name}
		all = append(all, m)
	}
	return all
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// maxNameLength is that of a SnapshotSchedule's name, which is a label value.
const maxNameLength = 63

// peerSpec is the spec of a schedule of snapscheduler.
type peerSpec struct {
	ClaimSelector v1alpha1.LabelSelector `json:"claimSelector"`
	Schedule      string                 `json:"schedule"`
	Disabled      bool                   `json:"disabled"`
	Retention     struct {
		Expires  string `json:"expires"`
		MaxCount *int32 `json:"maxCount"`
	} `json:"retention"`
	SnapshotTemplate struct {
		Labels            map[string]string `json:"labels"`
		SnapshotClassName string            `json:"snapshotClassName"`
	} `json:"snapshotTemplate"`
}

// Conversion is a schedule of snapscheduler as a SnapshotSchedule. Every note is one
// thing that has no equivalent, or that differs.
type Conversion struct {
	Schedule *v1alpha1.SnapshotSchedule
	Notes    []string
}

func (c *Conversion) note(format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
}

// Convert converts a schedule of snapscheduler. timeZone is the IANA name of the time
// zone of its operator; empty is UTC. The error says why there is no SnapshotSchedule
// that does the same.
func Convert(peer *unstructured.Unstructured, timeZone string) (Conversion, error) {
	var from peerSpec
	spec, _, _ := unstructured.NestedMap(peer.Object, "spec")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &from); err != nil {
		return Conversion{}, fmt.Errorf("read spec: %w", err)
	}
	if len(peer.GetName()) > maxNameLength {
		return Conversion{}, fmt.Errorf("its name has more than %d characters: create a SnapshotSchedule with another name", maxNameLength)
	}
	c := Conversion{Schedule: &v1alpha1.SnapshotSchedule{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "SnapshotSchedule"},
		ObjectMeta: metav1.ObjectMeta{Namespace: peer.GetNamespace(), Name: peer.GetName()},
	}}
	to := &c.Schedule.Spec
	to.Selector = from.ClaimSelector
	to.Schedule = cronLine(from.Schedule)
	to.TimeZone = timeZone
	to.Suspend = disabled(peer)
	// A deleted schedule of snapscheduler leaves its snapshots.
	to.DeletionPolicy = v1alpha1.DeletionOrphan
	c.retention(&from)
	c.template(&from)
	c.rest(peer, spec)
	if timeZone == "" {
		c.note("timeZone: the cron line is in UTC; snapscheduler used the time zone of its operator's pod: " +
			"if that is not UTC, name it with --time-zone")
	}
	if _, err := snapshots.Compile(c.Schedule); err != nil {
		return Conversion{}, err
	}
	return c, nil
}

func cronLine(line string) v1alpha1.CronLine {
	switch line {
	case "@annually":
		return "@yearly"
	case "@midnight":
		return "@daily"
	}
	return v1alpha1.CronLine(line)
}

func (c *Conversion) retention(from *peerSpec) {
	to := &c.Schedule.Spec
	if expires := from.Retention.Expires; expires != "" {
		if _, err := schedule.ParseDuration(expires); err != nil {
			c.note("retention.expires: no equivalent, so snapshots never expire by age: %s", err)
		} else {
			to.SnapshotTTL = v1alpha1.Duration(expires)
		}
	}
	if count := from.Retention.MaxCount; count != nil {
		to.Retention.MaxCount = count
		c.note("retention.maxCount: only ready snapshots count; snapscheduler counted all")
	}
	if to.SnapshotTTL != "" || to.Retention.MaxCount != nil {
		c.note("retention.minReady: 1, new: the newest ready snapshot of each PVC stays, however old it is")
	}
}

func (c *Conversion) template(from *peerSpec) {
	to := &c.Schedule.Spec.SnapshotTemplate
	for _, key := range slices.Sorted(maps.Keys(from.SnapshotTemplate.Labels)) {
		if reason := refusedLabel(key); reason != "" {
			c.note("snapshotTemplate.labels[%s]: left out: %s", key, reason)
			continue
		}
		if to.Metadata.Labels == nil {
			to.Metadata.Labels = map[string]v1alpha1.LabelValue{}
		}
		to.Metadata.Labels[key] = v1alpha1.LabelValue(from.SnapshotTemplate.Labels[key])
	}
	if class := from.SnapshotTemplate.SnapshotClassName; class != "" {
		to.Spec.VolumeSnapshotClassName = &class
	}
}

// refusedLabel returns why a label must not be on our snapshots; empty if it may.
func refusedLabel(key string) string {
	switch {
	case strings.HasPrefix(key, v1alpha1.Prefix):
		return "the prefix is reserved"
	case strings.HasPrefix(key, PeerKind.Group+"/"):
		return "snapscheduler would expire the snapshots"
	case key == "app.kubernetes.io/instance", strings.HasPrefix(key, "argocd.argoproj.io/"):
		return "a GitOps tool would prune the snapshots"
	}
	return ""
}

// known are the fields of a schedule of snapscheduler, as this program knows them.
var known = map[string][]string{
	"":                 {"claimSelector", "schedule", "disabled", "retention", "snapshotTemplate"},
	"retention":        {"expires", "maxCount"},
	"snapshotTemplate": {"labels", "snapshotClassName"},
}

// rest notes what of a schedule of snapscheduler is not converted.
func (c *Conversion) rest(peer *unstructured.Unstructured, spec map[string]any) {
	for _, parent := range slices.Sorted(maps.Keys(known)) {
		fields, prefix := spec, ""
		if parent != "" {
			fields, _, _ = unstructured.NestedMap(spec, parent)
			prefix = parent + "."
		}
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			if !slices.Contains(known[parent], field) {
				c.note("%s%s: no equivalent", prefix, field)
			}
		}
	}
	if len(peer.GetLabels()) > 0 {
		c.note("metadata.labels: left out: %s", strings.Join(slices.Sorted(maps.Keys(peer.GetLabels())), ", "))
	}
	if len(peer.GetOwnerReferences()) > 0 || len(peer.GetFinalizers()) > 0 {
		c.note("metadata: ownerReferences and finalizers are left out")
	}
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Named is a kind whose objects users name, as kubectl and this plugin print them: TYPE/NAME.
type Named struct{ kind, short, group string }

// The kinds that are named.
var (
	SnapshotNames        = Named{"VolumeSnapshot", "vs", "snapshot.storage.k8s.io"}
	GroupSnapshotNames   = Named{"VolumeGroupSnapshot", "vgs", "groupsnapshot.storage.k8s.io"}
	scheduleNames        = Named{"SnapshotSchedule", "snapsched", v1alpha1.GroupName}
	clusterScheduleNames = Named{"ClusterSnapshotSchedule", "csnapsched", v1alpha1.GroupName}
	claimNames           = Named{"PersistentVolumeClaim", "pvc", ""}
)

// namedBy are the flags that name an object. --delete of preview names a schedule.
var namedBy = map[string][]Named{
	"schedule": {scheduleNames}, "delete": {scheduleNames}, "cluster-schedule": {clusterScheduleNames}, "pvc": {claimNames},
	"snapshot": {SnapshotNames},
}

// Is returns whether a type is that of the kind: its short or long name, also of several, with the group or without.
func (k Named) Is(name string) bool {
	name, group, grouped := strings.Cut(strings.ToLower(name), ".")
	one := strings.ToLower(k.kind)
	return (name == k.short || name == one || name == one+"s") && (!grouped || group == k.group)
}

// nameOf takes the type off a name of one of some kinds.
func nameOf(text string, kinds ...Named) (string, error) {
	before, name, found := strings.Cut(text, "/")
	switch {
	case !found:
		return text, nil
	case name == "":
		return "", fmt.Errorf("%s has no name: write %sNAME", text, text)
	case slices.ContainsFunc(kinds, func(k Named) bool { return k.Is(before) }):
		return name, nil
	}
	return "", fmt.Errorf("%s is not a %s: write %s, or %s/%s", text, kinds[0].kind, name, kinds[0].short, name)
}

// OneSchedule checks that there is at most one argument, and returns the name of the schedule that it names; empty for none.
func OneSchedule(args []string) (string, error) {
	return nameOf(strings.Join(args, ""), scheduleNames)
}

// TakeTypes makes the flags of a command that name objects take a type before the name.
func TakeTypes(cmd *cobra.Command) {
	cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
		if kinds := namedBy[flag.Name]; kinds != nil {
			flag.Value = &namedValue{flag.Value, kinds}
		}
	})
}

// namedValue is the value of a flag that names one object, or several with commas between them.
type namedValue struct {
	pflag.Value
	kinds []Named
}

// Set reads the value.
func (v *namedValue) Set(text string) (err error) {
	names := strings.Split(text, ",")
	for i, name := range names {
		if names[i], err = nameOf(name, v.kinds...); err != nil {
			return err
		}
	}
	return v.Value.Set(strings.Join(names, ","))
}

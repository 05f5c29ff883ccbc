// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// nameRights adds to the error of a command that was denied something all that its user lacks: else it comes out one at a time.
// Those that ask before they begin name all of it themselves.
func nameRights(f *term.Factory, cmd *cobra.Command) {
	run := cmd.RunE
	if run == nil {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if !apierrors.IsForbidden(err) {
			return err
		}
		missing, askErr := f.Lacking(cmd.Context(), rightsOf(f, cmd, args))
		if askErr != nil || len(missing) == 0 {
			return err
		}
		return fmt.Errorf("%w\nPermissions that you do not have:\n%s", err, strings.Join(missing, "\n"))
	}
}

// rightsOf are the permissions that a command needs, whatever it finds.
func rightsOf(f *term.Factory, cmd *cobra.Command, args []string) []authorizationv1.ResourceAttributes {
	given := func(name string) bool { return cmd.Flags().Changed(name) }
	namespace, schedules := f.Namespace, "snapshotschedules"
	if given("all-namespaces") || given("cluster-schedule") {
		namespace = ""
	}
	if given("cluster-schedule") {
		schedules = "clustersnapshotschedules"
	}
	read := "list"
	if len(args) > 0 || given("pvc") {
		read = "get"
	}
	of := func(resource string, verbs ...string) []authorizationv1.ResourceAttributes {
		group := map[string]string{"volumesnapshots": snapshotv1.GroupName, "persistentvolumeclaims": ""}
		name, core := group[resource]
		if !core {
			name = v1alpha1.GroupName
		}
		return steps.Rights(namespace, name, resource, verbs...)
	}
	seen := slices.Concat(of("persistentvolumeclaims", "list"), of("volumesnapshots", "list"))
	write := func(verbs ...string) []string {
		if f.DryRun.On() {
			return verbs[:1]
		}
		return verbs
	}
	switch cmd.Name() {
	case "status", "list", "coverage", "timeline", "report", "preview":
		return append(of(schedules, read), seen...)
	case "why":
		return slices.Concat(of("volumesnapshots", "get"), of(schedules, "get"), seen)
	case "confirm", "suspend", "resume":
		return append(of(schedules, write("get", "patch")...), seen...)
	case "snapshot":
		return slices.Concat(of(schedules, write(read, "patch")...), of("persistentvolumeclaims", "list"))
	case "restore":
		return append(of("volumesnapshots", read), of("persistentvolumeclaims", write("list", "create")...)...)
	case "rollback": // it asks for what it writes, once it could read
		volumes := steps.Rights("", "", "persistentvolumes", "list", "patch")
		return slices.Concat(of("persistentvolumeclaims", "list", "create", "delete", "patch"),
			of("volumesnapshots", "list", "create", "patch", "delete"), of(schedules, "list"), volumes)
	case "hold", "unhold", "release":
		return of("volumesnapshots", write(read, "patch")...)
	}
	return nil
}

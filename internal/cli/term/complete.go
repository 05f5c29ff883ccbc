// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// completionTimeout bounds how long a shell waits for names.
const completionTimeout = 5 * time.Second

// Completion returns names for a shell.
type Completion = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective)

// CompleteSchedules completes the names of schedules.
func (f *Factory) CompleteSchedules() Completion { return f.CompleteNames(ScheduleKind) }

// CompleteSnapshots completes the names of the snapshots of schedules.
func (f *Factory) CompleteSnapshots() Completion {
	return f.CompleteNames(snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshot"), client.HasLabels{v1alpha1.LabelMapKey})
}

// CompleteOne completes the first argument only.
func CompleteOne(complete Completion) Completion {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, toComplete)
	}
}

// CompleteWorkloads completes what can be rolled back, such as statefulset/db.
func (f *Factory) CompleteWorkloads() Completion {
	return func(cmd *cobra.Command, args []string, toComplete string) (all []string, _ cobra.ShellCompDirective) {
		for _, kind := range []string{"StatefulSet", "Deployment"} {
			names, directive := f.CompleteNames(appsv1.SchemeGroupVersion.WithKind(kind))(cmd, args, toComplete)
			if directive == cobra.ShellCompDirectiveError {
				return nil, directive
			}
			for _, name := range names {
				all = append(all, strings.ToLower(kind)+"/"+name)
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteByName completes the flags that are called after what they name, and keeps a shell from offering the files of the folder where
// they are not meant: for arguments and flags that nothing is known to complete. Flags that name files say so themselves.
func (f *Factory) CompleteByName(cmd *cobra.Command) {
	byName := map[string]Completion{
		"pvc": f.CompleteNames(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim")), "schedule": f.CompleteSchedules(),
		"snapshot": f.CompleteSnapshots(), "storage-class": f.CompleteNames(storagev1.SchemeGroupVersion.WithKind("StorageClass")),
		"to-namespace": f.CompleteNames(corev1.SchemeGroupVersion.WithKind("Namespace")),
	}
	if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		_, known := cmd.GetFlagCompletionFunc(flag.Name)
		complete := cobra.NoFileCompletions
		if named := byName[flag.Name]; named != nil {
			complete = named
		}
		if _, files := flag.Annotations[cobra.BashCompFilenameExt]; !known && !files {
			_ = cmd.RegisterFlagCompletionFunc(flag.Name, complete)
		}
	})
}

// CompleteNames completes the names of a kind that were not given yet.
func (f *Factory) CompleteNames(kind schema.GroupVersionKind, opts ...client.ListOption) Completion {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		found := &metav1.PartialObjectMetadataList{}
		found.SetGroupVersionKind(kind)
		err := f.Connect(ctx)
		if err == nil {
			where := client.InNamespace(f.Namespace)
			if kind.Kind == "Namespace" || kind.Group == storagev1.GroupName {
				where = ""
			}
			err = f.List(ctx, found, append(opts, where)...)
		}
		if err != nil {
			cobra.CompDebugln(report.Line(err.Error()), true)
			return nil, cobra.ShellCompDirectiveError
		}
		var names []string
		for i := range found.Items {
			if name := found.Items[i].Name; !slices.Contains(args, name) {
				names = append(names, name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteFlags completes the values of the flags that all commands have.
func (f *Factory) CompleteFlags(root *cobra.Command) {
	_ = root.RegisterFlagCompletionFunc("namespace", f.CompleteNames(corev1.SchemeGroupVersion.WithKind("Namespace")))
	_ = root.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		config, err := f.Config.ToRawKubeConfigLoader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return slices.Collect(maps.Keys(config.Contexts)), cobra.ShellCompDirectiveNoFileComp
	})
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"maps"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
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
func (f *Factory) CompleteSchedules() Completion { return f.completeNames(scheduleKind) }

// CompleteClaims completes the names of PVCs.
func (f *Factory) CompleteClaims() Completion {
	return f.completeNames(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
}

// CompleteSnapshots completes the names of the snapshots of schedules.
func (f *Factory) CompleteSnapshots() Completion {
	return f.completeNames(snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshot"), client.HasLabels{v1alpha1.LabelMapKey})
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

// completeNames completes the names of a kind that were not given yet.
func (f *Factory) completeNames(kind schema.GroupVersionKind, opts ...client.ListOption) Completion {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		found := &metav1.PartialObjectMetadataList{}
		found.SetGroupVersionKind(kind)
		err := f.Connect()
		if err == nil {
			where := client.InNamespace(f.namespace)
			if kind.Kind == "Namespace" {
				where = ""
			}
			err = f.list(ctx, found, append(opts, where)...)
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

// completeFlags completes the values of the flags that all commands have.
func (f *Factory) completeFlags(root *cobra.Command) {
	_ = root.RegisterFlagCompletionFunc("namespace", f.completeNames(corev1.SchemeGroupVersion.WithKind("Namespace")))
	_ = root.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		config, err := f.Config.ToRawKubeConfigLoader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return slices.Collect(maps.Keys(config.Contexts)), cobra.ShellCompDirectiveNoFileComp
	})
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
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
func (f *Factory) CompleteSchedules() Completion {
	return f.completeNames(v1alpha1.GroupVersion.WithKind("SnapshotSchedule"))
}

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

func (f *Factory) completeNames(kind schema.GroupVersionKind, opts ...client.ListOption) Completion {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		names, err := f.names(ctx, kind, opts...)
		if err != nil {
			cobra.CompDebugln(report.Line(err.Error()), true)
			return nil, cobra.ShellCompDirectiveError
		}
		given := make(map[string]bool, len(args))
		for _, name := range args {
			given[name] = true
		}
		left := names[:0]
		for _, name := range names {
			if !given[name] {
				left = append(left, name)
			}
		}
		return left, cobra.ShellCompDirectiveNoFileComp
	}
}

func (f *Factory) names(ctx context.Context, kind schema.GroupVersionKind, opts ...client.ListOption) ([]string, error) {
	c, err := f.Client()
	if err != nil {
		return nil, err
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	if kind.Kind != "Namespace" {
		namespace, err := f.Namespace()
		if err != nil {
			return nil, err
		}
		opts = append(opts, client.InNamespace(namespace))
	}
	if err := Pages(ctx, c, list, opts...); err != nil {
		return nil, err
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return names, nil
}

// completeFlags completes the values of the flags that all commands have.
func (f *Factory) completeFlags(root *cobra.Command) {
	_ = root.RegisterFlagCompletionFunc("namespace", f.completeNames(corev1.SchemeGroupVersion.WithKind("Namespace")))
	fromKubeconfig := func(names func() ([]string, error)) Completion {
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			found, err := names()
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			return found, cobra.ShellCompDirectiveNoFileComp
		}
	}
	_ = root.RegisterFlagCompletionFunc("context", fromKubeconfig(func() (names []string, err error) {
		config, err := f.Config.ToRawKubeConfigLoader().RawConfig()
		for name := range config.Contexts {
			names = append(names, name)
		}
		return names, err
	}))
}

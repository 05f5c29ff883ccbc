// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/cli/rollback/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/protection"
)

// runsFor is how old the last step of a rollback may be that runs. It renews its lock each minute.
const runsFor = 5 * time.Minute

// Unfinished reads which rollbacks began more than an hour ago and have not ended, in a namespace whose PVCs were read, or in all. What
// only workloads or PersistentVolumes show is left out for users who may not list these, which unread says; any other error is a
// warning as well, because it must hide nothing else.
func Unfinished(
	ctx context.Context, f *term.Factory, namespace string, claims map[string][]client.Object, now time.Time,
) (all []protection.Rollback, unread, err error) {
	states, on := map[string]*core.State{}, map[string][]core.Noted{}
	state := func(namespace string) *core.State {
		if states[namespace] == nil {
			states[namespace] = &core.State{Namespace: namespace, Now: now, Volumes: map[string]*corev1.PersistentVolume{}}
		}
		return states[namespace]
	}
	add := func(o client.Object, kind string) {
		state(o.GetNamespace())
		on[o.GetNamespace()] = append(on[o.GetNamespace()], core.Noted{Object: o, Of: kind + o.GetName()})
	}
	for _, kind := range []string{"Deployment", "StatefulSet"} { // without pods, a PVC does not say whose it is
		workloads := &metav1.PartialObjectMetadataList{}
		workloads.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(kind + "List"))
		unread = cmp.Or(unread, listIfAllowed(ctx, f, workloads, client.InNamespace(namespace)))
		for i := range workloads.Items {
			add(&workloads.Items[i], strings.ToLower(kind)+"/")
		}
	}
	for _, found := range claims {
		for _, claim := range found {
			add(claim, "--pvc ")
		}
	}
	volumes := &corev1.PersistentVolumeList{}
	unread = cmp.Or(unread, listIfAllowed(ctx, f, volumes))
	for i := range volumes.Items {
		if v := &volumes.Items[i]; recorded(v) && (namespace == "" || v.Spec.ClaimRef.Namespace == namespace) {
			state(v.Spec.ClaimRef.Namespace).Volumes[v.Name] = v
		}
	}
	for _, in := range slices.Sorted(maps.Keys(states)) {
		if err := states[in].ReadRecords(); err != nil {
			return nil, unread, err
		}
		for _, u := range states[in].LongUnfinished(on[in]) {
			remedy := fmt.Sprintf("run the same command again to finish it, or undo it: %s rollback -n %s %s --undo",
				term.Name, term.ShellWord(in), u.Of)
			if age := now.Sub(u.Lock.Time.Time); age >= 0 && age < runsFor {
				remedy = "it runs, and took its last step " + term.Age(now, u.Lock.Time.Time) + " ago"
			}
			all = append(all, protection.Rollback{
				Namespace: in, ID: u.Lock.ID, Claims: u.Lock.Names(), BeganTime: metav1.NewTime(u.Lock.Start()), Remedy: remedy,
			})
		}
	}
	return all, unread, nil
}

func listIfAllowed(ctx context.Context, f *term.Factory, list client.ObjectList, opts ...client.ListOption) error {
	err := f.List(ctx, list, opts...)
	if err != nil && !apierrors.IsForbidden(err) {
		f.Warn("unfinished rollbacks may be missing: %s", term.MessageOf(err))
	}
	return err
}

// recorded returns whether a volume has records of a namespace. Malformed ones say nothing; rollback names them.
func recorded(v *corev1.PersistentVolume) bool {
	records, err := core.RecordsOf(v)
	return err == nil && len(records) > 0 && v.Spec.ClaimRef != nil
}

// Replaced returns the names of those volumes that a rollback has put out of use, with the data from before it.
func Replaced(volumes []corev1.PersistentVolume) sets.Set[string] {
	names := sets.New[string]()
	for i := range volumes {
		records, err := core.RecordsOf(&volumes[i])
		if err != nil {
			continue // it proves nothing
		}
		for _, r := range records {
			names.Insert(r.Volume)
		}
	}
	return names
}

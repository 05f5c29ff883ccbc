// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// Run is one run of a workload, in a namespace of its own.
type Run struct {
	*Cluster
	Namespace string
	// Now is when the run was prepared, in whole seconds: ages are counted from it.
	Now    time.Time
	Driver *Driver
	// StopOperator and StartOperator are the upgrade of a workload.
	StopOperator, StartOperator func(ctx context.Context) error

	first     int64
	nicknames map[string]string
	told      chan struct{}
}

// NewRun makes the namespace of a run. What plays the driver ends with the
// context.
func (c *Cluster) NewRun(ctx context.Context, namespace string) (*Run, error) {
	r := &Run{Cluster: c, Namespace: namespace, Now: time.Now().Truncate(time.Second), told: make(chan struct{}, 1),
		nicknames: map[string]string{},
	}
	o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := c.Client.Create(ctx, o); err != nil {
		return nil, err
	}
	first, err := strconv.ParseInt(o.ResourceVersion, 10, 64)
	if err != nil {
		return nil, err
	}
	r.first = first
	r.Driver = &Driver{run: r, told: make(chan struct{}, 1), done: map[types.UID]bool{}}
	c.Records.Tell(namespace, r.told)
	c.Records.Tell(namespace, r.Driver.told)
	go r.Driver.play(ctx)
	return r, nil
}

// Nicknames are those of the snapshots that were made before the run, by name.
func (r *Run) Nicknames() map[string]string { return r.nicknames }

// Called is an empty object with the name of the snapshot that was made before the
// run under a nickname.
func (r *Run) Called(nickname string) *snapshotv1.VolumeSnapshot {
	for name, nick := range r.nicknames {
		if nick == nickname {
			return Named(&snapshotv1.VolumeSnapshot{}, r.Namespace, name)
		}
	}
	panic("no snapshot was made as " + nickname)
}

// Told is sent to after changes in the namespace.
func (r *Run) Told() <-chan struct{} { return r.told }

// State is what the namespace holds.
func (r *Run) State() State { return r.Records.State(r.Namespace) }

// Changes are those in the namespace so far.
func (r *Run) Changes() []history.Change { return r.Records.Changes(r.Namespace) }

// Ages are the revisions one change back, half way back and before anything.
func (r *Run) Ages() [3]int64 {
	changes := r.Changes()
	ages := [3]int64{r.first, r.first, r.first}
	if n := len(changes); n > 1 {
		ages[0], ages[1] = changes[n-2].Revision, changes[n/2].Revision
	}
	return ages
}

// Object is an object as it was at a revision, as JSON; nil if it was not.
func (r *Run) Object(resource, name string, revision int64) []byte {
	var found client.Object
	for _, c := range r.Changes() {
		o := c.After
		if o == nil {
			o = c.Before
		}
		if c.Revision > revision || o.GetName() != name || pluralOf(o) != resource {
			continue
		}
		found = c.After
	}
	if found == nil {
		return nil
	}
	text, err := withKind(found)
	if err != nil {
		panic(err) // the scheme knows what the recorder does
	}
	return text
}

func withKind(o client.Object) ([]byte, error) {
	gvk, err := apiutil.GVKForObject(o, Scheme)
	if err != nil {
		return nil, err
	}
	o = o.DeepCopyObject().(client.Object)
	o.GetObjectKind().SetGroupVersionKind(gvk)
	return json.Marshal(o)
}

func pluralOf(o client.Object) string {
	gvk, err := apiutil.GVKForObject(o, Scheme)
	if err != nil {
		panic(err) // the scheme knows what the recorder does
	}
	return map[string]string{
		"SnapshotSchedule": "snapshotschedules", "PersistentVolumeClaim": "persistentvolumeclaims", "VolumeSnapshot": "volumesnapshots",
	}[gvk.Kind]
}

// Patch merges some JSON into an object, as a user would.
func (r *Run) Patch(ctx context.Context, o client.Object, patch string, args ...any) error {
	o.SetNamespace(r.Namespace)
	text := fmt.Sprintf(patch, args...)
	if err := r.Client.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
		return fmt.Errorf("patch %s with %s: %w", o.GetName(), text, err)
	}
	return nil
}

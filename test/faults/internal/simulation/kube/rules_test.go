// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"slices"
	"strings"
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// api is a server that the rules are tested against: this one and a real one (agreement_test.go), so that this one is not more lenient.
type api interface {
	create(o client.Object) (client.Object, error)
	get(k Kind, name string) (client.Object, error)
	// write changes a stored object, at its resourceVersion unless change sets another; sub is "status" or empty.
	write(k Kind, name, sub string, change func(client.Object)) (client.Object, error)
	merge(k Kind, name, patch string) (client.Object, error)
	remove(k Kind, name string, o metav1.DeleteOptions) error
}

const (
	ns        = "ns"
	finalizer = "example.com/wait"
)

type rules struct {
	*testing.T
	api
}

func schedule(name string) *v1alpha1.SnapshotSchedule {
	return &v1alpha1.SnapshotSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec:       v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"},
	}
}

func snapshot(name string) *snapshotv1.VolumeSnapshot {
	return &snapshotv1.VolumeSnapshot{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec:       snapshotv1.VolumeSnapshotSpec{Source: snapshotv1.VolumeSnapshotSource{PersistentVolumeClaimName: new("data")}},
	}
}

func claim(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Finalizers: []string{finalizer}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

func (r rules) created(o client.Object) client.Object {
	r.Helper()
	stored, err := r.create(o)
	if err != nil {
		r.Fatalf("create %s: %v", o.GetName(), err)
	}
	return stored
}

func (r rules) written(k Kind, name, sub string, change func(client.Object)) client.Object {
	r.Helper()
	stored, err := r.write(k, name, sub, change)
	if err != nil {
		r.Fatalf("write %s: %v", name, err)
	}
	return stored
}

func (r rules) removed(k Kind, name string, options metav1.DeleteOptions) {
	r.Helper()
	if err := r.remove(k, name, options); err != nil {
		r.Fatalf("delete %s: %v", name, err)
	}
}

func (r rules) refused(err error, reason metav1.StatusReason) {
	r.Helper()
	if apierrors.ReasonForError(err) != reason {
		r.Errorf("the answer was %v, want %s", err, reason)
	}
}

func (r rules) refusedCreate(o client.Object, reason metav1.StatusReason) {
	r.Helper()
	_, err := r.create(o)
	r.refused(err, reason)
}

func (r rules) gone(k Kind, name string) {
	r.Helper()
	_, err := r.get(k, name)
	r.refused(err, metav1.StatusReasonNotFound)
}

func (r rules) there(k Kind, name string) client.Object {
	r.Helper()
	o, err := r.get(k, name)
	if err != nil {
		r.Fatalf("get %s: %v", name, err)
	}
	return o
}

func preconditions(uid types.UID, version string) metav1.DeleteOptions {
	p := &metav1.Preconditions{}
	if uid != "" {
		p.UID = &uid
	}
	if version != "" {
		p.ResourceVersion = &version
	}
	return metav1.DeleteOptions{Preconditions: p}
}

func propagation(p metav1.DeletionPropagation) metav1.DeleteOptions {
	return metav1.DeleteOptions{PropagationPolicy: &p}
}

func owner(name, uid string, controller bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Owner", Name: name, UID: types.UID(uid), Controller: &controller}
}

// all are the rules. Each has objects of its own.
var all = map[string]func(rules){
	"a name is taken once": func(r rules) {
		r.created(snapshot("taken"))
		r.refusedCreate(snapshot("taken"), metav1.StatusReasonAlreadyExists)
	},
	"a namespace must exist": func(r rules) {
		o := snapshot("nowhere")
		o.Namespace = "no-such-namespace"
		r.refusedCreate(o, metav1.StatusReasonNotFound)
	},
	"a new object has no resourceVersion": func(r rules) {
		o := snapshot("versioned")
		o.ResourceVersion = "1"
		_, err := r.create(o)
		if err == nil {
			r.Error("it was created")
		}
	},
	"the server says who an object is": func(r rules) {
		o := snapshot("named")
		o.UID = "mine"
		o.CreationTimestamp = metav1.Unix(1, 0)
		o.Generation = 7
		stored := r.created(o)
		if stored.GetUID() == "mine" || stored.GetUID() == "" || stored.GetCreationTimestamp().Unix() == 1 || stored.GetGeneration() != 1 {
			r.Errorf("stored as %q, created %s, generation %d", stored.GetUID(), stored.GetCreationTimestamp(), stored.GetGeneration())
		}
		if stored.GetCreationTimestamp().Nanosecond() != 0 {
			r.Errorf("created at %v, want whole seconds", stored.GetCreationTimestamp())
		}
	},
	"the status of a new object is not its creator's": func(r rules) {
		s := schedule("with-status")
		s.Status.ObservedGeneration = 3
		v := snapshot("with-status")
		v.Status = &snapshotv1.VolumeSnapshotStatus{ReadyToUse: new(true)}
		c := claim("with-status")
		c.Status.Phase = corev1.ClaimBound
		if got := r.created(s).(*v1alpha1.SnapshotSchedule).Status.ObservedGeneration; got != -1 {
			r.Errorf("the schedule says observedGeneration %d", got)
		}
		if got := r.created(v).(*snapshotv1.VolumeSnapshot).Status; got != nil {
			r.Errorf("the snapshot says %v", got)
		}
		if got := r.created(c).(*corev1.PersistentVolumeClaim).Status.Phase; got != corev1.ClaimPending {
			r.Errorf("the PVC is %s", got)
		}
	},
	"a schedule has defaults": func(r rules) {
		spec := r.created(schedule("defaults")).(*v1alpha1.SnapshotSchedule).Spec
		if spec.ReadyDeadline != "1h" || spec.DeletionPolicy != "" ||
			spec.Retention.MinReady == nil || *spec.Retention.MinReady != 1 {
			r.Errorf("stored with %+v", spec)
		}
	},
	"only a change of the spec makes a generation": func(r rules) {
		r.created(schedule("generations"))
		label := func(o client.Object) { o.SetLabels(map[string]string{"a": "b"}) }
		if got := r.written(Schedules, "generations", "", label).GetGeneration(); got != 1 {
			r.Errorf("after a label: generation %d", got)
		}
		status := func(o client.Object) { o.(*v1alpha1.SnapshotSchedule).Status.ObservedGeneration = 1 }
		if got := r.written(Schedules, "generations", "status", status).GetGeneration(); got != 1 {
			r.Errorf("after a status: generation %d", got)
		}
		spec := func(o client.Object) { o.(*v1alpha1.SnapshotSchedule).Spec.Suspend = true }
		if got := r.written(Schedules, "generations", "", spec).GetGeneration(); got != 2 {
			r.Errorf("after an edit: generation %d", got)
		}
	},
	"what changes nothing is no change": func(r rules) {
		before := r.created(snapshot("same"))
		if after := r.written(Snapshots, "same", "", func(client.Object) {}); after.GetResourceVersion() != before.GetResourceVersion() {
			r.Errorf("resourceVersion went from %s to %s", before.GetResourceVersion(), after.GetResourceVersion())
		}
	},
	"status and the rest are written apart": func(r rules) {
		r.created(snapshot("apart"))
		both := func(o client.Object) {
			o.SetLabels(map[string]string{"a": "b"})
			o.(*snapshotv1.VolumeSnapshot).Status = &snapshotv1.VolumeSnapshotStatus{ReadyToUse: new(true)}
		}
		if got := r.written(Snapshots, "apart", "status", both); len(got.GetLabels()) > 0 {
			r.Errorf("a write to status left labels %v", got.GetLabels())
		}
		unready := func(o client.Object) {
			o.SetLabels(map[string]string{"a": "b"})
			o.(*snapshotv1.VolumeSnapshot).Status = nil
		}
		if got := r.written(Snapshots, "apart", "", unready).(*snapshotv1.VolumeSnapshot); got.Status == nil || !*got.Status.ReadyToUse {
			r.Errorf("a write to labels left status %v", got.Status)
		}
	},
	"an old resourceVersion is refused": func(r rules) {
		old := r.created(snapshot("old")).GetResourceVersion()
		r.written(Snapshots, "old", "", func(o client.Object) { o.SetLabels(map[string]string{"a": "b"}) })
		_, err := r.write(Snapshots, "old", "", func(o client.Object) {
			o.SetLabels(nil)
			o.SetResourceVersion(old)
		})
		r.refused(err, metav1.StatusReasonConflict)
	},
	"a patch is held to the resourceVersion and the UID that it names": func(r rules) {
		old := r.created(snapshot("held"))
		_, err := r.merge(Snapshots, "held", `{"metadata":{"resourceVersion":"`+old.GetResourceVersion()+`","labels":{"a":"b"}}}`)
		if err != nil {
			r.Errorf("with the right resourceVersion: %v", err)
		}
		_, err = r.merge(Snapshots, "held", `{"metadata":{"resourceVersion":"`+old.GetResourceVersion()+`","labels":{"a":"c"}}}`)
		r.refused(err, metav1.StatusReasonConflict)
		_, err = r.merge(Snapshots, "held", `{"metadata":{"uid":"another","labels":{"a":"d"}}}`)
		r.refused(err, metav1.StatusReasonInvalid)
	},
	"a merge patch sets, takes away and replaces": func(r rules) {
		o := snapshot("merged")
		o.Labels = map[string]string{"keep": "1", "drop": "1"}
		o.OwnerReferences = []metav1.OwnerReference{owner("a", "1", true), owner("b", "2", false)}
		r.created(o)
		got, err := r.merge(Snapshots, "merged", `{"metadata":{"labels":{"drop":null,"add":"1"},"ownerReferences":null}}`)
		if err != nil {
			r.Fatal(err)
		}
		if l := got.GetLabels(); len(l) != 2 || l["keep"] != "1" || l["add"] != "1" || len(got.GetOwnerReferences()) > 0 {
			r.Errorf("labels are %v, owners %v", l, got.GetOwnerReferences())
		}
	},
	"a delete is held to the UID and the resourceVersion that it names": func(r rules) {
		o := r.created(snapshot("exact"))
		r.refused(r.remove(Snapshots, "exact", preconditions("another", o.GetResourceVersion())), metav1.StatusReasonConflict)
		r.refused(r.remove(Snapshots, "exact", preconditions(o.GetUID(), "1")), metav1.StatusReasonConflict)
		if err := r.remove(Snapshots, "exact", preconditions(o.GetUID(), o.GetResourceVersion())); err != nil {
			r.Errorf("with the right ones: %v", err)
		}
		r.gone(Snapshots, "exact")
		r.refused(r.remove(Snapshots, "exact", metav1.DeleteOptions{}), metav1.StatusReasonNotFound)
	},
	"a name that is free again is another object's": func(r rules) {
		first := r.created(snapshot("again"))
		r.removed(Snapshots, "again", metav1.DeleteOptions{})
		if second := r.created(snapshot("again")); second.GetUID() == first.GetUID() {
			r.Error("it has the UID of the first")
		}
	},
	"finalizers are waited for": func(r rules) {
		o := snapshot("waits")
		o.Finalizers = []string{finalizer}
		r.created(o)
		r.removed(Snapshots, "waits", metav1.DeleteOptions{})
		deleting := r.there(Snapshots, "waits")
		if deleting.GetDeletionTimestamp() == nil || deleting.GetGeneration() != 2 {
			r.Errorf("deletionTimestamp %v, generation %d", deleting.GetDeletionTimestamp(), deleting.GetGeneration())
		}
		if err := r.remove(Snapshots, "waits", metav1.DeleteOptions{}); err != nil {
			r.Errorf("a second delete: %v", err)
		}
		if again := r.there(Snapshots, "waits"); again.GetResourceVersion() != deleting.GetResourceVersion() {
			r.Error("a second delete changed it")
		}
		r.refusedCreate(snapshot("waits"), metav1.StatusReasonAlreadyExists)
		r.written(Snapshots, "waits", "", func(o client.Object) { o.SetLabels(map[string]string{"a": "b"}) })
		r.written(Snapshots, "waits", "", func(o client.Object) { o.SetFinalizers(nil) })
		r.gone(Snapshots, "waits")
	},
	"what is being deleted takes no more finalizers": func(r rules) {
		o := snapshot("late")
		o.Finalizers = []string{finalizer}
		r.created(o)
		r.removed(Snapshots, "late", metav1.DeleteOptions{})
		_, err := r.write(Snapshots, "late", "", func(o client.Object) { o.SetFinalizers([]string{finalizer, "example.com/more"}) })
		if err == nil {
			r.Error("one was added")
		}
		revived := r.written(Snapshots, "late", "", func(o client.Object) { o.SetDeletionTimestamp(nil) })
		if revived.GetDeletionTimestamp() == nil {
			r.Error("it was brought back")
		}
	},
	"a PVC waits for its finalizers": func(r rules) {
		r.created(claim("waits"))
		r.removed(Claims, "waits", metav1.DeleteOptions{})
		if r.there(Claims, "waits").GetDeletionTimestamp() == nil {
			r.Error("it is not being deleted")
		}
		r.written(Claims, "waits", "", func(o client.Object) { o.SetFinalizers(nil) })
		r.gone(Claims, "waits")
	},
	"orphaning and foreground deletion wait for the collector": func(r rules) {
		for name, want := range map[metav1.DeletionPropagation]string{
			metav1.DeletePropagationOrphan:     FinalizerOrphan,
			metav1.DeletePropagationForeground: FinalizerForeground,
		} {
			o := r.created(schedule("by-" + strings.ToLower(string(name))))
			r.removed(Schedules, o.GetName(), propagation(name))
			deleting := r.there(Schedules, o.GetName())
			if !slices.Equal(deleting.GetFinalizers(), []string{want}) || deleting.GetDeletionTimestamp() == nil {
				r.Errorf("%s: finalizers %v, deletionTimestamp %v", name, deleting.GetFinalizers(), deleting.GetDeletionTimestamp())
			}
		}
	},
	"background deletion waits for nobody": func(r rules) {
		r.created(schedule("background"))
		r.removed(Schedules, "background", propagation(metav1.DeletePropagationBackground))
		r.gone(Schedules, "background")
	},
	"there is one controller": func(r rules) {
		o := snapshot("two")
		o.OwnerReferences = []metav1.OwnerReference{owner("a", "1", true), owner("b", "2", true)}
		r.refusedCreate(o, metav1.StatusReasonInvalid)
		o.OwnerReferences = []metav1.OwnerReference{owner("a", "1", true), owner("b", "2", false)}
		r.created(o)
	},
	"an owner has a UID": func(r rules) {
		o := snapshot("nobody")
		o.OwnerReferences = []metav1.OwnerReference{owner("a", "", true)}
		r.refusedCreate(o, metav1.StatusReasonInvalid)
	},
	"labels are valid": func(r rules) {
		o := snapshot("labels")
		o.Labels = map[string]string{"a": strings.Repeat("x", 64)}
		r.refusedCreate(o, metav1.StatusReasonInvalid)
		r.created(snapshot("labels"))
		_, err := r.merge(Snapshots, "labels", `{"metadata":{"labels":{"a":"no spaces, please"}}}`)
		r.refused(err, metav1.StatusReasonInvalid)
	},
	"names are valid": func(r rules) {
		r.refusedCreate(snapshot("No_Name"), metav1.StatusReasonInvalid)
	},
	"a snapshot has one source": func(r rules) {
		o := snapshot("sources")
		o.Spec.Source.VolumeSnapshotContentName = new("content")
		r.refusedCreate(o, metav1.StatusReasonInvalid)
	},
	"nothing is created in a namespace that is being deleted": func(r rules) {
		o := snapshot("too-late")
		o.Namespace = "ending"
		_, err := r.create(o)
		if !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			r.Errorf("the answer was %v, want one with cause %s", err, corev1.NamespaceTerminatingCause)
		}
	},
}

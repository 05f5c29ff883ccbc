// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"net/http"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

const (
	// guardsWindow is how old the evidence of a delete may be when it is sent.
	guardsWindow = 5 * time.Second
	// recordingSlack is how much later than it left a request may have been
	// recorded, on a machine that has much to do.
	recordingSlack = 2 * time.Second
	// maxSkew is --max-clock-skew as shipped.
	maxSkew = time.Minute
)

var decoder = func() runtime.Decoder {
	scheme := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(scheme))
	utilruntime.Must(snapshotv1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return serializer.NewCodecFactory(scheme).UniversalDeserializer()
}()

// opened is when the guards' window of a write began that was committed at a
// time.
func opened(r *history.Request, committed time.Time) time.Time {
	sent := r.At
	if sent.IsZero() || committed.Before(sent) {
		sent = committed
	}
	return sent.Add(-guardsWindow - recordingSlack)
}

func (d deletion) opened() time.Time { return opened(d.request, d.at) }

// ahead is how far the operator's clock was ahead of the server's, as far as it
// may be.
func (d deletion) ahead() time.Duration {
	if d.request.Clock.IsZero() || d.request.At.IsZero() {
		return 0
	}
	return min(max(d.request.Clock.Sub(d.request.At), -maxSkew), maxSkew)
}

// views are the states that a delete may rest on: each that the API server held
// within the guards' window, and the one that the guards were shown. The latest
// comes first. It leaves the world as it was.
func (d deletion) views(h *history.History, w *world) []*view {
	id := seriesOf(d.doomed)
	opened, ahead := d.opened(), d.ahead()
	current := w.view(id)
	current.until = d.at.Add(ahead)
	result := []*view{d.shown(h, current)}

	w.lookBack(h, d.index, opened, func(c *history.Change) bool {
		if !concerns(c, id, d.doomed.Namespace) {
			return true
		}
		current.from = c.At.Add(ahead)
		result = append(result, current)
		current = w.view(id)
		current.until = c.At.Add(ahead)
		return true
	})
	current.from = opened.Add(ahead)
	result = append(result, current)
	for _, v := range result {
		v.holdTo(d.doomed)
	}
	return result
}

// holdTo puts the version of a snapshot that was deleted in the place of any
// other: the delete's preconditions hold it to the one that was decided on.
func (v *view) holdTo(doomed *snapshotv1.VolumeSnapshot) {
	v.series = slices.DeleteFunc(v.series, func(s *snapshotv1.VolumeSnapshot) bool { return s.UID == doomed.UID })
	v.series = append(v.series, doomed)
}

// moments are the times at which a view is asked: age only ever adds to what may
// go, but for a driver's creation time that is passed.
func (v *view) moments() []time.Time {
	if v.from.Equal(v.until) {
		return []time.Time{v.until}
	}
	return []time.Time{v.until, v.from}
}

// view is the state of one series. Times are left to the caller.
func (w *world) view(id seriesID) *view {
	v := &view{schedule: w.schedules[id.schedule], claim: w.claims[types.UID(id.mapKey)]}
	for _, s := range w.series[id] {
		if v.schedule == nil || owned(s, v.schedule) {
			v.series = append(v.series, s)
		}
	}
	for _, claim := range w.claims {
		v.claims = append(v.claims, claim)
	}
	return v
}

func concerns(c *history.Change, id seriesID, namespace string) bool {
	o := c.After
	if o == nil {
		o = c.Before
	}
	switch o := o.(type) {
	case *v1alpha1.SnapshotSchedule:
		return o.UID == id.schedule
	case *corev1.PersistentVolumeClaim:
		return o.Namespace == namespace || o.Spec.DataSourceRef != nil
	case *snapshotv1.VolumeSnapshot:
		before, ok := c.Before.(*snapshotv1.VolumeSnapshot)
		return seriesOf(o) == id || ok && seriesOf(before) == id
	}
	return false
}

// reads are the live reads that the process of a delete had been answered
// within the guards' window, latest first.
func (d deletion) reads(h *history.History) []*history.Request {
	var found []*history.Request
	for i := d.number - 1; i >= 0 && !h.Requests[i].At.Before(d.opened()); i-- {
		r := &h.Requests[i]
		if r.Process == d.request.Process && (r.Verb == "get" || r.Verb == "list") &&
			(r.Seen == http.StatusOK || r.Seen == http.StatusNotFound) {
			found = append(found, r)
		}
	}
	return found
}

// evidence are the guards' reads, latest first: they read the schedule, the PVC
// and snapshots; the rest is read for other ends.
func (d deletion) evidence(h *history.History) []*history.Request {
	return slices.DeleteFunc(d.reads(h), func(r *history.Request) bool {
		return r.Verb != "get" || r.Namespace != d.doomed.Namespace ||
			!slices.Contains([]string{"snapshotschedules", "persistentvolumeclaims", "volumesnapshots"}, r.Resource)
	})
}

// looked is when the guards first did.
func (d deletion) looked(h *history.History) time.Time {
	if evidence := d.evidence(h); len(evidence) > 0 {
		return evidence[len(evidence)-1].At
	}
	return d.opened()
}

// shown is a view with the objects in it replaced by those that the guards were
// shown, for a guard can't know better.
func (d deletion) shown(h *history.History, truth *view) *view {
	v := *truth
	v.series, v.claims = slices.Clone(truth.series), slices.Clone(truth.claims)
	v.from = d.request.At.Add(d.ahead())
	v.until = v.from
	if d.request.At.IsZero() {
		v.from, v.until = d.at, d.at
	}
	read := map[string]bool{}
	for _, r := range d.reads(h) {
		what := r.Resource + "/" + r.Namespace + "/" + r.Name
		if r.Verb != "get" || read[what] || r.Namespace != d.doomed.Namespace {
			continue
		}
		read[what] = true
		v.show(r, d)
	}
	return &v
}

func (v *view) show(r *history.Request, d deletion) {
	var o client.Object
	if r.Seen == http.StatusOK {
		decoded, _, err := decoder.Decode(r.Answer, nil, nil)
		if err != nil {
			return // no whole object: metadata only, or none was recorded
		}
		o = decoded.(client.Object)
	}
	id := seriesOf(d.doomed)
	switch r.Resource {
	case "snapshotschedules":
		if v.schedule != nil && v.schedule.Name == r.Name {
			v.schedule, _ = o.(*v1alpha1.SnapshotSchedule)
		} else if s, ok := o.(*v1alpha1.SnapshotSchedule); ok && s.UID == id.schedule {
			v.schedule = s
		}
	case "persistentvolumeclaims":
		v.claims = replaceNamed(v.claims, r.Name, o)
		if claim, ok := o.(*corev1.PersistentVolumeClaim); ok && string(claim.UID) == id.mapKey {
			v.claim = claim
		} else if v.claim != nil && v.claim.Name == r.Name {
			v.claim = nil
		}
	case "volumesnapshots":
		if s, ok := o.(*snapshotv1.VolumeSnapshot); ok && seriesOf(s) != id {
			o = nil
		}
		if r.Name != d.doomed.Name {
			v.series = replaceNamed(v.series, r.Name, o)
		}
	}
}

// replaceNamed takes one object out and, unless it is nil, the other in.
func replaceNamed[T client.Object](all []T, name string, o client.Object) []T {
	kept := slices.DeleteFunc(slices.Clone(all), func(have T) bool { return have.GetName() == name })
	if in, ok := o.(T); ok {
		kept = append(kept, in)
	}
	return kept
}

// wasRead tells whether an object was among the live reads: by its name, or in a
// list of its kind in the namespace. The lists of caches are of all namespaces.
func wasRead(reads []*history.Request, namespace, resource, name string) bool {
	return slices.ContainsFunc(reads, func(r *history.Request) bool {
		return r.Resource == resource && r.Namespace == namespace && (r.Verb == "list" || r.Name == name)
	})
}

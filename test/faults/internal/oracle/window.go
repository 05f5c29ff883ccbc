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
	// guardsWindow is the maximum age of a delete's evidence when it is sent.
	guardsWindow = 5 * time.Second
	// recordingSlack is how late a request may be recorded on a busy machine.
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

// windowStart returns when the guards' window of a write began.
func windowStart(r *history.Request, committed time.Time) time.Time {
	sent := r.At
	if sent.IsZero() || committed.Before(sent) {
		sent = committed
	}
	return sent.Add(-guardsWindow - recordingSlack)
}

func (d deletion) windowStart() time.Time { return windowStart(d.request, d.at) }

// clockAhead returns by how much the operator's clock was ahead of the server's, within the tolerated skew.
func (d deletion) clockAhead() time.Duration {
	if d.request.Clock.IsZero() || d.request.At.IsZero() {
		return 0
	}
	return min(max(d.request.Clock.Sub(d.request.At), -maxSkew), maxSkew)
}

// views returns the states that may justify a delete, the latest first: each that the API server held within the guards' window, and
// the one that the guards were shown.
func (d deletion) views(h *history.History, st *state) []*view {
	id := seriesOf(d.snapshot)
	windowStart, ahead := d.windowStart(), d.clockAhead()
	current := st.view(id)
	current.until = d.at.Add(ahead)
	result := []*view{d.shown(h, current)}

	st.undoSince(h, d.index, windowStart, func(c *history.Change) bool {
		if !concerns(c, id, d.snapshot.Namespace) {
			return true
		}
		current.from = c.At.Add(ahead)
		result = append(result, current)
		current = st.view(id)
		current.until = c.At.Add(ahead)
		return true
	})
	current.from = windowStart.Add(ahead)
	result = append(result, current)
	for _, v := range result {
		v.pinVersion(d.snapshot)
	}
	return result
}

// pinVersion replaces a snapshot by the version that was deleted: the preconditions guarantee that the decision was about it.
func (v *view) pinVersion(s *snapshotv1.VolumeSnapshot) {
	v.series = slices.DeleteFunc(v.series, func(have *snapshotv1.VolumeSnapshot) bool { return have.UID == s.UID })
	v.series = append(v.series, s)
}

// times are the times at which a view is evaluated. With time more may be deleted, except when a driver's creation time is passed.
func (v *view) times() []time.Time {
	if v.from.Equal(v.until) {
		return []time.Time{v.until}
	}
	return []time.Time{v.until, v.from}
}

// view returns the state of one series. The caller sets its times.
func (st *state) view(id seriesID) *view {
	v := &view{schedule: st.scheduleOf(id), claim: st.claims[types.UID(id.mapKey)]}
	ids := []seriesID{id}
	if s := v.schedule; s != nil && ownsByLabels(s) {
		// References are being removed: both are its own.
		ids = []seriesID{{s.UID, id.mapKey}, {byLabels(s.Namespace, s.Name), id.mapKey}}
	}
	for _, id := range ids {
		for _, s := range st.series[id] {
			if v.schedule == nil || owned(s, v.schedule) {
				v.series = append(v.series, s)
			}
		}
	}
	for _, claim := range st.claims {
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
		return o.UID == id.schedule || byLabels(o.Namespace, o.Name) == id.schedule
	case *corev1.PersistentVolumeClaim:
		return o.Namespace == namespace || o.Spec.DataSourceRef != nil
	case *snapshotv1.VolumeSnapshot:
		return o.Namespace == namespace && o.Labels[v1alpha1.LabelMapKey] == id.mapKey ||
			c.Before != nil && c.Before.GetLabels()[v1alpha1.LabelMapKey] == id.mapKey
	}
	return false
}

// reads returns the answered live reads of a delete's process within the guards' window, the latest first.
func (d deletion) reads(h *history.History) []*history.Request {
	var found []*history.Request
	for i := d.number - 1; i >= 0 && !h.Requests[i].At.Before(d.windowStart()); i-- {
		r := &h.Requests[i]
		if r.Process == d.request.Process && (r.Verb == "get" || r.Verb == "list") &&
			(r.Seen == http.StatusOK || r.Seen == http.StatusNotFound) {
			found = append(found, r)
		}
	}
	return found
}

// evidence returns the guards' reads, the latest first: gets of schedules, PVCs and snapshots. Other reads have other purposes.
func (d deletion) evidence(h *history.History) []*history.Request {
	return slices.DeleteFunc(d.reads(h), func(r *history.Request) bool {
		return r.Verb != "get" || r.Namespace != d.snapshot.Namespace ||
			!slices.Contains([]string{"snapshotschedules", "persistentvolumeclaims", "volumesnapshots"}, r.Resource)
	})
}

// guardsBegan returns when the guards sent their first read.
func (d deletion) guardsBegan(h *history.History) time.Time {
	if evidence := d.evidence(h); len(evidence) > 0 {
		return evidence[len(evidence)-1].At
	}
	return d.windowStart()
}

// shown returns a view with the objects that the guards were shown, which may be old: a guard cannot know better.
func (d deletion) shown(h *history.History, truth *view) *view {
	v := *truth
	v.series, v.claims = slices.Clone(truth.series), slices.Clone(truth.claims)
	v.from = d.request.At.Add(d.clockAhead())
	v.until = v.from
	if d.request.At.IsZero() {
		v.from, v.until = d.at, d.at
	}
	read := map[string]bool{}
	for _, r := range d.reads(h) {
		what := r.Resource + "/" + r.Namespace + "/" + r.Name
		if r.Verb != "get" || read[what] || r.Namespace != d.snapshot.Namespace {
			continue
		}
		read[what] = true
		v.applyRead(r, d)
	}
	return &v
}

func (v *view) applyRead(r *history.Request, d deletion) {
	o, ok := answerOf(r)
	if !ok {
		return
	}
	id := seriesOf(d.snapshot)
	switch r.Resource {
	case "snapshotschedules":
		if v.schedule != nil && v.schedule.Name == r.Name {
			v.schedule, _ = o.(*v1alpha1.SnapshotSchedule)
		} else if s, ok := o.(*v1alpha1.SnapshotSchedule); ok && owned(d.snapshot, s) {
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
		if s, ok := o.(*snapshotv1.VolumeSnapshot); ok && seriesOf(s) != id && (v.schedule == nil || !owned(s, v.schedule) || seriesOf(s).mapKey != id.mapKey) {
			o = nil
		}
		if r.Name != d.snapshot.Name {
			v.series = replaceNamed(v.series, r.Name, o)
		}
	}
}

// answerOf returns the object that a live get was answered with, nil if there was none. It returns false if the answer was metadata only,
// or was not recorded.
func answerOf(r *history.Request) (o client.Object, ok bool) {
	if r.Seen != http.StatusOK || r.Object != nil {
		return r.Object, true
	}
	decoded, _, err := decoder.Decode(r.Answer, nil, nil)
	if err != nil {
		return nil, false
	}
	return decoded.(client.Object), true
}

// replaceNamed removes the object of a name and adds another, unless that is nil.
func replaceNamed[T client.Object](all []T, name string, o client.Object) []T {
	kept := slices.DeleteFunc(slices.Clone(all), func(have T) bool { return have.GetName() == name })
	if in, ok := o.(T); ok {
		kept = append(kept, in)
	}
	return kept
}

// wasRead returns whether an object was read live, by name or in a list of its namespace. Caches list all namespaces.
func wasRead(reads []*history.Request, namespace, resource, name string) bool {
	return slices.ContainsFunc(reads, func(r *history.Request) bool {
		return r.Resource == resource && r.Namespace == namespace && (r.Verb == "list" || r.Name == name)
	})
}

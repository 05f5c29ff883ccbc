// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// AtWrite judges the writes of operators while they pass: it reads what the API server holds at that moment, in which nobody else
// writes. It judges S1 to S5, S7, S8, S9, STAT-12, FLIGHT-1 and the FLEET clauses.
type AtWrite struct {
	// Live reads the API server.
	Live client.Reader
	// Namespace is the run's; a ClusterSnapshotSchedule has its name.
	Namespace string
	// ClockIsWrong returns whether the operator is shown a wrong Date.
	ClockIsWrong func() bool
	// MaxInFlight is the limit of snapshots in flight; 0: none.
	MaxInFlight int
	// Moments returns what the API server has held since a time, the latest first. Nil: S2 is not judged, because the operators
	// are shown what was before.
	Moments func(since time.Time) []Moment

	mu    sync.Mutex
	found []string
	// lost are the snapshots that the operators deleted, by slot.
	lost map[slotID]ownDelete
	// adopted are the schedules that the operators adopted: that may be undone.
	adopted map[types.UID]bool
	// fleets and namespaces are all that they have been so far: what is written may be what was right once.
	versions versions
}

// Found returns the violations so far.
func (j *AtWrite) Found() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.found)
}

// Moment is what the API server held from one change to the next.
type Moment struct {
	From, Until time.Time
	Objects     []client.Object
}

// Attempt is a write that is about to be made.
type Attempt struct {
	Verb, Resource, Subresource, Namespace, Name string
	Body                                         []byte
	// Started is when its operator did, and Sees whether that is shown all there is.
	Started time.Time
	Sees    bool
}

// Write judges a write. What it returns is called with the status code of the answer.
func (j *AtWrite) Write(ctx context.Context, a Attempt) (answered func(code int)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	st, err := j.read(ctx)
	if err != nil {
		j.fail("cannot be judged", "%s %s %s: %v", a.Verb, a.Resource, a.Name, err)
		return func(int) {}
	}
	switch a.Resource {
	case "volumesnapshots":
		return j.snapshot(st, a)
	case "snapshotschedules":
		return j.schedule(ctx, st, a)
	case "clustersnapshotschedules":
		if a.Subresource != "status" {
			j.fail("S1", "%s of ClusterSnapshotSchedule %s, of more than its status", a.Verb, a.Name)
		}
		return func(int) {}
	case "events", "leases":
		return func(int) {}
	}
	j.fail("S1", "%s of %s %s", a.Verb, a.Resource, a.Name)
	return func(int) {}
}

func (j *AtWrite) fail(clause, format string, args ...any) {
	j.found = append(j.found, clause+": "+fmt.Sprintf(format, args...))
}

// read returns what the API server holds of the run's namespace.
func (j *AtWrite) read(ctx context.Context) (*state, error) {
	st := newState()
	for _, list := range []client.ObjectList{
		&v1alpha1.SnapshotScheduleList{}, &corev1.PersistentVolumeClaimList{}, &snapshotv1.VolumeSnapshotList{},
	} {
		if err := j.Live.List(ctx, list, client.InNamespace(j.Namespace)); err != nil {
			return nil, err
		}
		switch list := list.(type) {
		case *v1alpha1.SnapshotScheduleList:
			putAll(st, list.Items)
		case *corev1.PersistentVolumeClaimList:
			putAll(st, list.Items)
		case *snapshotv1.VolumeSnapshotList:
			putAll(st, list.Items)
		}
	}
	fleet, namespace := &v1alpha1.ClusterSnapshotSchedule{}, &corev1.Namespace{}
	for _, o := range []client.Object{fleet, namespace} {
		if err := j.Live.Get(ctx, client.ObjectKey{Name: j.Namespace}, o); client.IgnoreNotFound(err) != nil {
			return nil, err
		} else if err == nil {
			st.put(o)
			j.versions.add(o)
		}
	}
	return st, nil
}

func putAll[T any, P interface {
	*T
	client.Object
}](st *state, items []T) {
	for i := range items {
		st.put(P(&items[i]))
	}
}

// snapshot judges a write of a VolumeSnapshot.
func (j *AtWrite) snapshot(st *state, a Attempt) (answered func(code int)) {
	var before *snapshotv1.VolumeSnapshot
	for _, v := range st.snapshots {
		if v.Name == a.Name {
			before = v
		}
	}
	switch {
	case a.Verb == "create" && before == nil:
		return j.create(st, a)
	case a.Verb == "delete" && before != nil:
		return j.delete(st, a, before)
	case a.Verb == "patch" && before != nil:
		j.patch(st, a, before)
	case a.Verb != "create" && a.Verb != "delete" && a.Verb != "patch":
		j.fail("S1", "%s of VolumeSnapshot %s", a.Verb, a.Name)
	}
	return func(int) {}
}

func (j *AtWrite) create(st *state, a Attempt) (answered func(code int)) {
	v := &snapshotv1.VolumeSnapshot{}
	if err := json.Unmarshal(a.Body, v); err != nil {
		j.fail("cannot be judged", "create of VolumeSnapshot %s: %v", a.Name, err)
		return func(int) {}
	}
	id, ok := slotIDOf(v)
	schedule := st.scheduleOf(seriesOf(v))
	if !ok || schedule == nil && seriesOf(v).schedule == "" {
		j.fail("S1", "VolumeSnapshot %s was created without a schedule or a slot", a.Name)
		return func(int) {}
	}
	for other := range st.snapshots {
		o := st.snapshots[other]
		if taken, covers := slotIDOf(o); covers && taken == id && !isImported(o) {
			j.fail("S4", "VolumeSnapshot %s was created for a slot that %s covers", a.Name, o.Name)
		}
	}
	if lost := j.lost[id]; lost.name != "" && schedule != nil && schedule.UID == lost.schedule && schedule.Generation == lost.generation {
		j.fail("S4", "VolumeSnapshot %s was created for a slot that %s covered until the operator deleted it", a.Name, lost.name)
	}
	if why := j.overLimit(st, v, a); why != "" {
		j.fail("FLIGHT-1", "%s", why)
	}
	return func(int) {}
}

func (j *AtWrite) overLimit(st *state, v *snapshotv1.VolumeSnapshot, a Attempt) string {
	driver, known := st.driverOf(v)
	if j.MaxInFlight == 0 || !known || !a.Sees {
		return ""
	}
	n := 0
	for _, other := range st.snapshots {
		if of, made := st.driverOf(other); made && of == driver && st.inFlight(other, time.Now()) {
			n++
		}
	}
	if n < j.MaxInFlight {
		return ""
	}
	return fmt.Sprintf("VolumeSnapshot %s was created while %d of its driver were in flight, and the limit is %d", v.Name, n, j.MaxInFlight)
}

// delete judges a delete that will be made: one whose preconditions do not hold is refused.
func (j *AtWrite) delete(st *state, a Attempt, v *snapshotv1.VolumeSnapshot) (answered func(code int)) {
	var options metav1.DeleteOptions
	if err := json.Unmarshal(a.Body, &options); err != nil || options.Preconditions == nil ||
		options.Preconditions.UID == nil || options.Preconditions.ResourceVersion == nil {
		j.fail("S5", "VolumeSnapshot %s was deleted without preconditions", a.Name)
		return func(int) {}
	}
	if *options.Preconditions.UID != v.UID || *options.Preconditions.ResourceVersion != v.ResourceVersion || v.DeletionTimestamp != nil {
		return func(int) {}
	}
	id := seriesOf(v)
	schedule := st.scheduleOf(id)
	switch {
	case schedule == nil:
		j.fail("S1", "VolumeSnapshot %s was deleted, and %s", a.Name, controlOf(v))
		return func(int) {}
	case schedule.DeletionTimestamp != nil:
		j.fail("S7", "VolumeSnapshot %s was deleted while its schedule was being deleted", a.Name)
		return func(int) {}
	}
	spec, err := ReadSpec(&schedule.Spec)
	if err != nil {
		j.fail("S7", "VolumeSnapshot %s was deleted under an invalid spec: %v", a.Name, err)
		return func(int) {}
	}
	if j.ClockIsWrong() {
		j.fail("S7", "VolumeSnapshot %s was deleted while the clocks differed", a.Name)
	}
	if why := st.waits(schedule, v, time.Now()); why != "" && !isUncut(v) {
		j.fail("S7", "VolumeSnapshot %s was deleted %s", a.Name, why)
	}
	seen := st.view(id)
	seen.until = time.Now()
	seen.from = seen.until
	if left := len(readyOnes(seen.series)) - 1; isReady(v) && seen.claim != nil && left < spec.minReady {
		j.fail("S3", "VolumeSnapshot %s was deleted: %d ready ones are left of the PVC's series, and minReady is %d", a.Name, left, spec.minReady)
	}
	if why := j.early(seen, v); why != "" {
		j.fail("S2", "VolumeSnapshot %s was deleted: %s", a.Name, why)
	}
	if isImported(v) && !seen.mayDeleteImported(v) {
		j.fail("S9", "VolumeSnapshot %s was deleted, which was imported and is neither beyond a TTL nor ready under tiers or a cap", a.Name)
	}
	slot, covers := slotIDOf(v)
	return func(code int) {
		j.mu.Lock()
		defer j.mu.Unlock()
		if code < 300 && covers && !isUncut(v) && st.selects(id) && !time.Unix(slot.slot, 0).After(time.Now()) {
			j.lost[slot] = ownDelete{name: v.Name, schedule: schedule.UID, generation: schedule.Generation}
		}
	}
}

// early returns why retention does not allow a delete, neither now nor at a moment at which the guards may have read.
func (j *AtWrite) early(seen *view, v *snapshotv1.VolumeSnapshot) string {
	may, why := seen.mayDelete(v, seen.until)
	if may || j.Moments == nil {
		return ""
	}
	for _, m := range j.Moments(seen.until.Add(-guardsWindow - recordingSlack)) {
		for _, at := range []time.Time{m.Until, m.From} {
			if may, _ := MayDelete(m.Objects, v, at); may {
				return ""
			}
		}
	}
	return why
}

// waits returns why the delay after an edit, or the first hour of a schedule, forbids a delete.
func (st *state) waits(s *v1alpha1.SnapshotSchedule, v *snapshotv1.VolumeSnapshot, now time.Time) string {
	own, record := ownDelay(s), s.Status.Retention
	f := st.fleets[s.Name]
	confirmed := fleetOf(s) == "" && confirmsIt(s) ||
		fleetOf(s) != "" && f != nil && confirmsIt(f) && reflect.DeepEqual(childSpec(f, !s.Spec.Suspend), s.Spec)
	now = now.Add(delaySlack)
	switch {
	case confirmed: // which says nothing about what a new schedule finds
	case record == nil && own > 0, record != nil && record.Generation != s.Generation:
		return fmt.Sprintf("although status.retention has no record of generation %d", s.Generation)
	case record != nil && now.Before(record.SinceTime.Add(max(own, delayOf(record.EditDelay)))):
		return "before the end of the delay after the edit"
	}
	if v.CreationTimestamp.Before(&s.CreationTimestamp) && now.Before(s.CreationTimestamp.Add(max(newFor, own))) {
		return "although it is older than its schedule, which is new"
	}
	return ""
}

// patch judges a patch of a snapshot: an adoption, or the removal of a reference to a schedule.
func (j *AtWrite) patch(st *state, a Attempt, before *snapshotv1.VolumeSnapshot) {
	var change struct {
		Metadata map[string]json.RawMessage `json:"metadata"`
		Spec     json.RawMessage            `json:"spec"`
		Status   json.RawMessage            `json:"status"`
	}
	var version string
	var owners []metav1.OwnerReference
	if err := json.Unmarshal(a.Body, &change); err != nil || change.Spec != nil || change.Status != nil {
		j.fail("S1", "the patch of VolumeSnapshot %s is not of its metadata: %s", a.Name, a.Body)
		return
	}
	_ = json.Unmarshal(change.Metadata["resourceVersion"], &version)
	if version != before.ResourceVersion {
		return // it is refused
	}
	for field, value := range change.Metadata {
		switch field {
		case "resourceVersion", "uid":
		case "ownerReferences":
			_ = json.Unmarshal(value, &owners) // null: none
		default:
			j.fail("S1", "the patch of VolumeSnapshot %s changes its %s", a.Name, field)
		}
	}
	after := before.DeepCopy()
	after.OwnerReferences = owners
	if st.schedules[controllerOf(before)] != nil || controllerOf(before) != "" && controllerOf(after) == "" {
		return // its schedule's own, or released
	}
	if why := st.notAdoptable(before, after); why != "" {
		j.fail("S1", "VolumeSnapshot %s: %s", a.Name, why)
	}
}

// NewAtWrite returns an AtWrite that has seen nothing.
func NewAtWrite(live client.Reader, namespace string, clockIsWrong func() bool, maxInFlight int) *AtWrite {
	return &AtWrite{
		Live: live, Namespace: namespace, ClockIsWrong: clockIsWrong, MaxInFlight: maxInFlight,
		lost: map[slotID]ownDelete{}, adopted: map[types.UID]bool{},
	}
}

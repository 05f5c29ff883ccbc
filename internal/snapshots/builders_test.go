// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the tests must not depend on the machine's zones

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

const day = 24 * time.Hour

// noon is the now of the tables, a Monday.
var noon = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return noon.Add(-d) }
func in(d time.Duration) time.Time  { return noon.Add(d) }
func stamp(t time.Time) string      { return t.Format(time.RFC3339) }

// aSchedule builds a SnapshotSchedule that was created ten days before noon.
type aSchedule struct{ *v1alpha1.SnapshotSchedule }

// every is a schedule with an interval. With the PVC of claim, 6h has slots one
// hour before noon and five hours after it.
func every(interval v1alpha1.Duration) aSchedule {
	s := &v1alpha1.SnapshotSchedule{}
	s.Name, s.Namespace, s.UID, s.Generation = "backup", "shop", "schedule-uid", 3
	s.CreationTimestamp = metav1.NewTime(ago(10 * day))
	s.Spec.SnapshotInterval = interval
	return aSchedule{s}
}

func cron(line v1alpha1.CronLine, zone string) aSchedule {
	s := every("")
	s.Spec.Schedule, s.Spec.TimeZone = line, zone
	return s
}

func (s aSchedule) ttl(d v1alpha1.Duration) aSchedule      { s.Spec.SnapshotTTL = d; return s }
func (s aSchedule) deadline(d v1alpha1.Duration) aSchedule { s.Spec.StartingDeadline = d; return s }
func (s aSchedule) jitter(d v1alpha1.Duration) aSchedule   { s.Spec.Jitter = d; return s }
func (s aSchedule) suspended() aSchedule                   { s.Spec.Suspend = true; return s }
func (s aSchedule) created(t time.Time) aSchedule          { s.CreationTimestamp = metav1.NewTime(t); return s }
func (s aSchedule) requested(at string) aSchedule {
	annotate(s, v1alpha1.AnnotationRequestedAt, at)
	return s
}
func (s aSchedule) minReady(n int32) aSchedule { s.Spec.Retention.MinReady = &n; return s }
func (s aSchedule) maxCount(n int32) aSchedule { s.Spec.Retention.MaxCount = &n; return s }
func (s aSchedule) detached(ttl v1alpha1.Duration, minReady int32) aSchedule {
	s.Spec.Retention.Detached = v1alpha1.DetachedRetention{SnapshotTTL: ttl, MinReady: minReady}
	return s
}

// aClaim builds a PVC that is Bound and was created 9 days and 1 hour before
// noon, so that it is the anchor of the tables.
type aClaim struct{ *corev1.PersistentVolumeClaim }

func claim(name string) aClaim {
	c := &corev1.PersistentVolumeClaim{}
	c.Name, c.Namespace, c.UID = name, "shop", types.UID(name+"-uid")
	c.CreationTimestamp = metav1.NewTime(ago(9*day + time.Hour))
	c.Status.Phase = corev1.ClaimBound
	return aClaim{c}
}

func (c aClaim) created(t time.Time) aClaim                       { c.CreationTimestamp = metav1.NewTime(t); return c }
func (c aClaim) phase(p corev1.PersistentVolumeClaimPhase) aClaim { c.Status.Phase = p; return c }
func (c aClaim) requested(at string) aClaim {
	annotate(c, v1alpha1.AnnotationRequestedAt, at)
	return c
}
func (c aClaim) deleting() aClaim { remove(c); return c }
func (c aClaim) from(group, kind, name string) aClaim {
	c.Spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: &group, Kind: kind, Name: name}
	return c
}
func (c aClaim) fromRef(group, kind, namespace, name string) aClaim {
	ref := &corev1.TypedObjectReference{APIGroup: &group, Kind: kind, Name: name}
	if namespace != "" {
		ref.Namespace = &namespace
	}
	c.Spec.DataSourceRef = ref
	return c
}

// aSnapshot builds a VolumeSnapshot, named after its age at noon.
type aSnapshot struct{ *snapshotv1.VolumeSnapshot }

// uncut was taken for the slot of its age, in time, and has no data yet.
func uncut(age time.Duration) aSnapshot {
	v := &snapshotv1.VolumeSnapshot{}
	v.Name, v.Namespace, v.UID = age.String(), "shop", types.UID(age.String())
	v.CreationTimestamp = metav1.NewTime(ago(age))
	name := "data"
	v.Spec.Source.PersistentVolumeClaimName = &name
	annotate(v, v1alpha1.AnnotationScheduledAt, stamp(ago(age)))
	return aSnapshot{v}
}

// uploading is cut and not ready, without an error.
func uploading(age time.Duration) aSnapshot { return uncut(age).cut(ago(age)) }

// erring is cut, not ready, and in error.
func erring(age time.Duration) aSnapshot {
	s := uploading(age)
	s.Status.Error = &snapshotv1.VolumeSnapshotError{}
	return s
}

// ready can be restored from.
func ready(age time.Duration) aSnapshot {
	s := uploading(age)
	yes := true
	s.Status.ReadyToUse = &yes
	return s
}

func (s aSnapshot) cut(at time.Time) aSnapshot {
	if s.Status == nil {
		s.Status = &snapshotv1.VolumeSnapshotStatus{}
	}
	t := metav1.NewTime(at)
	s.Status.CreationTime = &t
	return s
}
func (s aSnapshot) named(name string) aSnapshot   { s.Name = name; return s }
func (s aSnapshot) created(t time.Time) aSnapshot { s.CreationTimestamp = metav1.NewTime(t); return s }
func (s aSnapshot) scheduledAt(at string) aSnapshot {
	annotate(s, v1alpha1.AnnotationScheduledAt, at)
	return s
}
func (s aSnapshot) held() aSnapshot        { annotate(s, v1alpha1.AnnotationHold, ""); return s }
func (s aSnapshot) deleting() aSnapshot    { remove(s); return s }
func (s aSnapshot) unscheduled() aSnapshot { s.Annotations = nil; return s }
func objects(all []aSnapshot) (found []client.Object) {
	for _, s := range all {
		found = append(found, s.VolumeSnapshot)
	}
	return found
}

func annotate(o client.Object, key, value string) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	o.SetAnnotations(annotations)
}

func remove(o client.Object) {
	t := metav1.NewTime(ago(time.Minute))
	o.SetDeletionTimestamp(&t)
}

// decision is what a Map or a Tombstone comes to, in terms of the tables.
type decision struct {
	create  []time.Time // slots
	delete  []string    // names
	result  mapResult
	created []*snapshotv1.VolumeSnapshot
}

// read works out the difference that the engine would.
func read(result mapResult, observed []client.Object) decision {
	d := decision{result: result}
	for _, o := range result.Outputs {
		if !slices.Contains(observed, o) {
			v := o.(*snapshotv1.VolumeSnapshot)
			d.create = append(d.create, scheduledAt(v))
			d.created = append(d.created, v)
		}
	}
	for _, o := range observed {
		if o.GetDeletionTimestamp() == nil && !slices.Contains(result.Outputs, o) {
			d.delete = append(d.delete, o.GetName())
		}
	}
	slices.Sort(d.delete)
	return d
}

// mapCase is a row of a table about Map or, without a PVC that is selected,
// Tombstone.
type mapCase struct {
	schedule  aSchedule
	claim     aClaim // left out: claim("data")
	snapshots []aSnapshot
	restoring []string

	wantCreate   time.Time // slot; zero: none
	wantDelete   []string
	wantEvidence []string
	wantProblem  string // reason
	wantSkipped  string
	// wantNext is looked at if it is set; never stands for none.
	wantNext time.Time
}

// never as a mapCase's wantNext is no next look at all.
var never = time.Unix(1, 0)

func (tc *mapCase) request() mapRequest {
	if tc.claim.PersistentVolumeClaim == nil {
		tc.claim = claim("data")
	}
	return mapRequest{
		Now:     noon,
		Parent:  tc.schedule.SnapshotSchedule,
		MapKey:  string(tc.claim.UID),
		Input:   tc.claim.PersistentVolumeClaim,
		Outputs: objects(tc.snapshots),
	}
}

func (tc *mapCase) mapper() *mapper {
	names := map[string]bool{}
	for _, name := range tc.restoring {
		names[name] = true
	}
	return &mapper{policies: newPolicies(), restoring: func(string) (map[string]bool, error) { return names, nil }}
}

func runMap(t *testing.T, tests map[string]mapCase) {
	t.Helper()
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := tc.request()
			tc.check(t, read(tc.mapper().Map(r), r.Outputs))
		})
	}
}

func (tc *mapCase) check(t *testing.T, got decision) {
	t.Helper()
	var wantCreate []time.Time
	if !tc.wantCreate.IsZero() {
		wantCreate = []time.Time{tc.wantCreate}
	}
	if !slices.EqualFunc(got.create, wantCreate, time.Time.Equal) {
		t.Errorf("creates for %v, want %v", got.create, wantCreate)
	}
	slices.Sort(tc.wantDelete)
	if !slices.Equal(got.delete, tc.wantDelete) {
		t.Errorf("deletes %v, want %v", got.delete, tc.wantDelete)
	}
	var evidence []string
	for _, o := range got.result.Evidence {
		evidence = append(evidence, o.GetName())
	}
	if tc.wantEvidence != nil && !slices.Equal(evidence, tc.wantEvidence) {
		t.Errorf("rests on %v, want %v", evidence, tc.wantEvidence)
	}
	var reasons []string
	for _, p := range got.result.Note.Problems {
		reasons = append(reasons, p.Reason)
	}
	if strings.Join(reasons, " ") != tc.wantProblem {
		t.Errorf("problems are %v, want %q", got.result.Note.Problems, tc.wantProblem)
	}
	if got.result.Note.FirstSkipped.Why != tc.wantSkipped {
		t.Errorf("skipped as %q, want %q", got.result.Note.FirstSkipped.Why, tc.wantSkipped)
	}
	switch {
	case tc.wantNext.Equal(never):
		if !got.result.Next.IsZero() {
			t.Errorf("looks again at %v, want never", got.result.Next)
		}
	case !tc.wantNext.IsZero() && !got.result.Next.Equal(tc.wantNext):
		t.Errorf("looks again at %v, want %v", got.result.Next, tc.wantNext)
	}
}

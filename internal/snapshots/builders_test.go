// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"
	_ "time/tzdata" // the tests must not depend on the machine's zones

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/cached"
)

// The properties are cheap: rare cases are worth more tries than rapid's default.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.checks": "3000", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

const day = 24 * time.Hour

// noon is the current time of the tables, a Monday.
var noon = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return noon.Add(-d) }
func in(d time.Duration) time.Time  { return noon.Add(d) }
func rfc3339(t time.Time) string    { return t.Format(time.RFC3339) }

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func toJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// scheduleBuilder builds a SnapshotSchedule that was created ten days before noon.
type scheduleBuilder struct{ *v1alpha1.SnapshotSchedule }

// every is a schedule with an interval. With the PVC of claim, 6h has slots one
// hour before noon and five hours after it.
func every(interval v1alpha1.Duration) scheduleBuilder {
	s := &v1alpha1.SnapshotSchedule{}
	s.Name, s.Namespace, s.UID, s.Generation = "backup", "shop", "schedule-uid", 3
	s.CreationTimestamp = metav1.NewTime(ago(10 * day))
	s.Spec.SnapshotInterval = interval
	return scheduleBuilder{s}
}

func cron(line v1alpha1.CronLine, zone string) scheduleBuilder {
	s := every("")
	s.Spec.Schedule, s.Spec.TimeZone = line, zone
	return s
}

func (s scheduleBuilder) named(name string) scheduleBuilder       { s.Name = name; return s }
func (s scheduleBuilder) ttl(d v1alpha1.Duration) scheduleBuilder { s.Spec.SnapshotTTL = d; return s }
func (s scheduleBuilder) deadline(d v1alpha1.Duration) scheduleBuilder {
	s.Spec.StartingDeadline = d
	return s
}
func (s scheduleBuilder) readyDeadline(d v1alpha1.Duration) scheduleBuilder {
	s.Spec.ReadyDeadline = d
	return s
}
func (s scheduleBuilder) jitter(d v1alpha1.Duration) scheduleBuilder { s.Spec.Jitter = d; return s }
func (s scheduleBuilder) suspended() scheduleBuilder                 { s.Spec.Suspend = true; return s }
func (s scheduleBuilder) created(t time.Time) scheduleBuilder {
	s.CreationTimestamp = metav1.NewTime(t)
	return s
}
func (s scheduleBuilder) requested(at string) scheduleBuilder {
	annotate(s, v1alpha1.AnnotationRequestedAt, at)
	return s
}
func (s scheduleBuilder) selecting(app string) scheduleBuilder {
	s.Spec.Selector.MatchLabels = map[string]v1alpha1.LabelValue{"app": v1alpha1.LabelValue(app)}
	return s
}
func (s scheduleBuilder) labeled(key, value string) scheduleBuilder {
	s.Labels = map[string]string{key: value}
	return s
}
func (s scheduleBuilder) minReady(n int32) scheduleBuilder { s.Spec.Retention.MinReady = &n; return s }
func (s scheduleBuilder) maxCount(n int32) scheduleBuilder { s.Spec.Retention.MaxCount = &n; return s }
func (s scheduleBuilder) minVerified(n int32) scheduleBuilder {
	s.Spec.Retention.MinVerified = n
	return s
}
func (s scheduleBuilder) detached(ttl v1alpha1.Duration, minReady int32) scheduleBuilder {
	s.Spec.Retention.Detached = v1alpha1.DetachedRetention{SnapshotTTL: ttl, MinReady: minReady}
	return s
}

// ownerReference is the schedule's controllerRef.
func (s scheduleBuilder) ownerReference() metav1.OwnerReference {
	return *metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("SnapshotSchedule"))
}

// claimBuilder builds a PVC that is Bound and was created 9 days and 1 hour
// before noon, so that it is the anchor of the tables.
type claimBuilder struct{ *corev1.PersistentVolumeClaim }

func claim(name string) claimBuilder {
	c := &corev1.PersistentVolumeClaim{}
	c.Name, c.Namespace, c.UID = name, "shop", types.UID(name+"-uid")
	c.CreationTimestamp = metav1.NewTime(ago(9*day + time.Hour))
	c.Status.Phase = corev1.ClaimBound
	return claimBuilder{c}
}

func (c claimBuilder) created(t time.Time) claimBuilder {
	c.CreationTimestamp = metav1.NewTime(t)
	return c
}
func (c claimBuilder) phase(p corev1.PersistentVolumeClaimPhase) claimBuilder {
	c.Status.Phase = p
	return c
}
func (c claimBuilder) requested(at string) claimBuilder {
	annotate(c, v1alpha1.AnnotationRequestedAt, at)
	return c
}
func (c claimBuilder) deleting() claimBuilder { markDeleting(c); return c }
func (c claimBuilder) with(change func(*corev1.PersistentVolumeClaim)) claimBuilder {
	change(c.PersistentVolumeClaim)
	return c
}
func (c claimBuilder) controlledBy(s scheduleBuilder) claimBuilder {
	c.OwnerReferences = []metav1.OwnerReference{s.ownerReference()}
	return c
}
func (c claimBuilder) from(group, kind, name string) claimBuilder {
	c.Spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: &group, Kind: kind, Name: name}
	return c
}
func (c claimBuilder) fromRef(group, kind, namespace, name string) claimBuilder {
	ref := &corev1.TypedObjectReference{APIGroup: &group, Kind: kind, Name: name}
	if namespace != "" {
		ref.Namespace = &namespace
	}
	c.Spec.DataSourceRef = ref
	return c
}

// of is provisioned by a driver.
func (c claimBuilder) of(driver string) claimBuilder {
	annotate(c, annotationProvisioner, driver)
	return c
}

// class is a VolumeSnapshotClass that is the default of its driver.
func class(name, driver string) *snapshotv1.VolumeSnapshotClass {
	c := plainClass(name, driver)
	annotate(c, annotationDefaultClass, "true")
	return c
}

// plainClass is one that is not the default.
func plainClass(name, driver string) *snapshotv1.VolumeSnapshotClass {
	c := &snapshotv1.VolumeSnapshotClass{Driver: driver}
	c.Name = name
	return c
}

// retaining makes a class leave the data of deleted snapshots in the storage.
func retaining(c *snapshotv1.VolumeSnapshotClass) *snapshotv1.VolumeSnapshotClass {
	c.DeletionPolicy = snapshotv1.VolumeSnapshotContentRetain
	return c
}

type classes []client.Object

// snapshotOf is what the operator creates for a slot of a PVC.
func snapshotOf(s scheduleBuilder, c claimBuilder, class *string, slot time.Time) *snapshotv1.VolumeSnapshot {
	of := claimsOf(s.SnapshotSchedule, []*corev1.PersistentVolumeClaim{c.PersistentVolumeClaim}, nil, noon)
	return newSnapshot(s.SnapshotSchedule, &of, class, slot).(*snapshotv1.VolumeSnapshot)
}

// groupName is the name of the group snapshot of a key for a slot.
func groupName(s scheduleBuilder, key string, slot time.Time) string {
	return snapshotName(s.UID, types.UID(key), s.Name, slot)
}

// snapshotBuilder builds a VolumeSnapshot, named after its age at noon.
type snapshotBuilder struct{ *snapshotv1.VolumeSnapshot }

// uncut was taken for the slot of its age, in time, and has no data yet.
func uncut(age time.Duration) snapshotBuilder {
	v := &snapshotv1.VolumeSnapshot{}
	v.Name, v.Namespace, v.UID = age.String(), "shop", types.UID(age.String())
	v.CreationTimestamp = metav1.NewTime(ago(age))
	v.Spec.Source.PersistentVolumeClaimName = ptr.To("data")
	annotate(v, v1alpha1.AnnotationScheduledAt, rfc3339(ago(age)))
	return snapshotBuilder{v}
}

// uploading is cut and not ready, without an error.
func uploading(age time.Duration) snapshotBuilder { return uncut(age).cut(ago(age)) }

// erring is cut, not ready, and in error.
func erring(age time.Duration) snapshotBuilder {
	s := uploading(age)
	s.Status.Error = &snapshotv1.VolumeSnapshotError{}
	return s
}

// ready can be restored from.
func ready(age time.Duration) snapshotBuilder {
	s := uploading(age)
	s.Status.ReadyToUse = ptr.To(true)
	return s
}

// imported is of existing data. It has no slot, and no status yet.
func imported(age time.Duration) snapshotBuilder {
	s := uncut(age).unscheduled()
	s.Spec.Source.PersistentVolumeClaimName, s.Spec.Source.VolumeSnapshotContentName = nil, ptr.To("content")
	return s
}

func (s snapshotBuilder) cut(at time.Time) snapshotBuilder {
	if s.Status == nil {
		s.Status = &snapshotv1.VolumeSnapshotStatus{}
	}
	s.Status.CreationTime = ptr.To(metav1.NewTime(at))
	return s
}
func (s snapshotBuilder) since(at time.Time) snapshotBuilder {
	s.Status.Error.Time = ptr.To(metav1.NewTime(at))
	return s
}
func (s snapshotBuilder) named(name string) snapshotBuilder { s.Name = name; return s }
func (s snapshotBuilder) created(t time.Time) snapshotBuilder {
	s.CreationTimestamp = metav1.NewTime(t)
	return s
}
func (s snapshotBuilder) scheduledAt(at string) snapshotBuilder {
	annotate(s, v1alpha1.AnnotationScheduledAt, at)
	return s
}
func (s snapshotBuilder) held() snapshotBuilder { return s.heldUntil("") }
func (s snapshotBuilder) heldUntil(value string) snapshotBuilder {
	annotate(s, v1alpha1.AnnotationHold, value)
	return s
}
func (s snapshotBuilder) verified(at string) snapshotBuilder {
	annotate(s, v1alpha1.AnnotationVerifiedAt, at)
	return s
}
func (s snapshotBuilder) verifyFailed(value string) snapshotBuilder {
	annotate(s, v1alpha1.AnnotationVerifyFailed, value)
	return s
}
func (s snapshotBuilder) deleting() snapshotBuilder { markDeleting(s); return s }
func (s snapshotBuilder) deletedSince(at time.Time) snapshotBuilder {
	s.SetDeletionTimestamp(ptr.To(metav1.NewTime(at)))
	return s
}
func (s snapshotBuilder) unscheduled() snapshotBuilder { s.Annotations = nil; return s }

// series are the snapshots of one PVC.
type series []snapshotBuilder

func (snapshots series) objects() (all []client.Object) {
	for _, s := range snapshots {
		all = append(all, s.VolumeSnapshot)
	}
	return all
}

func annotate(o client.Object, key, value string) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	o.SetAnnotations(annotations)
}

func markDeleting(o client.Object) {
	o.SetDeletionTimestamp(ptr.To(metav1.NewTime(ago(time.Minute))))
}

// setStatus computes the status of a schedule that no ClusterSnapshotSchedule made.
func setStatus(now time.Time, s *v1alpha1.SnapshotSchedule, known mapcontroller.Summary) combined {
	return setStatusOf(now, s, origin{}, known)
}

const maxName = 253 // of an object

var stripMember, stripGroup, stripSchedule = cached.Member, cached.Group, cached.Schedule

// stripSnapshot and stripClaim share nothing with what was stripped before.
func stripSnapshot(o any) (any, error) { return cached.Snapshots()(o) }
func stripClaim(o any) (any, error)    { return claimsCached()(o) }

func strip[T any](t *testing.T, transform func(any) (any, error), o T) T {
	t.Helper()
	stripped, err := transform(o)
	must(t, err)
	return stripped.(T)
}

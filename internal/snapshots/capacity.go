// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/limits"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/report"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// capacity is what the storage of a driver can take; zero: any number.
type capacity struct {
	inFlight, pending, perVolume int
	spacing                      time.Duration
	// perVolumeClass is the class that says perVolume.
	perVolumeClass string
	// invalid says which annotation is ignored, and why; remove is the command that removes it. They are apart, because the
	// value of the annotation, which is shown, may look like a command.
	invalid, remove string
	// guessed is set if the driver is a guess.
	guessed bool
}

// capacityOf returns the strictest of what the classes of a driver say; of an unknown one, what all classes say.
func (c Classes) capacityOf(d driver) (found capacity) {
	for _, class := range c.All {
		if of, isClass := driverOfClass(class); !isClass || d != "" && of != d || len(class.GetAnnotations()) == 0 {
			continue
		}
		stricter(&found.inFlight, found.number(class, v1alpha1.AnnotationMaxInFlight))
		stricter(&found.pending, found.number(class, v1alpha1.AnnotationMaxPending))
		if before := found.perVolume; stricter(&found.perVolume, found.number(class, v1alpha1.AnnotationMaxPerVolume)) != before {
			found.perVolumeClass = class.GetName()
		}
		if text, ok := class.GetAnnotations()[v1alpha1.AnnotationMinSpacing]; ok {
			spacing, err := schedule.ParseDuration(text)
			if err != nil {
				found.refuse(class, v1alpha1.AnnotationMinSpacing, "a duration such as 10m")
			}
			found.spacing = max(found.spacing, spacing)
		}
	}
	if d == "" {
		found.invalid, found.remove = "", "" // whose class it is, the schedules of its driver say
	}
	return found
}

// stricter sets a limit to another one if that is stricter, and returns it. Zero is none.
func stricter(limit *int, other int) int {
	if other > 0 && (*limit == 0 || other < *limit) {
		*limit = other
	}
	return *limit
}

// number returns the value of an annotation; zero if it is missing or malformed.
func (c *capacity) number(class client.Object, annotation string) int {
	text, ok := class.GetAnnotations()[annotation]
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		c.refuse(class, annotation, "a positive integer")
		return 0
	}
	return n
}

// refuse says that an annotation is malformed: of several the one that comes first by name.
func (c *capacity) refuse(class client.Object, annotation, want string) {
	kind := "VolumeSnapshotClass"
	if _, isGroup := class.(*groupv1.VolumeGroupSnapshotClass); isGroup {
		kind = "VolumeGroupSnapshotClass"
	}
	message := fmt.Sprintf("annotation %s of %s %s is %s, which is not %s; it is ignored", annotation, kind, class.GetName(),
		strconv.Quote(report.Text(class.GetAnnotations()[annotation], maxAnnotation)), want)
	if c.invalid == "" || message < c.invalid {
		c.invalid = message
		c.remove = fmt.Sprintf("kubectl annotate %s '%s' '%s-'", strings.ToLower(kind), class.GetName(), annotation)
	}
}

// maxAnnotation is how many bytes of a malformed annotation are shown.
const maxAnnotation = 64

// problem is what is wrong with the annotations, of the schedule itself; nil: nothing.
func (c *capacity) problem() *Problem {
	if c.invalid == "" {
		return nil
	}
	return &Problem{Reason: v1alpha1.ReasonInvalidClassAnnotation, Message: withCommand(c.invalid, "; to remove it: "+c.remove)}
}

// volume is what is seen of the volume of a PVC.
type volume struct {
	capacity capacity
	// snapshots are those that the storage has of it, by our labels, over all schedules, but
	// for imported ones, group snapshots included, and terminating those of them that are being deleted.
	snapshots   []client.Object
	terminating []string
	// held is how many of them stay because of a hold that does not end soon.
	held int
	// newest is when the last snapshot of the PVC was created, of whichever volume.
	newest time.Time
}

// soon is within what time a hold ends that does not count: a rollback holds all snapshots of a PVC for a day.
const soon = 24 * time.Hour

// ofVolumes returns whether it matters which snapshots a volume has.
func (c *capacity) ofVolumes() bool { return c.perVolume > 0 || c.spacing > 0 }

// volumesOf returns the volumes of PVCs of a namespace with all their snapshots, among which the outputs may be, and which may repeat.
// None, if it does not matter which snapshots a volume has. It reads the record of a group snapshot once: there may be many of
// them, of many PVCs.
func volumesOf(claims []*corev1.PersistentVolumeClaim, c capacity, seen mapcontroller.Observation) []volume {
	if !c.ofVolumes() { // as nearly always, and each pass asks
		return nil
	}
	all, at := make([]volume, len(claims)), make(map[string]int, len(claims))
	for i, claim := range claims {
		all[i].capacity, at[claim.Name] = c, i
	}
	singles, groups := sets.New[string](), sets.New[string]()
	for _, o := range slices.Concat(seen.Outputs, seen.Related) {
		switch v := o.(type) {
		case *snapshotv1.VolumeSnapshot:
			i, known := at[backup.ClaimName(v)]
			if known && v.Labels[v1alpha1.LabelMapKey] == string(claims[i].UID) && !singles.Has(v.Name) {
				singles.Insert(v.Name)
				all[i].add(v, claims[i], backup.VolumeText(v), seen.Now)
			}
		case *groupv1.VolumeGroupSnapshot:
			if !countsForVolumes(v) || groups.Has(v.Name) {
				continue
			}
			groups.Insert(v.Name)
			volumes := backup.VolumesOf(v)
			for name, uid := range backup.ClaimsOf(v) {
				if i, known := at[name]; known && uid == claims[i].UID {
					all[i].add(v, claims[i], volumes[name], seen.Now)
				}
			}
		}
	}
	for i := range all {
		slices.Sort(all[i].terminating)
	}
	return all
}

// countsForVolumes returns whether a group snapshot is one of ours that was taken, and not imported.
func countsForVolumes(v *groupv1.VolumeGroupSnapshot) bool {
	return !backup.Imported(v) && backup.IsGroupKey(v.Labels[v1alpha1.LabelMapKey])
}

// add adds a snapshot, or a group snapshot, of the PVC, which says of which volume it is, or nothing.
func (v *volume) add(o client.Object, claim *corev1.PersistentVolumeClaim, of string, now time.Time) {
	if o.GetNamespace() != claim.Namespace {
		return
	}
	if created := o.GetCreationTimestamp().Add(time.Second); created.After(v.newest) { // it is truncated to a second
		v.newest = created
	}
	if !backup.IsOfVolume(o, claim, of) {
		return
	}
	v.snapshots = append(v.snapshots, o)
	if until, held := backup.HeldUntil(o); held && until.After(now.Add(soon)) {
		v.held++
	}
	if backup.Terminating(o) {
		v.terminating = append(v.terminating, o.GetName())
	}
}

// full returns whether a volume has no place for a snapshot.
func (v *volume) full() bool {
	return v.capacity.perVolume > 0 && len(v.snapshots) >= v.capacity.perVolume
}

// limits returns a volume as limits see it.
func (v *volume) limits(name string) limits.Volume {
	l := limits.Volume{Name: name, Max: v.capacity.perVolume, Spacing: v.capacity.spacing, Newest: v.newest}
	for _, s := range v.snapshots {
		l.Snapshots = append(l.Snapshots, s.GetName())
	}
	return l
}

// problem says what does not fit into a volume: a slot that is due, or what a spec keeps.
func (v *volume) problem(spec *compiled, due bool) Problem {
	p := Problem{Reason: v1alpha1.ReasonVolumeLimit}
	if due && v.full() {
		p.Message = fmt.Sprintf("class %s allows %d snapshots per PVC, and there are %d",
			v.capacity.perVolumeClass, v.capacity.perVolume, len(v.snapshots))
		if len(v.terminating) > 0 {
			p.Message += ", of which are being deleted: " + report.List(v.terminating, maxTerminating)
		}
		p.Message += guessText(v.capacity.guessed)
		return p
	}
	if v.capacity.perVolume == 0 {
		return Problem{}
	}
	n, all := spec.kept()
	if !all && n+v.held < v.capacity.perVolume {
		return Problem{}
	}
	keeps, least := fmt.Sprintf("up to %d snapshots per PVC", n+v.held), spec.surelyKeeps()
	bound := !all && !spec.simulated && n > least+spec.retention.MinVerified
	if bound {
		keeps = fmt.Sprintf("%d or more snapshots per PVC", least+v.held)
	}
	switch {
	case all:
		keeps = "every snapshot of a PVC"
	case v.held > 0:
		keeps += fmt.Sprintf(", %d with a hold included,", v.held)
	}
	p.Harmless = true
	if bound && least+v.held < v.capacity.perVolume {
		p.Message = fmt.Sprintf("may keep as many snapshots per PVC as class %s allows, %d, and needs a place for the next: "+
			"kubectl snapsched preview says how many it keeps%s", v.capacity.perVolumeClass, v.capacity.perVolume, guessText(v.capacity.guessed))
		return p
	}
	allows := fmt.Sprintf("class %s allows %d", v.capacity.perVolumeClass, v.capacity.perVolume)
	p.Message = fmt.Sprintf("keeps %s and needs a place for the next; %s", keeps, allows)
	if most := v.capacity.perVolume - 1 - v.held; v.fits(spec, all, most) {
		p.Message += fmt.Sprintf(": set retention.maxCount to %d or less", most)
	}
	p.Message += guessText(v.capacity.guessed)
	return p
}

// fits returns whether maxCount would bound what there will be, and delete nothing that there is: it counts beside no tier, and who
// keeps everything wants it so.
func (v *volume) fits(spec *compiled, all bool, most int) bool {
	policy := &spec.retention
	return !v.capacity.guessed && !all && policy.Keep == (retention.Tiers{}) && len(v.snapshots) <= most &&
		most >= max(1, policy.MinReady+policy.MinVerified)
}

// guessText says that a driver is a guess, and what ends that.
func guessText(guessed bool) string {
	if !guessed {
		return ""
	}
	return "; the driver of the PVC is unknown, so the limits are a guess: name a class in the schedule"
}

// maxTerminating is how many bytes the names of snapshots that are being deleted may have.
const maxTerminating = 400

// LongestUpload is how long a snapshot that is cut may upload. After that, it does not count as pending any more.
const LongestUpload = limits.LongestUpload

// stageOf returns how far a snapshot has come that is not ready.
func stageOf(o client.Object, s retention.Snapshot) limits.Stage {
	at := limits.Stage{Created: s.Created, Uncut: s.Uncut(), Fails: s.HasError}
	if deleted := o.GetDeletionTimestamp(); deleted != nil {
		at.Deleted = deleted.Time
	}
	return at
}

// followed returns whether a newer snapshot of a series is ready.
func followed(s retention.Snapshot, series []client.Object, now time.Time) bool {
	for _, other := range series {
		if ready, _ := backup.From(other); ready.IsReady() && positionOf(&ready, now).compare(positionOf(&s, now)) > 0 {
			return true
		}
	}
	return false
}

// limitOf returns the driver whose limits hold for the snapshots of a PVC, or of a group, and whether that is a guess. It is
// that of the class in the newest snapshot that was cut since a time: the storage knows whose the volume is, while whoever may
// edit a PVC can change, or remove, the annotation that says so. Else it is what the PVC says. Else it is that of the class
// which the snapshot controller has chosen for the newest snapshot, or the only driver that has classes, or unknown, for which
// the limits of all classes hold.
func (c Classes) limitOf(says driver, snapshots []client.Object, since time.Time) (of driver, guessed bool) {
	if !c.Known {
		return says, false
	}
	if of := cmp.Or(c.driverTaken(snapshots, cutSince(since)), says); of != "" {
		return of, says == ""
	}
	if of := c.driverTaken(snapshots, func(*retention.Snapshot) bool { return true }); of != "" {
		return of, true
	}
	var only driver
	for _, o := range c.All {
		switch of, isClass := driverOfClass(o); {
		case isClass && only != "" && of != only:
			return "", true
		case isClass:
			only = of
		}
	}
	return only, true
}

// proven returns whether a driver is known to be that of a PVC, or a group, beyond what can be written on the PVC: the spec
// names its class, or the newest snapshot that was cut has it. Nothing is deleted to make place for what is only said.
func (c Classes) proven(of driver, named *string, snapshots []client.Object, since time.Time) bool {
	return named != nil || of != "" && c.driverTaken(snapshots, cutSince(since)) == of
}

// cutSince counts snapshots that were cut, and are not older than a time: a rollback carries over those of another volume.
func cutSince(since time.Time) func(*retention.Snapshot) bool {
	return func(s *retention.Snapshot) bool { return !s.Uncut() && !s.Created.Before(since) }
}

// driverTaken returns the driver of the class of the newest of some snapshots, or group snapshots, that has one which
// exists; empty if none has.
func (c Classes) driverTaken(snapshots []client.Object, counts func(*retention.Snapshot) bool) (of driver) {
	var newest time.Time
	for _, o := range slices.Backward(snapshots) { // outputs are ordered by age, and then only the newest is read
		created := o.GetCreationTimestamp().Time
		if of != "" && !created.After(newest) {
			continue
		}
		d := c.driverIn(o)
		if d == "" {
			continue
		}
		if s, known := backup.From(o); known && counts(&s) {
			of, newest = d, created
		}
	}
	return of
}

// recordedClaims returns the names and UIDs of the PVCs that a snapshot with a map key is of; none of a group snapshot without a record.
func recordedClaims(o client.Object, mapKey string) map[string]types.UID {
	if record := backup.ClaimsOf(o); record != nil || kindFor(o).ofGroup {
		return record
	}
	return map[string]types.UID{backup.ClaimName(o): types.UID(mapKey)}
}

// PerVolume returns how many snapshots the storage of a PVC takes of its volume, which class says so, and which of some
// snapshots and group snapshots are of it. A limit of zero is none.
func (c Classes) PerVolume(claim *corev1.PersistentVolumeClaim, all []client.Object) (limit int, class string, of []client.Object) {
	storage := c.capacityOf(driverOf(claim))
	for _, v := range volumesOf([]*corev1.PersistentVolumeClaim{claim}, storage, mapcontroller.Observation{Related: all}) {
		of = v.snapshots
	}
	return storage.perVolume, storage.perVolumeClass, of
}

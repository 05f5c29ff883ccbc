// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/drivers"
)

// lies are what a simulated driver does other than it says.
type lies struct {
	wrongBytes, cutsEarly, cutsLate, takesSnapshots, takesCopies, keepsVolume, neverDeletes, refusesClones, refusesContents bool
	// slow is how many seconds the deletion of the snapshot takes, and warns whether an error is seen meanwhile.
	slow  int
	warns bool
	// tornBy is how many looks later the second volume of a group is cut; the first, if it is negative.
	tornBy int
	// volumeTakes is how many snapshots a volume takes.
	volumeTakes int
	// idle is a writer that does not write, and killed one that leaves no mark.
	idle, killed bool
}

var sum = SumOf("abcde")

// driver is a cluster with a driver, as far as a proof sees it.
type driver struct {
	lies
	seen Seen
	// volumes are the data of PVCs, snapshots those of snapshots, and from the snapshots that PVCs came of.
	volumes, snapshots map[string]*Reading
	from               map[string]string
	looks              int
	// later is what happens at a look.
	later map[int][]func()
}

func newDriver(l lies) *driver {
	return &driver{
		lies: l, volumes: map[string]*Reading{}, snapshots: map[string]*Reading{}, from: map[string]string{}, later: map[int][]func(){},
		seen: Seen{
			Pods: map[string]*corev1.Pod{}, Claims: map[string]*corev1.PersistentVolumeClaim{}, Snapshots: map[string]*snapshotv1.VolumeSnapshot{},
			Groups: map[string]*groupv1.VolumeGroupSnapshot{}, Contents: map[string]*snapshotv1.VolumeSnapshotContent{},
			Volumes: map[string]*corev1.PersistentVolume{}, ContentOf: map[string]string{}, VolumeOf: map[string]string{},
		},
	}
}

func (d *driver) in(looks int, do func()) {
	d.later[d.looks+looks] = append(d.later[d.looks+looks], do)
}

// look lets half a second pass.
func (d *driver) look() {
	d.looks++
	d.seen.Since += time.Second / 2
	for _, pod := range d.seen.Pods {
		if c := statusOf(pod); c != nil && c.State.Running != nil && !d.idle {
			for _, v := range pod.Spec.Volumes {
				d.volumes[v.Name].Records += 10
			}
		}
	}
	for _, do := range d.later[d.looks] {
		do()
	}
	for name, pod := range d.seen.Pods {
		d.start(name, pod)
	}
}

// start starts a pod whose volumes are there.
func (d *driver) start(name string, pod *corev1.Pod) {
	var readings []Reading
	for _, v := range pod.Spec.Volumes {
		if d.volumes[v.Name] == nil {
			return
		}
		readings = append(readings, *d.volumes[v.Name])
	}
	if len(pod.Status.ContainerStatuses) > 0 {
		return
	}
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	if strings.HasPrefix(name, "read") {
		text, _ := json.Marshal(readings)
		state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: string(text)}}
	}
	if state.Running != nil {
		for _, v := range pod.Spec.Volumes {
			d.volumes[v.Name].Records++
		}
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "istio"}, {Name: container, State: state, Ready: state.Running != nil}}
}

// take stores what a volume holds now.
func (d *driver) take(name string, of *Reading) {
	copied := *of
	if d.wrongBytes {
		copied.Sum = "other"
	}
	if d.cutsEarly {
		copied.Records = 0
	}
	d.snapshots[name] = &copied
}

func (d *driver) create(o client.Object) {
	o.SetUID(types.UID(o.GetName()))
	switch o := o.(type) {
	case *corev1.Pod:
		d.seen.Pods[o.Name] = o
	case *corev1.PersistentVolumeClaim:
		d.seen.Claims[o.Name], d.seen.VolumeOf[o.Name] = o, "pv-"+o.Name
		d.in(1, func() { d.provision(o) })
	case *snapshotv1.VolumeSnapshotContent:
		d.seen.Contents[o.Name] = o
	case *snapshotv1.VolumeSnapshot:
		d.snapshot(o)
	case *groupv1.VolumeGroupSnapshot:
		d.group(o)
	}
}

func (d *driver) provision(claim *corev1.PersistentVolumeClaim) {
	data := &Reading{Sum: sum}
	if source := claim.Spec.DataSource; source != nil {
		name := source.Name
		if content := d.seen.Contents[name]; content != nil {
			if d.refusesContents {
				return
			}
			name = *content.Spec.Source.SnapshotHandle
		}
		if data = d.snapshots[name]; data == nil {
			if v := d.seen.Snapshots[name]; v != nil {
				v.Finalizers = []string{asSource} // which the provisioner never takes off
			}
			d.seen.Events = append(d.seen.Events, warning("PersistentVolumeClaim", claim.Name, "rpc error: code = NotFound desc = no such snapshot"))
			return
		}
		d.from[claim.Name], data = name, ptr.To(*data)
	}
	d.volumes[claim.Name] = data
	d.seen.Volumes["pv-"+claim.Name] = &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + claim.Name}}
	claim.Status.Phase = corev1.ClaimBound
}

func (d *driver) snapshot(v *snapshotv1.VolumeSnapshot) {
	d.seen.Snapshots[v.Name] = v
	v.Status = &snapshotv1.VolumeSnapshotStatus{}
	if v.Spec.Source.PersistentVolumeClaimName == nil {
		if d.refusesContents {
			return
		}
		d.seen.ContentOf[v.Name] = *v.Spec.Source.VolumeSnapshotContentName
		v.Status.ReadyToUse = ptr.To(true)
		return
	}
	claim := *v.Spec.Source.PersistentVolumeClaimName
	n := 0
	for _, other := range d.seen.Snapshots {
		if ptr.Deref(other.Spec.Source.PersistentVolumeClaimName, "") == claim {
			n++
		}
	}
	if d.volumeTakes > 0 && n > d.volumeTakes {
		v.Status.Error = &snapshotv1.VolumeSnapshotError{Message: ptr.To("rpc error: code = FailedPrecondition desc = maximum reached")}
		return
	}
	content := "content-" + v.Name
	d.seen.ContentOf[v.Name], v.Status.BoundVolumeSnapshotContentName = content, &content
	d.seen.Contents[content] = &snapshotv1.VolumeSnapshotContent{
		ObjectMeta: metav1.ObjectMeta{Name: content, UID: types.UID(content)},
		Spec: snapshotv1.VolumeSnapshotContentSpec{VolumeSnapshotRef: corev1.ObjectReference{
			Namespace: v.Namespace, Name: v.Name, UID: v.UID,
		}},
		Status: &snapshotv1.VolumeSnapshotContentStatus{SnapshotHandle: &v.Name},
	}
	d.in(1, func() {
		v.Status.CreationTime = ptr.To(metav1.NewTime(d.seen.Now))
		d.take(v.Name, d.volumes[claim])
	})
	d.in(20, func() {
		if v.Status.ReadyToUse = ptr.To(true); d.cutsLate {
			d.take(v.Name, d.volumes[claim])
		}
	})
}

func (d *driver) group(g *groupv1.VolumeGroupSnapshot) {
	d.seen.Groups[g.Name] = g
	g.Status = &groupv1.VolumeGroupSnapshotStatus{}
	for i, claim := range together {
		name := g.Name + "-of-" + claim
		cut := func() { d.take(name, d.volumes[claim]) }
		if late := map[int]int{0: -d.tornBy, 1: d.tornBy}[i]; late > 0 {
			d.in(1+late, cut)
		} else {
			d.in(1, cut)
		}
		d.in(10, func() {
			d.seen.Snapshots[name] = &snapshotv1.VolumeSnapshot{
				ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: g.Namespace, OwnerReferences: []metav1.OwnerReference{{UID: g.UID}}},
				Spec:       snapshotv1.VolumeSnapshotSpec{Source: snapshotv1.VolumeSnapshotSource{PersistentVolumeClaimName: &claim}},
				Status:     &snapshotv1.VolumeSnapshotStatus{ReadyToUse: ptr.To(true), VolumeGroupSnapshotName: &g.Name},
			}
		})
	}
	d.in(8, func() { g.Status.CreationTime, g.Status.ReadyToUse = ptr.To(metav1.NewTime(d.seen.Now)), ptr.To(true) })
}

func (d *driver) delete(o client.Object) {
	name := o.GetName()
	switch o := o.(type) {
	case *corev1.Pod:
		o.DeletionTimestamp = &metav1.Time{Time: d.seen.Now}
		for _, v := range o.Spec.Volumes {
			if data := d.volumes[v.Name]; data != nil && strings.Contains(name, "write") {
				data.Mark = !d.killed
			}
		}
		o.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: container}}
		d.in(2, func() { delete(d.seen.Pods, name) })
	case *corev1.PersistentVolumeClaim:
		delete(d.seen.Claims, name)
		delete(d.volumes, name)
		if !d.keepsVolume {
			delete(d.seen.Volumes, "pv-"+name)
		}
		if d.takesSnapshots {
			clear(d.snapshots)
		}
	case *snapshotv1.VolumeSnapshotContent:
		delete(d.seen.Contents, name)
	case *snapshotv1.VolumeSnapshot:
		for _, claim := range d.seen.Claims { // the snapshot controller protects the source of a PVC that waits
			if source := claim.Spec.DataSource; source != nil && source.Name == name && claim.Status.Phase != corev1.ClaimBound {
				o.DeletionTimestamp = &metav1.Time{Time: d.seen.Now}
				return
			}
		}
		o.DeletionTimestamp = &metav1.Time{Time: d.seen.Now}
		if source := o.Spec.Source.PersistentVolumeClaimName; source != nil && (d.neverDeletes || d.refusesClones) {
			o.Finalizers = append(o.Finalizers, "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection")
		}
		if len(o.Finalizers) == 0 {
			delete(d.seen.Snapshots, name)
		}
		if o.Spec.Source.PersistentVolumeClaimName == nil || d.neverDeletes {
			return
		}
		if d.slow > 0 {
			if d.warns {
				d.seen.Events = append(d.seen.Events, warning("VolumeSnapshotContent", d.seen.ContentOf[name], "rpc error: code = DeadlineExceeded desc = slow"))
			}
			d.in(2*d.slow, func() { d.deleteData(name) })
			return
		}
		if d.refusesClones {
			d.seen.Events = append(d.seen.Events, warning("VolumeSnapshotContent", d.seen.ContentOf[name], "snapshot has dependent clones"))
			return
		}
		d.deleteData(name)
	}
}

// deleteData deletes the data of a snapshot with its content.
func (d *driver) deleteData(name string) {
	delete(d.seen.Contents, d.seen.ContentOf[name])
	delete(d.snapshots, name)
	for claim, of := range d.from {
		if d.takesCopies && of == name && d.volumes[claim] != nil {
			*d.volumes[claim] = Reading{Sum: "empty"}
		}
	}
}

func warning(kind, name, message string) corev1.Event {
	return corev1.Event{Type: corev1.EventTypeWarning, InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name}, Message: message}
}

// prove takes all steps, as the command does, and returns how long it took.
func (d *driver) prove(t *testing.T, p *Proof) time.Duration {
	t.Helper()
	d.seen.Now = time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
	began := d.seen.Now
	for _, step := range p.Steps() {
		d.seen.Since = 0
		for range 100_000 {
			v := p.Next(step, &d.seen)
			if v.State != "" {
				p.End(step, v, "")
				break
			}
			for _, one := range v.Do {
				d.change(one)
			}
			d.seen.Now = d.seen.Now.Add(time.Second / 2)
			d.look()
		}
	}
	if len(p.Rows) != len(p.Steps()) {
		t.Fatalf("a step does not end: %v", p.Rows)
	}
	return d.seen.Now.Sub(began)
}

func (d *driver) change(c change.Change) {
	switch {
	case c.Create != nil:
		d.create(c.Create)
	case c.Delete != nil:
		d.delete(c.Delete)
	default: // a content that no snapshot controller releases, or a snapshot that the provisioner does not
		delete(d.seen.Contents, c.Object.GetName())
		delete(d.seen.Snapshots, c.Object.GetName())
	}
}

// Each way in which a driver can lie is found by a step of its own, and a driver that does not lie by none.
//
// Contract: DOC-1, DOC-2, DOC-3.
func TestEachLieOfADriverIsFound(t *testing.T) {
	yes := map[string]bool{drivers.FactCopies: true, drivers.FactGroups: true}
	noCopies := map[string]bool{drivers.FactCopies: false, drivers.FactGroups: true}
	noGroups := map[string]bool{drivers.FactCopies: true, drivers.FactGroups: false}
	groups := map[string]bool{drivers.FactGroups: true}
	for name, tc := range map[string]struct {
		lies lies
		// step is the first one that is not ok, and words what it says.
		step  string
		state State
		words string
		facts map[string]bool
	}{
		"none":                           {facts: yes},
		"other bytes":                    {lies{wrongBytes: true}, stepRestore, Failed, "the checksum differs", map[string]bool{drivers.FactCopies: false, drivers.FactGroups: false}},
		"cut before it was asked for":    {lies{cutsEarly: true}, stepRestore, Failed, "0 records of 11", map[string]bool{drivers.FactCopies: false}},
		"cut late":                       {lies{cutsLate: true}, stepOnTime, Failed, "written after the driver had said", yes},
		"the writer leaves no mark":      {lies{killed: true}, stepOnTime, Unknown, "before it had written its mark", yes},
		"data goes with the volume":      {lies{takesSnapshots: true}, stepRestoreGone, Failed, "NotFound: no such snapshot", yes},
		"copies go with the snapshot":    {lies{takesCopies: true}, stepCopyAlone, Failed, "the checksum differs", noCopies},
		"no second content":              {lies{refusesContents: true}, stepCopy, Unknown, "not within 5m: ", groups},
		"the volume stays":               {lies{keepsVolume: true}, stepGone, Unknown, "PersistentVolume pv-data is not deleted", groups},
		"nothing is deleted":             {lies{neverDeletes: true}, stepDelete, Failed, "not within 2m: VolumeSnapshotContent content-first is not deleted", groups},
		"clones keep their snapshot":     {lies{refusesClones: true}, stepCopyAlone, Unknown, "not tried, because of: delete snapshot", groups},
		"slow, and copies go with it":    {lies{slow: 130, takesCopies: true}, stepCopyAlone, Unknown, "not tried", groups},
		"slow after an error":            {lies{slow: 30, warns: true, takesCopies: true}, stepCopyAlone, Unknown, "not tried", groups},
		"a group, the second cut later":  {lies{tornBy: 1}, stepInstant, Failed, "written after it", noGroups},
		"a group, the first cut later":   {lies{tornBy: -1}, stepInstant, Failed, "lacks 10 of them", noGroups},
		"the writer did not write":       {lies{idle: true}, stepInstant, Unknown, "did not write", map[string]bool{drivers.FactCopies: true}},
		"a limit of snapshots of volume": {lies: lies{volumeTakes: 5}, facts: yes},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Proof{ID: "abcde", StorageClass: "fast", Groups: true, Limits: true, Pending: 3}
			d := newDriver(tc.lies)
			if took := d.prove(t, p); took > 30*time.Minute {
				t.Errorf("it took %s", took)
			}
			if name := p.Refused(); name != "" {
				p.Settle(tc.lies.neverDeletes)
			}
			var first Row
			for _, row := range p.Rows {
				if row.State != OK {
					first = row
					break
				}
			}
			if first.Step != tc.step || first.State != tc.state || !strings.Contains(first.Words, tc.words) {
				t.Errorf("%+v", p.Rows)
			}
			if !maps.Equal(p.Facts(), tc.facts) {
				t.Errorf("facts %v: %+v", p.Facts(), p.Rows)
			}
		})
	}
}

// Contract: DOC-4.
func TestLimitsOfADriver(t *testing.T) {
	for takes, want := range map[int]string{
		0: "40 snapshots in ", 5: "5 snapshots, then refused for 2m: rpc error: code = FailedPrecondition desc = maximum reached", 1: "1 snapshot, then refused",
	} {
		p := &Proof{ID: "abcde", Limits: true, Pending: 3}
		d := newDriver(lies{volumeTakes: takes})
		most := 0
		d.seen.Pods = map[string]*corev1.Pod{}
		for i := range 2000 {
			d.in(i, func() {
				pending := 0
				for _, v := range d.seen.Snapshots {
					if strings.HasPrefix(v.Name, "limit-") && !ptr.Deref(v.Status.ReadyToUse, false) {
						pending++
					}
				}
				most = max(most, pending)
			})
		}
		d.prove(t, p)
		row := p.Rows[len(p.Rows)-1]
		if row.State != OK || !strings.HasPrefix(row.Words, want) || most > 3 {
			t.Errorf("%d: %d in progress: %+v", takes, most, row)
		}
		if got := p.Suggested()[v1alpha1.AnnotationMaxPerVolume]; (got == "5") != (takes == 5) || (got == "") == (takes == 5) {
			t.Errorf("%d: max-per-volume %q", takes, got)
		}
	}
}

// A cut is torn as soon as one record was written between the cuts of its volumes.
//
// Contract: DOC-3.
func TestTornGroups(t *testing.T) {
	for name, tc := range map[string]struct {
		cuts [3][2]int
		want State
	}{
		"between two records":          {[3][2]int{{5, 5}, {7, 7}, {9, 9}}, OK},
		"within a record":              {[3][2]int{{5, 4}, {7, 7}, {9, 8}}, OK},
		"the second is cut later":      {[3][2]int{{5, 5}, {7, 8}, {9, 9}}, Failed},
		"the first is cut later":       {[3][2]int{{5, 5}, {7, 7}, {9, 7}}, Failed},
		"two cuts at the same record":  {[3][2]int{{5, 5}, {5, 5}, {9, 9}}, Unknown},
		"nothing was written after it": {[3][2]int{{5, 5}, {7, 7}, {20, 20}}, Unknown},
		"nothing was written before":   {[3][2]int{{0, 0}, {7, 7}, {9, 9}}, Unknown},
	} {
		var cuts [][]Reading
		for _, cut := range tc.cuts {
			cuts = append(cuts, []Reading{{Sum: "x", Records: cut[0]}, {Sum: "x", Records: cut[1]}})
		}
		if v := judgeGroups(cuts, []Reading{{Sum: "x", Records: 20}, {Sum: "x", Records: 20}}, "x"); v.State != tc.want {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// Whoever labels a namespace or a content as a proof's has nothing deleted by it.
//
// Contract: DOC-5.
func TestWhatBelongsToAProof(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	namespace := func(name, id string) client.Object {
		o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		Mark(o, id, now)
		return o
	}
	content := func(in string, policy snapshotv1.DeletionPolicy, handle *string) client.Object {
		o := &snapshotv1.VolumeSnapshotContent{Spec: snapshotv1.VolumeSnapshotContentSpec{
			DeletionPolicy: policy, VolumeSnapshotRef: corev1.ObjectReference{Namespace: in},
			Source: snapshotv1.VolumeSnapshotContentSource{SnapshotHandle: handle},
		}}
		Mark(o, "abcde", now)
		return o
	}
	const retain, deletes = snapshotv1.VolumeSnapshotContentRetain, snapshotv1.VolumeSnapshotContentDelete
	for name, tc := range map[string]struct {
		o    client.Object
		want string
	}{
		"a namespace":                         {namespace("snapsched-proof-abcde", "abcde"), "abcde"},
		"another name":                        {namespace("shop", "abcde"), ""},
		"the name of another one":             {namespace("snapsched-proof-fghij", "abcde"), ""},
		"no ID":                               {namespace("shop", ""), ""},
		"a longer name":                       {namespace("snapsched-proof-abcde-x", "abcde"), ""},
		"a content":                           {content("snapsched-proof-abcde", retain, ptr.To("h")), "abcde"},
		"a content that deletes its data":     {content("snapsched-proof-abcde", deletes, ptr.To("h")), ""},
		"a content of a snapshot that it cut": {content("snapsched-proof-abcde", retain, nil), ""},
		"a content of another namespace":      {content("shop", retain, ptr.To("h")), ""},
	} {
		if got := Owner(tc.o); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Contract: DOC-5.
func TestWhoStillRuns(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for mark, want := range map[string]bool{
		"2026-11-29T11:50:01Z": true, "2026-11-29T11:50:00Z": false, "2026-11-29T12:00:30Z": true, // a clock may be behind
		"2026-11-29T13:00:00Z": false, "9999-11-29T13:00:00Z": false, "": false, "soon": false, "1970-01-01T00:00:00Z": false,
	} {
		o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
		Mark(o, "abcde", now)
		for key := range o.Annotations {
			o.Annotations[key] = mark
		}
		if Alive(o, now) != want {
			t.Errorf("%q: %t", mark, !want)
		}
	}
	young := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-time.Minute))}}
	if !Alive(young, now) {
		t.Error("one that was just created")
	}
}

// A cluster that gives each namespace users of its own, such as OpenShift, rejects a pod that names another one. Elsewhere, a volume is
// only given to the group that the pod names.
func TestTheUsersOfPods(t *testing.T) {
	for _, asUser := range []bool{false, true} {
		pod := (&Proof{ID: "abcde", AsUser: asUser}).newPod("write", "write", []string{data})
		s := pod.Spec.SecurityContext
		for _, id := range []*int64{s.RunAsUser, s.RunAsGroup, s.FSGroup} {
			if (id != nil) != asUser || id != nil && *id != nobody {
				t.Errorf("as user: %t: %+v", asUser, s)
			}
		}
		for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
			if c.SecurityContext.RunAsUser != nil || c.SecurityContext.RunAsGroup != nil {
				t.Errorf("container %s: %+v", c.Name, c.SecurityContext)
			}
		}
	}
}

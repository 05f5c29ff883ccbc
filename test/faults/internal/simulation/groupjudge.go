// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/simulation/kube"
)

// A group snapshot may be deleted only if the snapshot of each PVC that it holds might be, were it that PVC's alone (GRP-9). So the judge
// of single snapshots judges those that a group snapshot stands for.

// partsOf returns the snapshots of single PVCs that group snapshots stand for: of an uncut one of all PVCs of its record, of others of
// those that it holds. Their names and UIDs end with the PVC's name.
func partsOf(groups, snapshots, claims []client.Object) (all []client.Object) {
	for _, o := range groups {
		g := o.(*groupv1.VolumeGroupSnapshot)
		uncut := g.Status == nil || g.Status.CreationTime == nil
		members := membersOf(g, snapshots)
		for name, uid := range recordOf(g) {
			of := slices.DeleteFunc(slices.Clone(members), func(m *snapshotv1.VolumeSnapshot) bool { // of several, one is enough
				return ptr.Deref(m.Spec.Source.PersistentVolumeClaimName, "") != name || m.DeletionTimestamp != nil
			})
			if !uncut && len(of) == 0 {
				continue
			}
			part := &snapshotv1.VolumeSnapshot{ObjectMeta: *g.ObjectMeta.DeepCopy()}
			part.Name, part.UID = partName(g.Name, name), types.UID(partName(string(g.UID), name))
			part.Labels[v1alpha1.LabelMapKey] = uid
			part.Spec.Source.PersistentVolumeClaimName = &name
			if g.Status != nil {
				part.Status = &snapshotv1.VolumeSnapshotStatus{CreationTime: g.Status.CreationTime}
				if e := g.Status.Error; e != nil {
					part.Status.Error = &snapshotv1.VolumeSnapshotError{Time: e.Time, Message: e.Message}
				}
				part.Status.ReadyToUse = new(!uncut && ptr.Deref(g.Status.ReadyToUse, false) &&
					slices.ContainsFunc(of, func(m *snapshotv1.VolumeSnapshot) bool { return ptr.Deref(m.Status.ReadyToUse, false) }))
			}
			if slices.ContainsFunc(members, func(m *snapshotv1.VolumeSnapshot) bool {
				_, held := m.Annotations[v1alpha1.AnnotationHold]
				return held || slices.ContainsFunc(claims, func(c client.Object) bool { return isRestoring(c, m.Name) })
			}) {
				part.Annotations[v1alpha1.AnnotationHold] = ""
			}
			all = append(all, part)
		}
	}
	slices.SortFunc(all, func(a, b client.Object) int { return strings.Compare(a.GetName(), b.GetName()) })
	return all
}

func partName(group, claim string) string { return group + "." + claim }

func isRestoring(o client.Object, snapshot string) bool {
	c := o.(*corev1.PersistentVolumeClaim)
	return c.Status.Phase == corev1.ClaimPending && c.Spec.DataSource != nil && c.Spec.DataSource.Name == snapshot
}

// recordOf returns the UIDs of the PVCs of a group snapshot, by name.
func recordOf(g client.Object) (record map[string]string) {
	_ = json.Unmarshal([]byte(g.GetAnnotations()[v1alpha1.AnnotationClaims]), &record)
	return record
}

// membersOf returns the members of a group snapshot that are labeled as such.
func membersOf(g *groupv1.VolumeGroupSnapshot, snapshots []client.Object) (all []*snapshotv1.VolumeSnapshot) {
	for _, o := range snapshots {
		if o.GetLabels()[v1alpha1.LabelGroupSnapshot] == g.Name && groupOf(o) == g.UID {
			all = append(all, o.(*snapshotv1.VolumeSnapshot))
		}
	}
	return all
}

// groupOf returns the UID of the group snapshot of which a VolumeSnapshot is a member, empty if it is none: whoever creates one can name
// any owner, but only the snapshot controller writes the status.
func groupOf(o client.Object) types.UID {
	v, ok := o.(*snapshotv1.VolumeSnapshot)
	if !ok || v.Status == nil {
		return ""
	}
	for _, ref := range o.GetOwnerReferences() {
		if ref.Kind == kube.Groups.GroupVersionKind().Kind && ref.Name == ptr.Deref(v.Status.VolumeGroupSnapshotName, "") {
			return ref.UID
		}
	}
	return ""
}

func (w *world) fail(clause, format string, args ...any) {
	w.wrong = append(w.wrong, clause+": "+fmt.Sprintf(format, args...))
}

// judgeWrite judges a write. What it returns is called with the status code of the answer.
func (o *operator) judgeWrite(q kube.Request, a judge.Attempt) (answered func(int)) {
	switch stored := o.server.Find(q.Kind, q.Name); {
	case q.Kind == kube.Groups && q.Verb == "delete" && stored != nil:
		return o.judgeDelete(stored.(*groupv1.VolumeGroupSnapshot), a)
	case q.Kind == kube.Groups:
		return func(int) {}
	case q.Kind == kube.Snapshots && stored != nil && groupOf(stored) != "":
		o.judgeMember(stored.(*snapshotv1.VolumeSnapshot), a)
		return func(int) {}
	}
	return o.judge.Write(a)
}

// judgeDelete judges the delete of a group snapshot.
func (o *operator) judgeDelete(g *groupv1.VolumeGroupSnapshot, a judge.Attempt) (answered func(int)) {
	var options metav1.DeleteOptions
	if err := json.Unmarshal(a.Body, &options); err != nil || options.Preconditions == nil ||
		options.Preconditions.UID == nil || options.Preconditions.ResourceVersion == nil {
		o.fail("S5", "VolumeGroupSnapshot %s was deleted without preconditions", g.Name)
		return func(int) {}
	}
	if *options.Preconditions.UID != g.UID || *options.Preconditions.ResourceVersion != g.ResourceVersion || g.DeletionTimestamp != nil {
		return func(int) {}
	}
	age := time.Since(g.CreationTimestamp.Time)
	switch bound := slices.Contains(g.Finalizers, finalizerGroupBound); {
	case age < time.Minute:
		o.fail("GRP-10", "VolumeGroupSnapshot %s was deleted at the age of %s", g.Name, age)
	case !bound && age < 10*time.Minute-maxClockSkew:
		o.fail("GRP-10", "VolumeGroupSnapshot %s was deleted at the age of %s, unbound", g.Name, age)
	}
	if o.changed(g) {
		return func(int) {}
	}
	o.asParts = true
	defer func() { o.asParts = false }()
	var done []func(int)
	for _, part := range judge.StateOf(o.judged()).Snapshots {
		if !strings.HasPrefix(string(part.UID), partName(string(g.UID), "")) || !judge.IsReady(part) {
			continue
		}
		options.Preconditions.UID = &part.UID
		body, err := json.Marshal(options)
		must(err)
		one := a
		one.Resource, one.Name, one.Body, one.Read = kube.Snapshots.Resource().Resource, part.Name, body, nil
		done = append(done, o.judge.Write(one))
	}
	return func(code int) {
		for _, answered := range done {
			answered(code)
		}
	}
}

// changed returns whether a member of a group snapshot has changed since guards may have read it: its version is in no precondition.
func (w *world) changed(g *groupv1.VolumeGroupSnapshot) bool {
	for _, c := range slices.Backward(w.log) {
		switch {
		case time.Since(c.At) > judge.GuardsWindow:
			return false
		case c.Kind == kube.Snapshots && c.After != nil && groupOf(c.After) == g.UID:
			return true
		}
	}
	return false
}

// judgeMember judges a write of a member: it may get its label, while the PVC that it names is that of the record.
func (o *operator) judgeMember(m *snapshotv1.VolumeSnapshot, a judge.Attempt) {
	if a.Verb != "patch" {
		o.fail("GRP-10", "%s of member %s", a.Verb, m.Name)
		return
	}
	var patch struct {
		Metadata struct{ Labels map[string]string }
	}
	must(json.Unmarshal(a.Body, &patch))
	for _, g := range o.groups() {
		if g.UID != groupOf(m) {
			continue
		}
		if want := map[string]string{v1alpha1.LabelGroupSnapshot: g.Name}; !maps.Equal(patch.Metadata.Labels, want) {
			o.fail("GRP-3", "member %s gets labels %v, want %v", m.Name, patch.Metadata.Labels, want)
		}
		name := *m.Spec.Source.PersistentVolumeClaimName
		uid, known := recordOf(g)[name]
		read := time.Since(o.reads[kube.Claims.Resource().Resource+"/"+name]) <= judge.GuardsWindow // and it was the right one then
		if c := o.claim(name); known && (c == nil || string(c.UID) != uid) && !read {
			o.fail("GRP-3", "member %s was labeled, and PVC %s is another one", m.Name, name)
		}
	}
}

// judgeGroups judges the state after days without faults.
func (w *world) judgeGroups() (found []string) {
	fail := func(format string, args ...any) {
		found = append(found, "L1: at the end "+fmt.Sprintf(format, args...))
	}
	st, late := judge.StateOf(w.judged()), map[string]int{}
	for _, wrong := range judge.Late(st, time.Now(), slack) {
		part, is := strings.CutPrefix(wrong, "VolumeSnapshot ")
		if !is {
			fail("%s", wrong)
			continue
		}
		group, _, _ := strings.Cut(part, ".")
		if late[group]++; late[group] == len(slices.DeleteFunc(slices.Clone(st.Snapshots), func(v *snapshotv1.VolumeSnapshot) bool {
			return !strings.HasPrefix(v.Name, partName(group, ""))
		})) {
			fail("VolumeGroupSnapshot %s was not deleted", group)
		}
	}
	for _, name := range judge.Unready(st, time.Now().Add(-slack)) {
		fail("%s is not ready", name)
	}
	for _, g := range w.groups() {
		for _, m := range w.members(g) {
			name := *m.Spec.Source.PersistentVolumeClaimName
			c := w.claim(name)
			if g.DeletionTimestamp == nil && c != nil && recordOf(g)[name] == string(c.UID) && m.Labels[v1alpha1.LabelGroupSnapshot] != g.Name &&
				w.schedule(g.Labels[v1alpha1.LabelSchedule]) != nil {
				fail("member %s of %s has no label", m.Name, g.Name)
			}
		}
	}
	for _, c := range w.claims() {
		if c.DeletionTimestamp != nil {
			fail("PVC %s is still being deleted", c.Name)
		}
	}
	for _, s := range w.schedules() {
		if s.DeletionTimestamp != nil && !slices.ContainsFunc(w.groups(), func(g *groupv1.VolumeGroupSnapshot) bool {
			return g.DeletionTimestamp != nil
		}) {
			fail("SnapshotSchedule %s is still being deleted, with finalizers %v", s.Name, s.Finalizers)
		}
	}
	return append(found, w.groupStatusErrors()...)
}

// groupStatusErrors returns where the status of schedules contradicts the group snapshots.
func (w *world) groupStatusErrors() (found []string) {
	for _, s := range w.schedules() {
		spec, invalid := judge.ReadSpec(&s.Spec)
		if s.DeletionTimestamp != nil || invalid != nil {
			continue
		}
		var want, got v1alpha1.OutputCount
		var selected, gotSelected int32
		stuck := false
		for _, g := range w.groups() {
			by := metav1.GetControllerOf(g)
			if by != nil && by.UID == s.UID || by == nil && judge.OwnsByLabels(s) && g.Labels[v1alpha1.LabelSchedule] == s.Name {
				want.Total++
				if g.DeletionTimestamp != nil {
					want.Terminating++
					stuck = stuck || g.Status != nil && g.Status.CreationTime != nil && judge.IsStuck(g, spec, time.Now())
				} else if g.Status != nil && ptr.Deref(g.Status.ReadyToUse, false) {
					want.Ready++
				}
			}
		}
		for _, c := range w.claims() {
			if c.Labels[appLabel] == "a" {
				selected++
			}
		}
		got = ptr.Deref(s.Status.Outputs.VolumeGroupSnapshots, got)
		if s.Status.Inputs != nil {
			gotSelected = s.Status.Inputs.PersistentVolumeClaims.Total
		}
		reason := v1alpha1.ReasonScheduled
		if stuck { // a PVC is restored from it
			reason = v1alpha1.ReasonRetentionFailing
		} else if s.Spec.Suspend {
			reason = v1alpha1.ReasonSuspended
			if ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); w.lacksMember(s) && ready != nil &&
				ready.Reason == v1alpha1.ReasonSnapshotsFailing {
				reason = ready.Reason
			}
		} else if selected == 0 {
			reason = v1alpha1.ReasonNoMatchingClaims
		}
		ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
		if got != want || gotSelected != selected || ready == nil || ready.Reason != reason {
			found = append(found, fmt.Sprintf("%s: status has %+v of %d PVCs, and condition %+v; want %+v of %d, and %s",
				s.Name, got, gotSelected, ready, want, selected, reason))
		}
	}
	return found
}

// lacksMember returns whether somebody has deleted a member of the newest group snapshot of a group. While its schedule is suspended, that
// stays a problem.
func (w *world) lacksMember(s *v1alpha1.SnapshotSchedule) bool {
	newest := map[string]*groupv1.VolumeGroupSnapshot{}
	for _, g := range w.groups() {
		key := g.Labels[v1alpha1.LabelMapKey]
		if metav1.IsControlledBy(g, s) && (newest[key] == nil || g.Annotations[v1alpha1.AnnotationScheduledAt] > newest[key].Annotations[v1alpha1.AnnotationScheduledAt]) {
			newest[key] = g
		}
	}
	for _, g := range newest {
		held := map[string]bool{}
		for _, m := range w.members(g) {
			held[*m.Spec.Source.PersistentVolumeClaimName] = true
		}
		for name := range recordOf(g) {
			if !held[name] {
				return true
			}
		}
	}
	return false
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
)

// newClone is a copy to the namespace "lab" that nothing was done for.
func newClone(t *testing.T) *Clone {
	t.Helper()
	r := newRequest()
	plan, err := Claim(r.s, r.cluster, Options{Name: "copied"})
	if err != nil {
		t.Fatal(err)
	}
	c := NewClone(r.s, plan, "lab")
	c.SharedHandle = true // for the driver of these tests
	c.Original.Content.Spec.VolumeSnapshotRef = corev1.ObjectReference{Namespace: "shop", Name: c.Of.Name, UID: c.Original.Snapshot.UID}
	c.Original.Content.Spec.DeletionPolicy = snapshotv1.VolumeSnapshotContentDelete
	c.Original.Content.Spec.VolumeSnapshotClassName = ptr.To("fast")
	c.Original.Content.Status = &snapshotv1.VolumeSnapshotContentStatus{SnapshotHandle: ptr.To("handle")}
	c.Original.Content.Annotations = map[string]string{
		"snapshot.storage.kubernetes.io/deletion-secret-name": "secret", "snapshot.storage.kubernetes.io/volumesnapshot-being-created": "yes",
	}
	return c
}

// apply does what the API server and the controllers do with a step.
func apply(t *testing.T, c *Clone, s change.Step) {
	t.Helper()
	if len(s.Changes) == 0 {
		return
	}
	one := &s.Changes[0]
	switch o := one.Create.(type) {
	case *snapshotv1.VolumeSnapshotContent:
		c.Content = o
	case *snapshotv1.VolumeSnapshot:
		c.Snapshot = o
		o.UID = "lent"
		o.Status = &snapshotv1.VolumeSnapshotStatus{ReadyToUse: ptr.To(true)}
		c.Content.Spec.VolumeSnapshotRef.UID = "lent"
	case *corev1.PersistentVolumeClaim:
		c.Claim = o
	}
	switch one.Delete {
	case nil:
	case c.Snapshot:
		c.Snapshot = nil
	case c.Content:
		c.Content = nil
	default:
		t.Fatalf("%s deletes %T", s.Text, one.Delete)
	}
	if one.Patch != nil {
		patched(t, one)
	}
}

func patched(t *testing.T, s *change.Change) {
	t.Helper()
	before, err := json.Marshal(s.Object)
	if err != nil {
		t.Fatal(err)
	}
	after, err := jsonpatch.MergePatch(before, s.Patch)
	if err != nil {
		t.Fatal(err)
	}
	s.Object.SetAnnotations(nil)
	if err := json.Unmarshal(after, s.Object); err != nil {
		t.Fatal(err)
	}
}

// until takes steps until one has a text, or to the end.
func until(t *testing.T, c *Clone, text string) (texts []string) {
	t.Helper()
	for range 20 {
		s, err := c.Next(noon)
		if err != nil {
			t.Fatal(err)
		}
		if s.Text == "" || text != "" && strings.Contains(s.Text, text) {
			return texts
		}
		if s.For != nil {
			c.Claim.Status.Phase = corev1.ClaimBound
			continue
		}
		texts = append(texts, s.Text)
		apply(t, c, s)
	}
	t.Fatalf("no end: %q", texts)
	return nil
}

// Contract: CLONE-1.
func TestCloneLendsTheDataUntilThePVCIsBound(t *testing.T) {
	c := newClone(t)
	name := CloneName(c.Original.Snapshot.UID, "lab", "copied")
	steps := until(t, c, "Wait until PersistentVolumeClaim")
	text, err := json.Marshal([]any{c.Content.Spec, c.Content.Labels, c.Content.Annotations, c.Snapshot.Labels, c.Claim.Namespace, c.Claim.Spec.DataSource})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "what is created", string(text), `[{"volumeSnapshotRef":{"kind":"VolumeSnapshot","namespace":"lab","name":"`+name+`",`+
		`"uid":"lent","apiVersion":"snapshot.storage.k8s.io/v1"},"deletionPolicy":"Retain","driver":"mock.csi","volumeSnapshotClassName":"fast",`+
		`"source":{"snapshotHandle":"handle"},"sourceVolumeMode":"Block"},{"snapshots.mapcontroller.dev/copy-to":"lab"},`+
		`{"snapshot.storage.kubernetes.io/deletion-secret-name":"secret","snapshots.mapcontroller.dev/copy-of":"shop/data-0200/uid-data-0200"},`+
		`null,"lab",{"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot","name":"`+name+`"}]`)
	expect(t, "hold", c.Original.Snapshot.Annotations[v1alpha1.AnnotationHold], "2026-11-22T12:00:00Z")
	steps = append(steps, until(t, c, "")...)
	expect(t, "steps", strings.ReplaceAll(strings.Join(steps, "\n"), name, "NAME"), `Hold VolumeSnapshot data-0200 for 24 h
Create VolumeSnapshotContent NAME, of the same data
Create VolumeSnapshot NAME in namespace lab
Create PersistentVolumeClaim copied in namespace lab
Delete VolumeSnapshot NAME in namespace lab
Delete VolumeSnapshotContent NAME; its data stays
End the hold of VolumeSnapshot data-0200`)
	if len(c.Original.Snapshot.Annotations) != 1 || c.Claim == nil {
		t.Errorf("left: %v", c.Original.Snapshot.Annotations)
	}
}

// Contract: CLONE-2, CLONE-3.
func TestCloneStops(t *testing.T) {
	const pending, clean = "delete that PVC, and run the command again", ""
	for name, c := range map[string]struct {
		change func(*Clone) // of one whose PVC is not bound
		want   string       // in the error
		after  string       // in the error, too, or clean if all that was created is deleted first
	}{
		"the original is gone":           {func(c *Clone) { c.Original = Source{} }, "VolumeSnapshot data-0200 does not exist", pending},
		"the original is being deleted":  {func(c *Clone) { c.Original.Snapshot.DeletionTimestamp = &metav1.Time{Time: noon} }, "it is being deleted", pending},
		"the original's content is gone": {func(c *Clone) { c.Original.Content, c.Original.ContentGone = nil, true }, "its data is lost", pending},
		"an unplanned one":               {func(c *Clone) { c.Manifest, c.Unrestorable = nil, errors.New("no class") }, "no class", pending},
		"the PVC is lost":                {func(c *Clone) { c.Claim.Status.Phase = corev1.ClaimLost }, "has lost its volume", pending},
		"the namespace is gone": {func(c *Clone) {
			c.NamespaceErr, c.Claim, c.Snapshot = errors.New("namespace lab does not exist"), nil, nil
		}, "namespace lab does not exist", clean},
		"the namespace is being deleted": {func(c *Clone) { c.NamespaceErr = errors.New("namespace lab is being deleted") }, "is being deleted", clean},
		"the PVC was deleted":            {func(c *Clone) { c.Claim, c.ClaimDeleted = nil, true }, "was deleted", clean},
		"the PVC is gone, and the original": {func(c *Clone) {
			c.Claim, c.Original = nil, Source{}
		}, "does not exist", clean},
		"the policy is changed": {func(c *Clone) {
			c.Content.Spec.DeletionPolicy = snapshotv1.VolumeSnapshotContentDelete
		}, "its deletionPolicy is not Retain", "Nothing was done"},
		"the content is of other data": {func(c *Clone) {
			c.Content.Spec.Source.SnapshotHandle = ptr.To("other")
		}, "it is not of the original's data", "Nothing was done"},
		"the content is for another namespace": {func(c *Clone) {
			c.Content.Spec.VolumeSnapshotRef.Namespace = "evil"
		}, "it belongs to VolumeSnapshot evil/", "Nothing was done"},
		"the snapshot has another content": {func(c *Clone) {
			c.Snapshot.Spec.Source.VolumeSnapshotContentName = ptr.To("other")
		}, "it is not, or not only, a reference", "Nothing was done"},
		"the snapshot is a schedule's": {func(c *Clone) {
			c.Snapshot.Labels = map[string]string{v1alpha1.LabelMapKey: "x"}
		}, "it is not, or not only, a reference", "Nothing was done"},
		"the PVC has another source": {func(c *Clone) { c.Claim.Spec.DataSource = nil }, "it is not made from VolumeSnapshot", "Nothing was done"},
	} {
		t.Run(name, func(t *testing.T) {
			clone := newClone(t)
			until(t, clone, "Wait until PersistentVolumeClaim")
			c.change(clone)
			left := len(clone.Missing())
			s, err := clone.Next(noon)
			for ; err == nil && len(s.Changes) > 0; s, err = clone.Next(noon) {
				if len(s.Changes) > 0 && s.Changes[0].Create != nil {
					t.Fatal(s.Text)
				}
				apply(t, clone, s)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.after) {
				t.Fatalf("got step %q, error %v", s.Text, err)
			}
			if c.after == clean {
				if v := clone.Original.Snapshot; clone.Content != nil || clone.Snapshot != nil || v != nil && len(v.Annotations) != 1 {
					t.Errorf("left: %v, %v", clone.Content, clone.Snapshot)
				}
			} else if len(clone.Missing()) != left {
				t.Error("something was deleted")
			}
		})
	}
}

// Contract: CLONE-3.
func TestCloneRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Clone)
		want   string
	}{
		"a driver that was not tried":               {func(c *Clone) { c.SharedHandle = false }, "--shared-handle"},
		"a content that may not be read":            {func(c *Clone) { c.Original.Content = nil }, "cannot be read, or is not bound to it"},
		"a content of an earlier snapshot":          {func(c *Clone) { c.Original.Content.Spec.VolumeSnapshotRef.UID = "" }, "is not bound to it"},
		"a content of another namespace's snapshot": {func(c *Clone) { c.Original.Content.Spec.VolumeSnapshotRef.Namespace = "bank" }, "is not bound to it"},
		"a content without a handle":                {func(c *Clone) { c.Original.Content.Status = nil }, "no snapshotHandle"},
	} {
		t.Run(name, func(t *testing.T) {
			clone := newClone(t)
			c.change(clone)
			if _, err := clone.Next(noon); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
			if err := clone.Refused(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	clone := newClone(t)
	clone.SharedHandle, clone.Original.Content.Spec.Driver = false, "hostpath.csi.k8s.io"
	if err := clone.Refused(); err != nil {
		t.Error(err)
	}
}

func TestCloneGoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Clone)
		want   string
	}{
		"the snapshot was deleted": {func(c *Clone) { c.Snapshot = nil }, "Delete VolumeSnapshotContent"},
		"the content is deleted, and the snapshot controller does not know": {func(c *Clone) {
			c.Snapshot, c.Content.DeletionTimestamp = nil, &metav1.Time{Time: noon}
		}, "Release VolumeSnapshotContent"},
		"the content is deleted": {func(c *Clone) {
			c.Content.DeletionTimestamp, c.Content.Annotations[beingDeleted] = &metav1.Time{Time: noon}, "yes"
		}, "Wait until VolumeSnapshotContent"},
		"the snapshot is not ready, and the PVC not there": {func(c *Clone) { c.Claim, c.Snapshot.Status = nil, nil }, "is ready"},
		"the snapshot is being deleted":                    {func(c *Clone) { c.Snapshot.DeletionTimestamp = &metav1.Time{Time: noon} }, "is deleted"},
		"somebody took off the hold":                       {func(c *Clone) { delete(c.Original.Snapshot.Annotations, v1alpha1.AnnotationHold) }, "Hold"},
	} {
		t.Run(name, func(t *testing.T) {
			clone := newClone(t)
			until(t, clone, "Wait until PersistentVolumeClaim")
			c.change(clone)
			if s, err := clone.Next(noon); err != nil || !strings.Contains(s.Text, c.want) {
				t.Errorf("got %q, %v", s.Text, err)
			}
		})
	}
}

func TestCloneWaitsForItsConsumer(t *testing.T) {
	c := newClone(t)
	c.WaitsForConsumer = true
	until(t, c, "Wait until PersistentVolumeClaim")
	if s, _ := c.Next(noon); !s.Unawaited {
		t.Error("it does not wait for its consumer")
	}
	c.Claim.Annotations = map[string]string{"volume.kubernetes.io/selected-node": "n"}
	if s, _ := c.Next(noon); s.Unawaited {
		t.Error("its consumer is there")
	}
}

// Contract: CLONE-1, CLI-3.
func TestCloneHolds(t *testing.T) {
	later := func(d time.Duration) string { return noon.Add(d).Format(time.RFC3339) }
	for name, c := range map[string]struct{ before, during, changed, after string }{
		"nothing before":              {"", later(24 * time.Hour), "", ""},
		"a hold that ends earlier":    {later(time.Hour), later(24 * time.Hour), "", later(time.Hour)},
		"a hold that ends later":      {later(48 * time.Hour), later(48 * time.Hour), "", later(48 * time.Hour)},
		"a hold without an end":       {"an audit", "forever: an audit", "", "forever: an audit"},
		"somebody holds it meanwhile": {"", later(24 * time.Hour), "an audit", "forever: an audit"},
		"somebody shortens the hold":  {"", later(24 * time.Hour), later(time.Minute), later(time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			clone := newClone(t)
			if c.before != "" {
				clone.Original.Snapshot.Annotations[v1alpha1.AnnotationHold] = c.before
			}
			until(t, clone, "Wait until PersistentVolumeClaim")
			annotations := clone.Original.Snapshot.Annotations
			expect(t, "during", annotations[v1alpha1.AnnotationHold], c.during)
			if c.changed != "" {
				annotations[v1alpha1.AnnotationHold] = c.changed
				until(t, clone, "Wait until PersistentVolumeClaim")
				if end, held := backup.HeldUntil(clone.Original.Snapshot); !held || end.Before(noon.Add(24*time.Hour)) {
					t.Errorf("it is held until %s", end)
				}
			}
			until(t, clone, "")
			expect(t, "after", clone.Original.Snapshot.Annotations[v1alpha1.AnnotationHold], c.after)
			if _, left := clone.Original.Snapshot.Annotations[v1alpha1.AnnotationHolders]; left != (c.after != "") {
				t.Errorf("holders: %v", clone.Original.Snapshot.Annotations)
			}
		})
	}
}

// Contract: CLONE-1.
func TestHoldEndsWithTheLastCopy(t *testing.T) {
	first, second := newClone(t), newClone(t)
	second.Original, second.Name = first.Original, "another"
	second.Manifest.Spec.DataSource.Name = "another"
	until(t, first, "Wait until PersistentVolumeClaim")
	until(t, second, "Wait until PersistentVolumeClaim")
	until(t, first, "")
	expect(t, "hold", second.Original.Snapshot.Annotations[v1alpha1.AnnotationHold], "2026-11-22T12:00:00Z")
	until(t, second, "")
	expect(t, "hold", second.Original.Snapshot.Annotations[v1alpha1.AnnotationHold], "")
}

func TestCloneRenewsItsHold(t *testing.T) {
	c := newClone(t)
	until(t, c, "Wait until PersistentVolumeClaim")
	if s, err := c.Next(noon.Add(11 * time.Hour)); err != nil || s.For == nil {
		t.Errorf("got %q, %v", s.Text, err)
	}
	s, err := c.Next(noon.Add(13 * time.Hour))
	if err != nil || !strings.HasPrefix(s.Text, "Hold") {
		t.Fatalf("got %q, %v", s.Text, err)
	}
	apply(t, c, s)
	expect(t, "hold", c.Original.Snapshot.Annotations[v1alpha1.AnnotationHold], "2026-11-23T01:00:00Z")
	until(t, c, "")
	expect(t, "hold", c.Original.Snapshot.Annotations[v1alpha1.AnnotationHold], "")
}

func TestTriedDriversAreInTheDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../../docs/storage/index.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, driver := range triedDrivers {
		if !strings.Contains(string(page), "\n| `"+driver+"` ") {
			t.Errorf("docs/storage/index.md does not say what was tried with %s", driver)
		}
	}
}

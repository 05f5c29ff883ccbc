// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/holders"
)

// Clone is the restore of a snapshot to another namespace, with what the cluster holds of it. A VolumeSnapshotContent with the
// same handle and a VolumeSnapshot lend the data to that namespace until the new PVC is bound. Nothing that an interrupted one
// leaves can delete the original's data: the content has the policy Retain from its creation.
type Clone struct {
	// Of is the original, as namespace/name. Original.Snapshot is nil if it is gone.
	Of       types.NamespacedName
	Original Source
	// Namespace is the other one, and NamespaceErr why nothing can be created in it.
	Namespace    string
	NamespaceErr error
	// Name is that of the VolumeSnapshotContent and of the VolumeSnapshot: see CloneName.
	Name string
	// Manifest is the PVC to create, or Unrestorable is why there is none.
	Manifest     *corev1.PersistentVolumeClaim
	Unrestorable error
	// WaitsForConsumer is true if its storage class binds a PVC when a pod uses it.
	WaitsForConsumer bool
	// SharedHandle allows a driver with which this was never tried: its user says so, or a proof has shown it.
	SharedHandle bool

	// What there is now. A content that is bound is read before the snapshot that it is bound to.
	Content  *snapshotv1.VolumeSnapshotContent
	Snapshot *snapshotv1.VolumeSnapshot
	Claim    *corev1.PersistentVolumeClaim
	// ClaimDeleted is true if the PVC existed when it was read before.
	ClaimDeleted bool
}

// triedDrivers are those with which two contents of one handle were tried: docs/storage/index.md says how.
var triedDrivers = []string{"hostpath.csi.k8s.io"}

// beingDeleted is the annotation by which the snapshot controller tells the driver's sidecar that a content's snapshot is deleted.
const beingDeleted = "snapshot.storage.kubernetes.io/volumesnapshot-being-deleted"

// secretAnnotations are what the driver needs for a content, besides its class.
var secretAnnotations = []string{
	"snapshot.storage.kubernetes.io/deletion-secret-name", "snapshot.storage.kubernetes.io/deletion-secret-namespace",
}

// CloneName returns the name of what lends a snapshot to a PVC of another namespace. A second run finds it by that.
func CloneName(snapshot types.UID, namespace, claim string) string {
	sum := sha256.Sum256([]byte(string(snapshot) + "/" + namespace + "/" + claim))
	return fmt.Sprintf("%s%x", holders.CopyPrefix, sum[:16])
}

// NewClone returns the restore of a snapshot to another namespace, from the plan for its own.
func NewClone(original Source, plan Plan, namespace string) *Clone {
	v := original.Snapshot
	c := &Clone{
		Of: client.ObjectKeyFromObject(v), Original: original, Namespace: namespace, WaitsForConsumer: plan.WaitsForConsumer,
		Name: CloneName(v.UID, namespace, plan.Claim.Name), Manifest: plan.Claim.DeepCopy(),
	}
	c.Manifest.Namespace, c.Manifest.Spec.DataSource.Name = namespace, c.Name
	return c
}

// SetClaim finds the PVC of the copy among those of its namespace.
func (c *Clone) SetClaim(claims []corev1.PersistentVolumeClaim) {
	before := c.Claim
	c.Claim = nil
	for i := range claims {
		if p := &claims[i]; IsClone(p, c.Name) || c.Manifest != nil && p.Name == c.Manifest.Name {
			c.Claim = p
		}
	}
	c.ClaimDeleted = c.ClaimDeleted || before != nil && (c.Claim == nil || c.Claim.UID != before.UID)
}

// IsClone returns whether a PVC is made from what CloneName names.
func IsClone(p *corev1.PersistentVolumeClaim, name string) bool {
	source := p.Spec.DataSource
	return source != nil && ptr.Deref(source.APIGroup, "") == snapshotv1.GroupName && source.Kind == "VolumeSnapshot" && source.Name == name
}

// Next returns the next step, or why there is none. While the PVC may still read the data, what lends it stays.
func (c *Clone) Next(now time.Time) (change.Step, error) {
	if err := c.foreign(); err != nil {
		return change.Step{}, err
	}
	bound := c.Claim != nil && c.Claim.Status.Phase == corev1.ClaimBound
	stop := c.stop()
	switch {
	case bound:
		return c.CleanUp(), nil
	case stop == nil:
		return c.forward(now)
	case c.Claim != nil && c.Claim.DeletionTimestamp == nil && c.NamespaceErr == nil:
		return change.Step{}, fmt.Errorf("%w\nPersistentVolumeClaim %s in namespace %s is made from it and not bound: "+
			"delete that PVC, and run the command again to remove what was created for it", stop, c.Claim.Name, c.Namespace)
	}
	step := c.CleanUp()
	if step.Text == "" {
		return step, stop
	}
	return step, nil
}

// foreign returns what does not look as this command makes it. It is neither used nor deleted.
func (c *Clone) foreign() error {
	what := func(kind string, o client.Object, why string) error {
		return fmt.Errorf("%s %s was made or changed by something else: %s. Nothing was done with it", kind, o.GetName(), why)
	}
	if p := c.Claim; p != nil && !IsClone(p, c.Name) {
		return what("PersistentVolumeClaim", p, "it is not made from VolumeSnapshot "+c.Name)
	}
	if v := c.Snapshot; v != nil {
		_, scheduled := v.Labels[v1alpha1.LabelMapKey]
		if scheduled || ptr.Deref(v.Spec.Source.VolumeSnapshotContentName, "") != c.Name {
			return what("VolumeSnapshot", v, "it is not, or not only, a reference to the VolumeSnapshotContent of its name")
		}
	}
	if c.Content == nil {
		return nil
	}
	spec, ref := c.Content.Spec, c.Content.Spec.VolumeSnapshotRef
	want := c.Original.Content
	switch {
	case spec.DeletionPolicy != snapshotv1.VolumeSnapshotContentRetain:
		return what("VolumeSnapshotContent", c.Content, "its deletionPolicy is not Retain; set that before you delete it, "+
			"or the data of the original is deleted")
	case ref.Namespace != c.Namespace || ref.Name != c.Name:
		return what("VolumeSnapshotContent", c.Content, fmt.Sprintf("it belongs to VolumeSnapshot %s/%s", ref.Namespace, ref.Name))
	case want != nil && (spec.Driver != want.Spec.Driver || ptr.Deref(spec.Source.SnapshotHandle, "") != handle(want)):
		return what("VolumeSnapshotContent", c.Content, "it is not of the original's data")
	}
	return nil
}

// stop returns why no copy can be made, or none any more.
func (c *Clone) stop() error {
	switch {
	case c.NamespaceErr != nil:
		return c.NamespaceErr
	case c.ClaimDeleted && c.Claim == nil || c.Claim != nil && c.Claim.DeletionTimestamp != nil:
		return fmt.Errorf("the PersistentVolumeClaim in namespace %s was deleted", c.Namespace)
	case c.Claim != nil && c.Claim.Status.Phase == corev1.ClaimLost:
		return fmt.Errorf("PersistentVolumeClaim %s in namespace %s has lost its volume", c.Claim.Name, c.Namespace)
	case c.Manifest == nil:
		return c.Unrestorable
	case c.Original.Snapshot == nil:
		return fmt.Errorf("VolumeSnapshot %s does not exist any more", c.Of.Name)
	}
	return c.unlendable()
}

// unlendable returns why the original's data cannot be lent to another namespace, or nil.
func (c *Clone) unlendable() error {
	v, content := c.Original.Snapshot, c.Original.Content
	if err := c.Original.usable(); err != nil {
		return refusal(v, err)
	}
	// Who may write VolumeSnapshots could have one name a content that is not its own.
	ref := types.NamespacedName{}
	if content != nil {
		ref = types.NamespacedName{Namespace: content.Spec.VolumeSnapshotRef.Namespace, Name: content.Spec.VolumeSnapshotRef.Name}
	}
	switch {
	case content == nil || ref != c.Of || content.Spec.VolumeSnapshotRef.UID != v.UID:
		return refusal(v, errors.New("its VolumeSnapshotContent cannot be read, or is not bound to it"))
	case handle(content) == "":
		return refusal(v, errors.New("its VolumeSnapshotContent has no snapshotHandle"))
	case c.Content == nil && !c.SharedHandle && !slices.Contains(triedDrivers, content.Spec.Driver):
		return fmt.Errorf("with driver %s, a second VolumeSnapshotContent of the same data was never tried: try it with "+
			"'kubectl snapsched doctor --prove --annotate', or with data that you can lose, and then give --shared-handle", content.Spec.Driver)
	}
	return nil
}

func (c *Clone) forward(now time.Time) (change.Step, error) {
	v := c.Original.Snapshot
	held, err := holders.Hold(v, c.Name, now.Add(holders.RenewWithin), now.Add(holders.For), now)
	switch {
	case err != nil:
		return change.Step{}, refusal(v, err)
	case held == nil:
		return c.lend(), nil
	}
	return change.Write(fmt.Sprintf("Hold VolumeSnapshot %s for %.0f h", c.Of.Name, holders.For.Hours()), change.Annotate(v, held)), nil
}

// lend is the next step once the original is held.
func (c *Clone) lend() change.Step {
	where := " in namespace " + c.Namespace
	switch content, v := c.Content, c.Snapshot; {
	case content == nil:
		return change.Write("Create VolumeSnapshotContent "+c.Name+", of the same data", change.Change{Create: c.newContent()})
	case content.DeletionTimestamp != nil, content.Spec.VolumeSnapshotRef.UID != "" && content.Spec.VolumeSnapshotRef.UID != uidOf(v):
		return c.dropContent() // another snapshot cannot be bound to it
	case v == nil:
		return change.Write("Create VolumeSnapshot "+c.Name+where, change.Change{Create: c.newSnapshot()})
	case v.DeletionTimestamp != nil:
		return change.Wait(v, "Wait until VolumeSnapshot "+c.Name+where+" is deleted")
	case c.Claim != nil:
		step := change.Wait(c.Claim, "Wait until PersistentVolumeClaim "+c.Claim.Name+where+" is bound")
		step.Unawaited = c.WaitsForConsumer && c.Claim.Annotations["volume.kubernetes.io/selected-node"] == ""
		return step
	case !backup.Ready(v):
		return change.Wait(v, "Wait until VolumeSnapshot "+c.Name+where+" is ready")
	}
	return change.Write("Create PersistentVolumeClaim "+c.Manifest.Name+where, change.Change{Create: c.Manifest.DeepCopy()})
}

func uidOf(v *snapshotv1.VolumeSnapshot) types.UID {
	if v == nil {
		return ""
	}
	return v.UID
}

// CleanUp removes what lends the data, the snapshot first, and takes off the hold.
func (c *Clone) CleanUp() change.Step {
	switch v := c.Snapshot; {
	case v != nil && v.DeletionTimestamp == nil:
		return change.Write(fmt.Sprintf("Delete VolumeSnapshot %s in namespace %s", c.Name, c.Namespace), change.Change{Delete: v})
	case v != nil:
		return change.Wait(v, fmt.Sprintf("Wait until VolumeSnapshot %s in namespace %s is deleted; it has finalizers: %s",
			c.Name, c.Namespace, strings.Join(v.Finalizers, ", ")))
	case c.Content != nil:
		return c.dropContent()
	}
	if v := c.Original.Snapshot; v != nil && v.DeletionTimestamp == nil && !holders.Of(v).Until(c.Name).IsZero() {
		return change.Write("End the hold of VolumeSnapshot "+c.Of.Name, change.Annotate(v, holders.Of(v).Without(c.Name).Changes(v)))
	}
	return change.Step{}
}

// dropContent deletes the content. Its data stays, as its policy is Retain.
func (c *Clone) dropContent() change.Step {
	switch _, marked := c.Content.Annotations[beingDeleted]; {
	case c.Content.DeletionTimestamp == nil:
		return change.Write("Delete VolumeSnapshotContent "+c.Name+"; its data stays", change.Change{Delete: c.Content})
	case !marked && c.Snapshot == nil:
		// The snapshot was deleted before it was bound, so the snapshot controller does not do this.
		return change.Write("Release VolumeSnapshotContent "+c.Name, change.Annotate(c.Content, map[string]any{beingDeleted: "yes"}))
	}
	return change.Wait(c.Content, "Wait until VolumeSnapshotContent "+c.Name+" is deleted")
}

// Missing are the objects that would be created.
func (c *Clone) Missing() (all []client.Object) {
	if c.Content == nil {
		all = append(all, c.newContent())
	}
	if c.Snapshot == nil {
		all = append(all, c.newSnapshot())
	}
	if c.Claim == nil {
		all = append(all, c.Manifest.DeepCopy())
	}
	return all
}

// Refused returns why a copy would be refused.
func (c *Clone) Refused() error { return errors.Join(c.foreign(), c.stop()) }

func handle(content *snapshotv1.VolumeSnapshotContent) string {
	if h := content.Spec.Source.SnapshotHandle; h != nil {
		return *h
	}
	if content.Status == nil {
		return ""
	}
	return ptr.Deref(content.Status.SnapshotHandle, "")
}

func (c *Clone) newContent() *snapshotv1.VolumeSnapshotContent {
	of := c.Original.Content
	content := &snapshotv1.VolumeSnapshotContent{
		TypeMeta: metav1.TypeMeta{APIVersion: snapshotv1.SchemeGroupVersion.String(), Kind: "VolumeSnapshotContent"},
		ObjectMeta: metav1.ObjectMeta{
			Name: c.Name, Labels: map[string]string{v1alpha1.LabelCopyTo: c.Namespace},
			Annotations: map[string]string{v1alpha1.AnnotationCopyOf: c.Of.String() + "/" + string(c.Original.Snapshot.UID)},
		},
		Spec: snapshotv1.VolumeSnapshotContentSpec{
			DeletionPolicy: snapshotv1.VolumeSnapshotContentRetain, Driver: of.Spec.Driver,
			Source:                  snapshotv1.VolumeSnapshotContentSource{SnapshotHandle: ptr.To(handle(of))},
			VolumeSnapshotClassName: of.Spec.VolumeSnapshotClassName, SourceVolumeMode: of.Spec.SourceVolumeMode,
		},
	}
	content.Spec.VolumeSnapshotRef = corev1.ObjectReference{
		APIVersion: snapshotv1.SchemeGroupVersion.String(), Kind: "VolumeSnapshot", Namespace: c.Namespace, Name: c.Name,
	}
	for _, key := range secretAnnotations {
		if value, ok := of.Annotations[key]; ok {
			content.Annotations[key] = value
		}
	}
	return content
}

// newSnapshot has no label of this project: no schedule of its namespace must take it for its own.
func (c *Clone) newSnapshot() *snapshotv1.VolumeSnapshot {
	return &snapshotv1.VolumeSnapshot{
		TypeMeta:   metav1.TypeMeta{APIVersion: snapshotv1.SchemeGroupVersion.String(), Kind: "VolumeSnapshot"},
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name},
		Spec: snapshotv1.VolumeSnapshotSpec{
			Source:                  snapshotv1.VolumeSnapshotSource{VolumeSnapshotContentName: &c.Name},
			VolumeSnapshotClassName: c.Original.Content.Spec.VolumeSnapshotClassName,
		},
	}
}

// CloneOf returns of which snapshot a content lends the data to another namespace; empty if it lends none.
func CloneOf(content *snapshotv1.VolumeSnapshotContent) (of types.NamespacedName, uid types.UID) {
	if parts := strings.Split(content.Annotations[v1alpha1.AnnotationCopyOf], "/"); len(parts) == 3 {
		return types.NamespacedName{Namespace: parts[0], Name: parts[1]}, types.UID(parts[2])
	}
	return of, uid
}

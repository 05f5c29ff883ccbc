// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/recovery"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	"mapcontroller.dev/snapshotschedule/test/internal/process"
	"mapcontroller.dev/snapshotschedule/test/internal/recording"
)

// original is a snapshot of data-0 of a schedule, and the namespace that its data is copied to.
type original struct {
	plugin, namespace, target string
	schedule                  *v1alpha1.SnapshotSchedule
	snapshot                  *snapshotv1.VolumeSnapshot
}

func newOriginal(ctx context.Context, plugin string) *original {
	GinkgoHelper()
	o := &original{plugin: plugin, target: cluster.Namespace(ctx, "copy")}
	o.namespace, o.schedule = scheduled(ctx, "original", 1, hourly)
	o.snapshot = &cluster.Snapshots(ctx, o.namespace)[0]
	return o
}

// name is that of the VolumeSnapshotContent and the VolumeSnapshot of the copy.
func (o *original) name() string { return recovery.CloneName(o.snapshot.UID, o.target, "copied") }

func (o *original) content() *snapshotv1.VolumeSnapshotContent {
	return &snapshotv1.VolumeSnapshotContent{ObjectMeta: metav1.ObjectMeta{Name: o.name()}}
}

func (o *original) reference() *snapshotv1.VolumeSnapshot {
	return &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: o.target, Name: o.name()}}
}

func (o *original) copied() *corev1.PersistentVolumeClaim {
	return builders.Claim(o.target, "copied", nil)
}

// run restores the snapshot to the other namespace, as the admin or through a proxy, and returns its exit code and what it prints.
func (o *original) run(ctx context.Context, kubeconfig string, args ...string) (code int, output string) {
	GinkgoHelper()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, o.plugin,
		append([]string{"restore", o.snapshot.Name, "-n", o.namespace, "--to-namespace", o.target, "--to", "copied"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = process.DieWithParent()
	if kubeconfig != "" {
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		Expect(err).NotTo(HaveOccurred())
	}
	GinkgoWriter.Printf("restore %q: %s\n%s\n", args, cmd.ProcessState, out.String())
	return cmd.ProcessState.ExitCode(), out.String()
}

// delete deletes the snapshot, for good.
func (o *original) delete(ctx context.Context) {
	GinkgoHelper()
	merge(ctx, o.schedule, `{"spec":{"suspend":true}}`) // it would take it again under its name
	Expect(cluster.Client.Delete(ctx, o.snapshot)).To(Succeed())
	eventuallyNoSnapshots(ctx, o.namespace)
}

// expectIntact expects that the driver has the original's data, that nothing lends it to another namespace any more, and that
// it is not held.
func (o *original) expectIntact(ctx context.Context) {
	GinkgoHelper()
	v := get(ctx, o.snapshot)
	Expect(ready(v)).To(BeTrue())
	Expect(v.UID).To(Equal(o.snapshot.UID))
	Expect(v.Annotations).NotTo(Or(HaveKey(v1alpha1.AnnotationHold), HaveKey(v1alpha1.AnnotationHolders)))
	content := get(ctx, &snapshotv1.VolumeSnapshotContent{ObjectMeta: metav1.ObjectMeta{Name: *v.Status.BoundVolumeSnapshotContentName}})
	Expect(content.DeletionTimestamp).To(BeNil())
	Expect(cluster.Storage().Volumes[o.namespace+"/data-0"].Snapshots).To(Equal(1))
	o.expectNothingLent(ctx)
}

func (o *original) expectNothingLent(ctx context.Context) {
	GinkgoHelper()
	Expect(cluster.Snapshots(ctx, o.target)).To(BeEmpty())
	contents := &snapshotv1.VolumeSnapshotContentList{}
	Expect(cluster.Client.List(ctx, contents, client.MatchingLabels{v1alpha1.LabelCopyTo: o.target})).To(Succeed())
	Expect(contents.Items).To(BeEmpty())
}

// expectCopy expects that the PVC has a volume of its own.
func (o *original) expectCopy(ctx context.Context) {
	GinkgoHelper()
	p := get(ctx, o.copied())
	Expect(p).To(And(HaveField("Status.Phase", corev1.ClaimBound), HaveField("DeletionTimestamp", BeNil()), HaveField("Labels", BeEmpty())))
	Expect(get(ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: p.Spec.VolumeName}})).To(And(
		HaveField("Status.Phase", corev1.VolumeBound), HaveField("DeletionTimestamp", BeNil()), HaveField("Spec.ClaimRef.UID", p.UID)))
	Expect(cluster.Storage().Volumes).To(HaveKey(o.target + "/copied"))
}

// expectRestorable expects that the original can still be restored in its own namespace.
func (o *original) expectRestorable(ctx context.Context) {
	GinkgoHelper()
	output, err := exec.CommandContext(ctx, o.plugin, "restore", o.snapshot.Name, "-n", o.namespace, "--to", "again", "--wait").CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	Expect(get(ctx, builders.Claim(o.namespace, "again", nil)).Status.Phase).To(Equal(corev1.ClaimBound))
}

var _ = Describe("kubectl snapsched restore --to-namespace", Ordered, ContinueOnFailure, func() {
	var plugin string
	BeforeAll(func(ctx context.Context) {
		plugin = buildPlugin(ctx)
		cluster.Start(ctx)
		class := &snapshotv1.VolumeSnapshotClass{ObjectMeta: metav1.ObjectMeta{Name: "mock"}}
		proven := func(ctx context.Context, value string) {
			merge(ctx, class, `{"metadata":{"annotations":{%q:%s}}}`, v1alpha1.AnnotationProven, value)
		}
		proven(ctx, `"2026-01-01T00:00:00Z unknown copies=yes"`) // as test/deploy proves it
		DeferCleanup(proven, "null")
	}, NodeTimeout(5*time.Minute))

	// Contract: CLONE-1.
	It("leaves only a PVC with a volume of its own, and a schedule there takes nothing of the way for its own", func(ctx context.Context) {
		o := newOriginal(ctx, plugin)
		cluster.Schedule(ctx, o.target, v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "1h", Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}},
		})
		kubeconfig := afterWrite(func(method, resource, _ string) bool {
			if method == http.MethodPost && resource == "persistentvolumeclaims" {
				of := get(ctx, o.snapshot)
				Expect(of.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationHold, WithTransform(func(text string) time.Duration {
					end, err := time.Parse(time.RFC3339, text)
					Expect(err).NotTo(HaveOccurred())
					return time.Until(end)
				}, BeNumerically("~", 24*time.Hour, time.Minute))))
				Expect(get(ctx, o.content()).Spec.DeletionPolicy).To(Equal(snapshotv1.VolumeSnapshotContentRetain))
				Expect(get(ctx, o.reference())).To(And(HaveField("Labels", BeEmpty()), HaveField("OwnerReferences", BeEmpty())))
			}
			return true
		})
		code, output := o.run(ctx, kubeconfig)
		Expect(code).To(BeZero())
		Expect(output).To(And(ContainSubstring("cluster-wide rights"), HaveSuffix("persistentvolumeclaim/copied is in namespace "+o.target+"\n")))
		o.expectCopy(ctx)
		o.expectIntact(ctx)
		code, _ = o.run(ctx, "")
		Expect(code).To(BeZero(), "a second run finds it finished")
		o.expectIntact(ctx)
	}, NodeTimeout(4*time.Minute))

	// Contract: CLONE-1, CLONE-2.
	It("is done as the page shows", func(ctx context.Context) {
		o := newOriginal(ctx, plugin)
		nextSecond(ctx) // or times would be equal in one recording, and not in another one
		code, output := o.run(ctx, "")
		Expect(code).To(BeZero(), output)
		seen := &recording.Recording{}
		seen.Call(o.namespace, "shop")
		seen.Call(o.target, "lab")
		varies := regexp.MustCompile(`(?m)^Wait until .*\n| \([0-9]+s ago\)`)
		seen.Ran("kubectl snapsched restore "+o.snapshot.Name+" --to-namespace lab --to copied", varies.ReplaceAllString(output, ""))
		Expect(seen.Check("tasks/another-namespace.md", "clone")).To(Succeed())
	}, NodeTimeout(2*time.Minute))

	It("killed after each of its writes, is done by running it again and again", func(ctx context.Context) {
		o := newOriginal(ctx, plugin)
		writes := 0
		for done := false; !done; {
			run, cancel := context.WithCancel(ctx)
			code, output := o.run(run, afterWrite(func(method, resource, name string) bool {
				writes++
				GinkgoWriter.Println(method, resource, name)
				cancel() // which kills it
				return false
			}))
			cancel()
			done = code == 0
			Expect(writes).To(BeNumerically("<", 12), output)
			if code == 2 { // it has seen that the answer was lost before it was killed
				Expect(output).To(ContainSubstring("EOF"))
			} else {
				Expect(code).To(BeElementOf(0, -1), output)
			}
			Expect(ready(get(ctx, o.snapshot))).To(BeTrue())
			Expect(cluster.Storage().Volumes[o.namespace+"/data-0"].Snapshots).To(Equal(1))
		}
		Expect(writes).To(Equal(7), "hold, content, snapshot, PVC, and the end of the first three")
		o.expectCopy(ctx)
		o.expectIntact(ctx)
	}, NodeTimeout(5*time.Minute))

	// Contract: CLONE-2.
	DescribeTable("leaves the original's data intact, and the copy's", func(ctx context.Context, remove func(context.Context, *original)) {
		o := newOriginal(ctx, plugin)
		code, _ := o.run(ctx, "")
		Expect(code).To(BeZero())
		remove(ctx, o)
	},
		Entry("when the copy is deleted", func(ctx context.Context, o *original) {
			p := get(ctx, o.copied())
			Expect(cluster.Client.Delete(ctx, p)).To(Succeed())
			eventuallyGone(ctx, p)
			eventuallyGone(ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: p.Spec.VolumeName}})
			o.expectIntact(ctx)
			o.expectRestorable(ctx)
		}, NodeTimeout(4*time.Minute)),
		Entry("when the copy's namespace is deleted", func(ctx context.Context, o *original) {
			target := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.target}}
			Expect(cluster.Client.Delete(ctx, target)).To(Succeed())
			eventuallyGone(ctx, target)
			o.expectIntact(ctx)
			o.expectRestorable(ctx)
		}, NodeTimeout(4*time.Minute)),
		Entry("when the original is deleted", func(ctx context.Context, o *original) {
			o.delete(ctx)
			Expect(cluster.Storage().Volumes[o.namespace+"/data-0"].Snapshots).To(BeZero())
			o.expectCopy(ctx)
		}, NodeTimeout(4*time.Minute)),
		Entry("when the original's PVC is deleted", func(ctx context.Context, o *original) {
			p := get(ctx, builders.Claim(o.namespace, "data-0", nil))
			Expect(cluster.Client.Delete(ctx, p)).To(Succeed())
			eventuallyGone(ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: p.Spec.VolumeName}})
			o.expectIntact(ctx)
			o.expectCopy(ctx)
		}, NodeTimeout(4*time.Minute)),
		Entry("when the original's schedule is deleted", func(ctx context.Context, o *original) {
			merge(ctx, o.schedule, `{"metadata":{"annotations":{%q:"true"}}}`, v1alpha1.AnnotationAllowDeletion)
			Expect(cluster.Client.Delete(ctx, o.schedule)).To(Succeed())
			eventuallyNoSnapshots(ctx, o.namespace)
			o.expectCopy(ctx)
		}, NodeTimeout(4*time.Minute)),
	)

	// Contract: CLONE-2.
	It("cleans up, with the original intact, when the namespace is deleted before the PVC is bound", func(ctx context.Context) {
		o := newOriginal(ctx, plugin)
		resume := cluster.PausePart("csi-provisioner")
		code, _ := o.run(ctx, dieAfter(http.MethodPost, "persistentvolumeclaims", ""))
		Expect(code).To(Equal(2))
		target := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.target}}
		Expect(cluster.Client.Delete(ctx, target)).To(Succeed())
		resume()
		eventuallyGone(ctx, target)
		Expect(get(ctx, o.content()).DeletionTimestamp).To(BeNil())
		code, output := o.run(ctx, "")
		Expect(code).To(Equal(2))
		Expect(output).To(ContainSubstring("namespace " + o.target + " does not exist"))
		o.expectIntact(ctx)
		o.expectRestorable(ctx)
	}, NodeTimeout(5*time.Minute))

	// Contract: CLONE-2.
	It("cleans up after the original was deleted, once the PVC that can't be bound is deleted", func(ctx context.Context) {
		o := newOriginal(ctx, plugin)
		cluster.PausePart("csi-provisioner")
		code, _ := o.run(ctx, dieAfter(http.MethodPost, "persistentvolumeclaims", ""))
		Expect(code).To(Equal(2))
		o.delete(ctx)
		code, output := o.run(ctx, "")
		Expect(code).To(Equal(2))
		Expect(output).To(And(ContainSubstring("not found"), ContainSubstring("delete that PVC")))
		Expect(ready(get(ctx, o.reference()))).To(BeTrue())
		Expect(cluster.Client.Delete(ctx, o.copied())).To(Succeed())
		eventuallyGone(ctx, o.copied())
		// The provisioner is still paused: it would protect the snapshot for minutes from the deletion of a PVC on.
		code, _ = o.run(ctx, "")
		Expect(code).To(Equal(2))
		o.expectNothingLent(ctx)
	}, NodeTimeout(5*time.Minute))

	// Contract: CLONE-2.
	It("cleans up after a snapshot that was deleted and taken again under its name, and copies that one", func(ctx context.Context) {
		o := newOriginal(ctx, plugin)
		code, _ := o.run(ctx, dieAfter(http.MethodPost, "volumesnapshots", ""))
		Expect(code).To(Equal(2))
		before := o.snapshot.UID
		Expect(cluster.Client.Delete(ctx, o.snapshot)).To(Succeed())
		o.snapshot = &eventuallySnapshots(ctx, o.namespace, 1)[0] // the schedule takes it again
		Expect(o.snapshot.UID).NotTo(Equal(before))
		code, _ = o.run(ctx, "")
		Expect(code).To(BeZero())
		o.expectCopy(ctx)
		o.expectIntact(ctx)
	}, NodeTimeout(5*time.Minute))

	// Contract: CLONE-3.
	It("is refused for a driver with which it was not tried, unless --shared-handle is given", func(ctx context.Context) {
		o := &original{plugin: plugin, namespace: cluster.Namespace(ctx, "original"), target: cluster.Namespace(ctx, "copy")}
		create(ctx, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "untried"}, Provisioner: "untried.csi"})
		content := &snapshotv1.VolumeSnapshotContent{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "untried-", Annotations: map[string]string{
				"snapshot.storage.kubernetes.io/deletion-secret-name": "s", "snapshot.storage.kubernetes.io/deletion-secret-namespace": "n"}},
			Spec: snapshotv1.VolumeSnapshotContentSpec{
				DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete, Driver: "untried.csi", VolumeSnapshotClassName: ptr.To("untried"),
				Source:            snapshotv1.VolumeSnapshotContentSource{SnapshotHandle: ptr.To("handle")},
				VolumeSnapshotRef: corev1.ObjectReference{Namespace: o.namespace, Name: "imported"},
			},
		}
		Expect(cluster.Client.Create(ctx, content)).To(Succeed())
		o.snapshot = &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: "imported"}}
		o.snapshot.Spec.Source.VolumeSnapshotContentName = &content.Name
		Expect(cluster.Client.Create(ctx, o.snapshot)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { // no sidecar of this driver does
			merge(ctx, content, `{"metadata":{"finalizers":null}}`)
			Expect(client.IgnoreNotFound(cluster.Client.Delete(ctx, content))).To(Succeed())
		})
		Eventually(fresh(ctx, content)).WithContext(ctx).Should(HaveField("Spec.VolumeSnapshotRef.UID", o.snapshot.UID))
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"readyToUse":true,"restoreSize":1048576,"snapshotHandle":"handle"}}`))
		Expect(cluster.Client.Status().Patch(ctx, content, patch)).To(Succeed())
		Eventually(fresh(ctx, o.snapshot)).WithContext(ctx).Should(WithTransform(ready, BeTrue()))

		code, output := o.run(ctx, "")
		Expect(code).To(Equal(2))
		Expect(output).To(And(ContainSubstring("driver untried.csi"), ContainSubstring("--shared-handle")))
		o.expectNothingLent(ctx)
		Expect(get(ctx, o.snapshot).Annotations).To(BeEmpty())

		code, output = o.run(ctx, "", "--shared-handle", "--dry-run=client", "-o", "yaml")
		Expect(code).To(BeZero())
		Expect(output).To(And(ContainSubstring("deletionPolicy: Retain"), ContainSubstring("snapshotHandle: handle"),
			ContainSubstring("volumeSnapshotClassName: untried"), ContainSubstring("deletion-secret-name: s")))
		code, _ = o.run(ctx, "", "--shared-handle", "--timeout", "5s") // the driver makes nothing ready
		Expect(code).To(Equal(3))
		Expect(get(ctx, o.content()).Spec).To(And(HaveField("DeletionPolicy", snapshotv1.VolumeSnapshotContentRetain),
			HaveField("Source.SnapshotHandle", HaveValue(Equal("handle")))))
		merge(ctx, o.content(), `{"metadata":{"finalizers":null}}`)
		Expect(cluster.Client.Delete(ctx, o.content())).To(Succeed())
	}, NodeTimeout(4*time.Minute))

	// Contract: CLONE-3.
	It("stops at a content of its name that somebody else made, and changes nothing", func(ctx context.Context) {
		o := newOriginal(ctx, plugin)
		evil := o.content()
		evil.Spec = snapshotv1.VolumeSnapshotContentSpec{
			DeletionPolicy: snapshotv1.VolumeSnapshotContentRetain, Driver: mockDriver,
			Source:            snapshotv1.VolumeSnapshotContentSource{SnapshotHandle: ptr.To("elsewhere")},
			VolumeSnapshotRef: corev1.ObjectReference{Namespace: o.target, Name: o.name()},
		}
		create(ctx, evil)
		code, output := o.run(ctx, "")
		Expect(code).To(Equal(2))
		Expect(output).To(ContainSubstring("it is not of the original's data"))
		Expect(cluster.Snapshots(ctx, o.target)).To(BeEmpty())
		Expect(get(ctx, o.snapshot).Annotations).NotTo(HaveKey(v1alpha1.AnnotationHold))
		Expect(get(ctx, evil).DeletionTimestamp).To(BeNil())
	}, NodeTimeout(4*time.Minute))

	// Contract: CLONE-3.
	It("deletes nothing once somebody has set the content's policy to Delete", func(ctx context.Context) {
		o := newOriginal(ctx, plugin)
		kubeconfig := afterWrite(func(method, resource, _ string) bool {
			if method == http.MethodPost && resource == "volumesnapshotcontents" {
				merge(ctx, o.content(), `{"spec":{"deletionPolicy":"Delete"}}`)
			}
			return true
		})
		code, output := o.run(ctx, kubeconfig)
		Expect(code).To(Equal(2))
		Expect(output).To(ContainSubstring("its deletionPolicy is not Retain"))
		merge(ctx, o.content(), `{"spec":{"deletionPolicy":"Retain"}}`)
		code, _ = o.run(ctx, "")
		Expect(code).To(BeZero())
		o.expectCopy(ctx)
		o.expectIntact(ctx)
	}, NodeTimeout(4*time.Minute))

	// Contract: CLONE-1.
	DescribeTable("takes off only its own hold", func(ctx context.Context, hold string) {
		o := newOriginal(ctx, plugin)
		if hold == "earlier" {
			hold = time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		}
		merge(ctx, o.snapshot, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationHold, hold)
		code, _ := o.run(ctx, "")
		Expect(code).To(BeZero())
		Expect(get(ctx, o.snapshot).Annotations).To(And(
			HaveKeyWithValue(v1alpha1.AnnotationHold, BeElementOf(hold, "forever: "+hold)),
			HaveKeyWithValue(v1alpha1.AnnotationHolders, Not(ContainSubstring("snapsched-copy-")))))
	},
		Entry("of two, the other ends later", "2100-01-01T00:00:00Z", NodeTimeout(3*time.Minute)),
		Entry("of two, the other has no end", "an audit", NodeTimeout(3*time.Minute)),
		Entry("of two, the other ends earlier", "earlier", NodeTimeout(3*time.Minute)),
	)

	// Contract: CLONE-1.
	It("stays until the first pod is scheduled with a storage class that waits for it, and is finished then", func(ctx context.Context) {
		class := create(ctx, &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "waits-"}, Provisioner: mockDriver,
			VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer), ReclaimPolicy: ptr.To(corev1.PersistentVolumeReclaimDelete),
		})
		node := create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "consumer-"}})
		o := newOriginal(ctx, plugin)
		code, output := o.run(ctx, "", "--storage-class", class.Name)
		Expect(code).To(BeZero())
		Expect(output).To(ContainSubstring("with the first pod that uses it"))
		Expect(get(ctx, o.snapshot).Annotations).To(HaveKey(v1alpha1.AnnotationHold))
		Expect(ready(get(ctx, o.reference()))).To(BeTrue())
		merge(ctx, o.copied(), `{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":%q}}}`, node.Name) // as the scheduler does
		code, _ = o.run(ctx, "")
		Expect(code).To(BeZero())
		o.expectCopy(ctx)
		o.expectIntact(ctx)
	}, NodeTimeout(4*time.Minute))

	// Contract: CLONE-3.
	It("asks for cluster-wide rights first", func(ctx context.Context) {
		o := newOriginal(ctx, plugin)
		for _, namespace := range []string{o.namespace, o.target} {
			create(ctx, &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "jane"},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
				Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "jane"}},
			})
		}
		code, output := o.run(ctx, "", "--as", "jane")
		Expect(code).To(Equal(2))
		Expect(output).To(And(ContainSubstring("can-i create volumesnapshotcontents.snapshot.storage.k8s.io\n"), Not(ContainSubstring("-n "+o.target))))
		o.expectIntact(ctx)
	}, NodeTimeout(4*time.Minute))
})

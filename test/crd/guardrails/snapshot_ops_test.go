// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package guardrails

import (
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// snapshotOps are the specs about what an account of the namespace snapshot-ops may change. It has every permission here: the samples
// grant less, but to patch an object is one permission.
func snapshotOps() {
	const mark = "example.com/quiesced"
	ops := func() client.Client {
		GinkgoHelper()
		return confined("system:serviceaccount:my-app-snapshot-ops:verify-my-app",
			"system:masters", "system:serviceaccounts", "system:serviceaccounts:my-app-snapshot-ops")
	}
	annotations := func(pairs ...any) string {
		all := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			all[fmt.Sprint(pairs[i])] = pairs[i+1]
		}
		return metadata(map[string]any{"annotations": all})
	}
	now := time.Now().UTC().Format(time.RFC3339)
	answer := func(want string, o client.Object, text string) {
		GinkgoHelper()
		change := func(c client.Client) error {
			return c.Patch(ctx, o.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(text)), client.DryRunAll)
		}
		Expect(change(as(jane))).To(Succeed(), "others may")
		err := change(ops())
		if want == allowed {
			Expect(err).NotTo(HaveOccurred())
			return
		}
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(ContainSubstring("accounts of a namespace snapshot-ops change nothing")))
	}

	DescribeTable("of a VolumeSnapshot", func(text, want string, before map[string]string) {
		v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: newNamespace(), Name: "data-1", Annotations: before}}
		v.Labels, v.Finalizers = map[string]string{v1alpha1.LabelMapKey: "uid"}, []string{"example.com/kept"}
		v.Spec.Source.PersistentVolumeClaimName = ptr.To("data")
		Expect(api.Create(ctx, v)).To(Succeed())
		answer(want, v, text)
	},
		Entry("the result of a drill", annotations(v1alpha1.AnnotationVerifiedAt, now), allowed, nil),
		Entry("another result", annotations(v1alpha1.AnnotationVerifyFailed, now+" bad"), allowed, map[string]string{v1alpha1.AnnotationVerifyFailed: "x"}),
		Entry("a mark", annotations(mark, "yes"), allowed, nil),
		Entry("a mark without a domain", annotations("quiesced", "yes"), allowed, nil),
		Entry("another mark, and none any more", annotations(mark, nil, "a", "b"), allowed, map[string]string{mark: "yes", "a": "a"}),
		Entry("a hold", annotations(v1alpha1.AnnotationHold, now), allowed, nil),
		Entry("another hold", annotations(v1alpha1.AnnotationHold, now), refused, map[string]string{v1alpha1.AnnotationHold: "true"}),
		Entry("no hold any more", annotations(v1alpha1.AnnotationHold, nil), refused, map[string]string{v1alpha1.AnnotationHold: "true"}),
		Entry("holders of a hold", annotations("snapshots.mapcontroller.dev/holders", "{}"), refused, map[string]string{v1alpha1.AnnotationHold: "true"}),
		Entry("a hold with its holders", annotations(v1alpha1.AnnotationHold, now, "snapshots.mapcontroller.dev/holders", "{}"), allowed, nil),
		Entry("its slot", annotations(v1alpha1.AnnotationScheduledAt, now), refused, nil),
		Entry("a request", annotations(v1alpha1.AnnotationRequestedAt, now), refused, nil),
		Entry("a key of a domain below ours", annotations("x.snapshots.mapcontroller.dev/a", "b"), refused, nil),
		Entry("a key of the snapshot controller", annotations("snapshot.storage.kubernetes.io/volumesnapshot-being-deleted", "yes"), refused, nil),
		Entry("a key of Kubernetes", annotations("k8s.io/a", "b"), refused, nil),
		Entry("a key by which Argo CD deletes", annotations("argocd.argoproj.io/tracking-id", "x"), refused, nil),
		Entry("a domain that ends like one of Kubernetes", annotations("notk8s.io/a", "b"), allowed, nil),
		Entry("an owner", metadata(map[string]any{"ownerReferences": []metav1.OwnerReference{reference("absent")}}), refused, nil),
		Entry("the map key", metadata(map[string]any{"labels": map[string]any{v1alpha1.LabelMapKey: nil}}), refused, nil),
		Entry("another label", metadata(map[string]any{"labels": map[string]any{"a": "b"}}), refused, nil),
		Entry("a finalizer", metadata(map[string]any{"finalizers": nil}), refused, nil),
		Entry("its class", `{"spec":{"volumeSnapshotClassName":"other"}}`, refused, nil),
	)

	DescribeTable("of a schedule", func(text, want string) {
		s := newSchedule(newNamespace())
		Expect(api.Create(ctx, s)).To(Succeed())
		answer(want, s, text)
		f := &v1alpha1.ClusterSnapshotSchedule{ObjectMeta: metav1.ObjectMeta{GenerateName: "gold-"}}
		f.Spec.Template.Spec.SnapshotInterval, f.Spec.Template.Spec.DeletionPolicy = "6h", v1alpha1.DeletionDelete
		Expect(api.Create(ctx, f)).To(Succeed())
		DeferCleanup(func() { Expect(as(garbageCollector).Delete(ctx, f)).To(Succeed()) })
		answer(want, f, text)
	},
		Entry("a request", annotations(v1alpha1.AnnotationRequestedAt, now), allowed),
		Entry("a confirmation", annotations(v1alpha1.AnnotationConfirmGeneration, "1"), refused),
		Entry("the permission to delete it", annotations(v1alpha1.AnnotationAllowDeletion, "true"), refused),
		Entry("a mark", annotations(mark, "yes"), refused),
		Entry("an owner and the permission", metadata(map[string]any{
			"annotations":     map[string]any{v1alpha1.AnnotationAllowDeletion: "true"},
			"ownerReferences": []metav1.OwnerReference{reference("absent")}}), refused),
		Entry("a suspension", `{"spec":{"suspend":true,"template":{"spec":{"suspend":true}}}}`, refused),
	)

	// Contract: OWN-10.
	DescribeTable("by the namespace", func(namespace, want string) {
		v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: newNamespace(), Name: "data-1"}}
		v.Spec.Source.PersistentVolumeClaimName = ptr.To("data")
		Expect(api.Create(ctx, v)).To(Succeed())
		account := confined("system:serviceaccount:"+namespace+":a", "system:masters", "system:serviceaccounts", "system:serviceaccounts:"+namespace)
		err := account.Patch(ctx, v, client.RawPatch(types.MergePatchType, []byte(metadata(map[string]any{"labels": map[string]any{"a": "b"}}))), client.DryRunAll)
		Expect(apierrors.IsForbidden(err)).To(Equal(want == refused), "%v", err)
	},
		Entry(nil, "snapshot-ops", refused), Entry(nil, "my-app-snapshot-ops", refused),
		Entry(nil, "mysnapshot-ops", allowed), Entry(nil, "my-app", allowed))

	It("is not the status, and not a deletion", func() {
		s := newSchedule(newNamespace())
		Expect(api.Create(ctx, s)).To(Succeed())
		annotate("true")(s)
		Expect(apierrors.IsForbidden(ops().Delete(ctx, s, client.DryRunAll))).To(BeTrue())
		Expect(as(jane).Delete(ctx, s, client.DryRunAll)).To(Succeed())
		status := client.RawPatch(types.MergePatchType, []byte(`{"status":{"observedGeneration":7}}`))
		Expect(apierrors.IsForbidden(ops().Status().Patch(ctx, s, status, &client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}}))).To(BeTrue())
	})
}

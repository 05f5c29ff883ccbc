// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package guardrails

import (
	"os"
	"path/filepath"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// snapshotCreation are the specs about who may create a snapshot that a schedule adopts.
func snapshotCreation() {
	const (
		creator = "carl" // may create snapshots
		one     = "olga" // may also delete those of one name
		deleter = "dora" // may also delete all of them
	)
	BeforeAll(func() {
		rules := func(names []string, verbs ...string) rbacv1.PolicyRule {
			return rbacv1.PolicyRule{
				APIGroups: []string{snapshotv1.GroupName, groupv1.GroupName}, Resources: []string{"volumesnapshots", "volumegroupsnapshots"},
				Verbs: verbs, ResourceNames: names,
			}
		}
		grant(creator, "creator", []rbacv1.PolicyRule{rules(nil, "create", "list")})
		grant(one, "deleter-of-one", []rbacv1.PolicyRule{rules(nil, "create", "list"), rules([]string{"data-1"}, "delete")})
		grant(deleter, "deleter", []rbacv1.PolicyRule{rules(nil, "create", "list", "delete")})
		role := &rbacv1.ClusterRole{}
		Expect(yaml.UnmarshalStrict(suite.Must(os.ReadFile(filepath.Join(root, "config", "rbac", "role.yaml"))), role)).To(Succeed())
		grant(operator, "creating-operator", role.Rules)
		for _, user := range []string{creator, one, deleter, operator} {
			Eventually(func() error { return confined(user).List(ctx, &snapshotv1.VolumeSnapshotList{}) }).Should(Succeed())
		}
		probe := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: newNamespace(), Name: "probe"}}
		probe.Labels, probe.Spec.Source.PersistentVolumeClaimName = map[string]string{v1alpha1.LabelMapKey: "uid"}, ptr.To("data")
		inForce(func() error { return confined(creator).Create(ctx, probe, client.DryRunAll) })
	})

	// Contract: OWN-9.
	DescribeTable("of a schedule", func(user string, labels map[string]string, want string) {
		metadata := metav1.ObjectMeta{Namespace: newNamespace(), Name: "data-1", Labels: labels}
		single := &snapshotv1.VolumeSnapshot{ObjectMeta: metadata}
		single.Spec.Source.PersistentVolumeClaimName = ptr.To("data")
		group := &groupv1.VolumeGroupSnapshot{ObjectMeta: metadata}
		group.Spec.Source.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop"}}
		for _, o := range []client.Object{single, group} {
			err := confined(user).Create(ctx, o)
			if want == allowed {
				Expect(err).NotTo(HaveOccurred())
				continue
			}
			Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
			Expect(err).To(MatchError(And(ContainSubstring(" data-1 with the label "+v1alpha1.LabelMapKey), ContainSubstring("as a user who may delete"))))
		}
	},
		Entry("by who may only create", creator, map[string]string{v1alpha1.LabelMapKey: "uid", v1alpha1.LabelSchedule: "nightly"}, refused),
		Entry("by who may only create, its map key alone", creator, map[string]string{v1alpha1.LabelMapKey: ""}, refused),
		Entry("by who may delete that name only", one, map[string]string{v1alpha1.LabelMapKey: "uid"}, refused),
		Entry("by who may delete all", deleter, map[string]string{v1alpha1.LabelMapKey: "uid"}, allowed),
		Entry("by the operator", operator, map[string]string{v1alpha1.LabelMapKey: "uid"}, allowed),
		Entry("not: without labels, as other tools and snapshot controllers do", creator, nil, allowed),
		Entry("not: with the label of a rollback", creator, map[string]string{v1alpha1.LabelRollback: "4d3c2b01"}, allowed),
	)
}

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

// Users who may create snapshots.
const (
	creator = "carl"
	one     = "olga" // may also delete those of one name
	deleter = "dora" // may also delete all of them
)

// creation is a row of the table in docs/contribute/guardrails.md: who creates a snapshot with which labels.
type creation struct {
	user   string
	labels map[string]string
	want   string
}

func creations() map[string]creation {
	label := map[string]string{v1alpha1.LabelMapKey: "uid"}
	both := map[string]string{v1alpha1.LabelMapKey: "uid", v1alpha1.LabelSchedule: "nightly"}
	ofRollback := map[string]string{v1alpha1.LabelRollback: "4d3c2b01"}
	return map[string]creation{
		"with the label `map-key`, of a user who may delete no snapshot":          {creator, label, refused},
		"with the label and that of a schedule, of such a user":                   {creator, both, refused},
		"with the label, of a user who may delete a snapshot of this name only":   {one, label, refused},
		"with the label, of a user who may delete the snapshots of the namespace": {deleter, label, allowed},
		"with the label, of the operator":                                         {operator, label, allowed},
		"without the label, as other tools and snapshot controllers create it":    {creator, nil, allowed},
		"with the label of a rollback alone":                                      {creator, ofRollback, allowed},
	}
}

// snapshotCreation are the specs about who may create a snapshot that a schedule adopts.
func snapshotCreation() {
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
	DescribeTable("of a schedule", func(c creation) {
		metadata := metav1.ObjectMeta{Namespace: newNamespace(), Name: "data-1", Labels: c.labels}
		single := &snapshotv1.VolumeSnapshot{ObjectMeta: metadata}
		single.Spec.Source.PersistentVolumeClaimName = ptr.To("data")
		group := &groupv1.VolumeGroupSnapshot{ObjectMeta: metadata}
		group.Spec.Source.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop"}}
		for _, o := range []client.Object{single, group} {
			err := confined(c.user).Create(ctx, o)
			if c.want == allowed {
				Expect(err).NotTo(HaveOccurred())
				continue
			}
			Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
			Expect(err).To(MatchError(And(ContainSubstring(" data-1 with the label "+v1alpha1.LabelMapKey), ContainSubstring("as a user who may delete"))))
		}
	}, func() (all []TableEntry) {
		for name, c := range creations() {
			all = append(all, Entry(name, c))
		}
		return all
	}())

	// Contract: OWN-9.
	It("lets an operator for listed namespaces, with a Role only, create them", func() {
		namespace := newNamespace()
		for _, o := range built("config/namespaced/watched") {
			o.SetNamespace(namespace)
			Expect(api.Create(ctx, o)).To(Succeed(), o.GetName())
		}
		account := confined("system:serviceaccount:snapshotschedule:snapshotschedule-controller-manager")
		v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "data-1"}}
		v.Labels, v.Spec.Source.PersistentVolumeClaimName = map[string]string{v1alpha1.LabelMapKey: "uid"}, ptr.To("data")
		Eventually(func() error { return account.Create(ctx, v.DeepCopy()) }).Should(Succeed())
	})
}

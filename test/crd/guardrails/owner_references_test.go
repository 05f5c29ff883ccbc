// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package guardrails

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

const (
	// manyOwners is how many references can be removed one by one.
	manyOwners = 500
	// editor may do everything with schedules but delete them.
	editor = "edith"
	// gitops is a ServiceAccount that may do everything, as those of GitOps tools may.
	gitops = "system:serviceaccount:argocd:argocd-application-controller"
	// operator has the shipped permissions.
	operator = "system:serviceaccount:snapshotschedule-system:snapshotschedule-controller-manager"
	// tenantAccount is a ServiceAccount with the permissions of editor.
	tenantAccount = "system:serviceaccount:shop:robot"
)

// reference is to an object that does not exist, in every namespace.
func reference(name string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: types.UID("uid-of-" + name)}
}

func fleetReference(controller *bool) metav1.OwnerReference {
	r := reference("gold")
	r.APIVersion, r.Kind, r.Controller, r.BlockOwnerDeletion = v1alpha1.GroupVersion.String(), "ClusterSnapshotSchedule", controller, controller
	return r
}

// owning is a row of the table in docs/contribute/guardrails.md: who writes which owner references.
type owning struct {
	user          string
	annotation    string
	before, after []metav1.OwnerReference
	want          string
}

func ownings() map[string]owning {
	owners := func(all ...metav1.OwnerReference) []metav1.OwnerReference { return all }
	kept := reference("kept")
	blocked, renamed, moved, replaced, elsewhere := kept, kept, kept, kept, kept
	blocked.BlockOwnerDeletion = ptr.To(false)
	renamed.Name = "other"
	moved.Kind = "Secret"
	replaced.UID = "another"
	elsewhere.APIVersion = "example.com/v1"
	other := fleetReference(ptr.To(true))
	other.Kind = "SnapshotSchedule"
	fleet := fleetReference(ptr.To(true))
	return map[string]owning{
		"an added owner reference":                             {user: editor, after: owners(reference("absent")), want: refused},
		"an added owner reference, of a cluster administrator": {after: owners(reference("absent")), want: refused},
		"one with the annotation `allow-deletion: \"true\"`, of a user who may delete the schedule": {
			annotation: "true", after: owners(reference("absent")), want: allowed},
		"one with the annotation, of a user who may not delete it": {
			user: editor, annotation: "true", after: owners(reference("absent")), want: refused},
		"one with another value of the annotation": {annotation: "yes", after: owners(reference("absent")), want: refused},
		"another one beside one that was there":    {user: editor, before: owners(kept), after: owners(kept, reference("absent")), want: refused},
		"another name in one that was there": {
			user: editor, before: owners(kept, reference("b")), after: owners(renamed, reference("b")), want: refused},
		"another kind in one that was there":      {user: editor, before: owners(kept), after: owners(moved), want: refused},
		"another UID in one that was there":       {user: editor, before: owners(kept), after: owners(replaced), want: refused},
		"another API group in one that was there": {user: editor, before: owners(kept), after: owners(elsewhere), want: refused},
		"a reference that was there":              {user: editor, before: owners(kept), after: owners(kept), want: allowed},
		"another `blockOwnerDeletion` in one that was there": {
			user: garbageCollector, before: owners(kept), after: owners(blocked), want: allowed},
		"the removal of a reference": {user: editor, before: owners(kept), want: allowed},
		"a controllerRef to a ClusterSnapshotSchedule, of the operator": {
			user: operator, after: owners(fleet), want: allowed},
		"a controllerRef to a ClusterSnapshotSchedule, of another ServiceAccount": {
			user: tenantAccount, after: owners(fleet), want: refused},
		"a controllerRef to a ClusterSnapshotSchedule, of a cluster administrator": {after: owners(fleet), want: refused},
		"a controllerRef to a ClusterSnapshotSchedule, of a ServiceAccount with all permissions": {
			user: gitops, after: owners(fleet), want: refused},
		"a controllerRef to another kind, of the operator": {user: operator, after: owners(other), want: refused},
		"any other reference, of the operator": {
			user: operator, after: owners(fleet, reference("absent")), want: refused},
		"a reference to a ClusterSnapshotSchedule that is no controllerRef, of the operator": {
			user: operator, after: owners(fleetReference(nil)), want: refused},
	}
}

func (o owning) client() client.Client {
	if slices.Contains([]string{editor, operator, tenantAccount}, o.user) {
		return confined(o.user)
	}
	return as(cmp.Or(o.user, jane))
}

// update changes the owner references of a schedule, as kubectl patch does.
func (o owning) update(object client.Object) error {
	GinkgoHelper()
	object.SetOwnerReferences(o.before)
	object.SetAnnotations(map[string]string{v1alpha1.AnnotationAllowDeletion: "true"})
	Expect(api.Create(ctx, object)).To(Succeed())
	annotations := map[string]any{v1alpha1.AnnotationAllowDeletion: nil}
	patch(object, metadata(map[string]any{"annotations": annotations}))
	changed := map[string]any{"ownerReferences": o.after}
	if o.annotation != "" {
		changed["annotations"] = map[string]any{v1alpha1.AnnotationAllowDeletion: o.annotation}
	}
	return o.client().Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(metadata(changed))))
}

func metadata(of map[string]any) string {
	GinkgoHelper()
	return string(suite.Must(json.Marshal(map[string]any{"metadata": of})))
}

// expectOwned compares the answer to a request that adds owner references.
func expectOwned(want string, err error, name string) {
	GinkgoHelper()
	expectAnswer(want, err, "adding an owner reference to ", name)
}

// grant gives a user the rules of a ClusterRole.
func grant(user, name string, rules []rbacv1.PolicyRule) {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	for _, o := range []client.Object{role, binding} {
		Expect(api.Create(ctx, o)).To(Succeed())
	}
}

// ownerReferences are the specs about who may add an owner reference.
func ownerReferences() {
	BeforeAll(func() {
		for _, file := range []string{"role.yaml", "fleet_role.yaml"} {
			role := &rbacv1.ClusterRole{}
			Expect(yaml.UnmarshalStrict(suite.Must(os.ReadFile(filepath.Join(root, "config", "rbac", file))), role)).To(Succeed())
			grant(operator, role.Name, role.Rules)
		}
		everythingButDelete := []rbacv1.PolicyRule{{
			APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"snapshotschedules", "clustersnapshotschedules"},
			Verbs: []string{"get", "list", "watch", "create", "update", "patch"},
		}}
		grant(editor, "editor", everythingButDelete)
		grant(tenantAccount, "robot", everythingButDelete)
		for _, user := range []string{editor, tenantAccount, operator} {
			Eventually(func() error {
				return confined(user).List(ctx, &v1alpha1.ClusterSnapshotScheduleList{})
			}).Should(Succeed(), "the permissions of %s should be in force", user)
		}
	})
	entries := func(of func(owning) bool) (all []TableEntry) {
		for name, o := range ownings() {
			if of(o) {
				all = append(all, Entry(name, o))
			}
		}
		return all
	}

	DescribeTable("added to a SnapshotSchedule", func(o owning) {
		s := newSchedule(newNamespace())
		s.Name, s.GenerateName = "nightly", ""
		expectOwned(o.want, o.update(s), s.Name)
	}, entries(func(owning) bool { return true }))

	// The operator never adds one, and has no permission to create one.
	DescribeTable("added to a ClusterSnapshotSchedule", func(o owning) {
		f := &v1alpha1.ClusterSnapshotSchedule{ObjectMeta: metav1.ObjectMeta{GenerateName: "gold-"}}
		f.Spec.Template.Spec.SnapshotInterval, f.Spec.Template.Spec.DeletionPolicy = "6h", v1alpha1.DeletionDelete
		// Other specs delete all.
		DeferCleanup(func() { Expect(as(garbageCollector).Delete(ctx, f)).To(Succeed()) })
		expectOwned(o.want, o.update(f), f.Name)
	}, entries(func(o owning) bool { return o.user != operator }))

	// A schedule that is created with one would adopt the snapshots of an earlier one of its name, and take them along.
	DescribeTable("of a SnapshotSchedule that is created", func(o owning) {
		s := newSchedule(newNamespace())
		s.Name, s.GenerateName = "nightly", ""
		s.OwnerReferences = o.after
		if o.annotation != "" {
			s.Annotations = map[string]string{v1alpha1.AnnotationAllowDeletion: o.annotation}
		}
		expectOwned(o.want, o.client().Create(ctx, s), s.Name)
	}, entries(func(o owning) bool { return len(o.before) == 0 }))

	// The cost of comparing all with all is limited. Whoever may create a schedule could otherwise freeze it.
	DescribeTable("that are very many do not keep others from writing", func(n int) {
		s := newSchedule(newNamespace())
		s.Annotations = map[string]string{v1alpha1.AnnotationAllowDeletion: "true"}
		s.Finalizers = []string{"example.com/kept"}
		for i := range n {
			s.OwnerReferences = append(s.OwnerReferences, reference(fmt.Sprint("r", i)))
		}
		Expect(api.Create(ctx, s)).To(Succeed())
		patch(s, metadata(map[string]any{"annotations": map[string]any{v1alpha1.AnnotationAllowDeletion: nil}}))
		write := func(c client.Client, changed map[string]any) error {
			return c.Patch(ctx, s.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(metadata(changed))))
		}
		By("patching a label and a finalizer")
		Expect(write(confined(editor), map[string]any{"labels": map[string]any{"a": "b"}})).To(Succeed())
		Expect(write(confined(operator), map[string]any{"finalizers": nil})).To(Succeed())
		By("adding and replacing references")
		expectOwned(refused, write(confined(editor), map[string]any{"ownerReferences": append(s.OwnerReferences[:n:n], reference("absent"))}), s.Name)
		expectOwned(refused, write(confined(editor), map[string]any{"ownerReferences": append(s.OwnerReferences[:n-1:n-1], reference("absent"))}), s.Name)
		By("removing some, as the garbage collector does, and then all")
		if n <= manyOwners {
			some := s.DeepCopy().OwnerReferences[1 : n-1]
			some[0].BlockOwnerDeletion = ptr.To(false)
			Expect(write(as(garbageCollector), map[string]any{"ownerReferences": some})).To(Succeed())
		}
		Expect(write(as(garbageCollector), map[string]any{"ownerReferences": nil})).To(Succeed())
	}, Entry(nil, 49), Entry(nil, manyOwners), Entry(nil, 4*manyOwners))

	It("are refused in a server-side apply", func() {
		s := newSchedule(newNamespace())
		Expect(api.Create(ctx, s)).To(Succeed())
		text := fmt.Sprintf(`{"apiVersion":%q,"kind":"SnapshotSchedule","metadata":{"name":%q,"ownerReferences":[
			{"apiVersion":"v1","kind":"ConfigMap","name":"absent","uid":"absent"}]}}`, v1alpha1.GroupVersion, s.Name)
		err := confined(editor).Patch(ctx, s, client.RawPatch(types.ApplyYAMLPatchType, []byte(text)), client.FieldOwner("edith"))
		expectOwned(refused, err, s.Name)
	})

	DescribeTable("or labels that tie it to its ClusterSnapshotSchedule are taken off a child", taking.expect, func() (all []TableEntry) {
		for name, o := range takings() {
			all = append(all, Entry(name, o))
		}
		return all
	}())

	It("are described by the tables in docs/contribute/guardrails.md", func() {
		tested := map[string][]string{}
		for name, o := range ownings() {
			tested[name] = []string{o.want}
		}
		for name, o := range takings() {
			tested[name] = []string{o.want}
		}
		for name, c := range creations() {
			tested[name] = []string{c.want}
		}
		Expect(documented(allCases, `(?m)^\| ([^|]+) \| (allowed|refused) \|$`)).To(Equal(tested))
	})
}

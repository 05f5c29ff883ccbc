// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

var _ = Describe("groups", Ordered, func() {
	var (
		env       *environment
		data, log *corev1.PersistentVolumeClaim
		older     *groupv1.VolumeGroupSnapshot
		newer     *groupv1.VolumeGroupSnapshot
	)
	BeforeAll(func() {
		suite.InstallGroupCRDs(server.Config)
		DeferCleanup(func() { suite.UninstallGroupCRDs(ctx, server.Config, api) })
		env = newEnvironment()
		s := env.createSchedule("db", v1alpha1.SnapshotScheduleSpec{
			Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}},
			Group:    &v1alpha1.Group{}, SnapshotInterval: "7h", SnapshotTTL: "1d", // the last slot was 5h ago
		})
		class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: env.namespace}, Provisioner: "mock.csi"}
		Expect(api.Create(ctx, class)).To(Succeed())
		DeferCleanup(func() { Expect(api.Delete(ctx, class)).To(Succeed()) })
		data, log = env.createClaim("data", "app", "db"), env.createClaim("log", "app", "db")
		older = putGroup(s, ago(30*time.Hour), data, log)
		newer = putGroup(s, ago(5*time.Hour), data, log)
	})
	member := func(v *groupv1.VolumeGroupSnapshot, c *corev1.PersistentVolumeClaim) *snapshotv1.VolumeSnapshot {
		return get(&snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: v.Name + "-" + c.Name}})
	}

	It("are shown with their PVCs, one line for each group snapshot", func() {
		Expect(env.succeeds("status", "db")).To(And(ContainSubstring("as one group"),
			MatchRegexp(`(?m)^data +db +5h\S* +\S+ +2 `), MatchRegexp(`(?m)^log +db +5h\S* +\S+ +2 `)))
		Expect(env.succeeds("coverage")).To(MatchRegexp(`data +Protected +db`))
		Expect(env.succeeds("timeline", "db")).To(And(MatchRegexp(`(?m)^data\+log +-·+●·+ .* 2$`), Not(MatchRegexp(`(?m)^(data|log) `))))
	})

	It("lead to a warning of every command that judges a schedule, if the user may not read them", func() {
		rules := []rbacv1.PolicyRule{{
			APIGroups: []string{"", "snapshot.storage.k8s.io", v1alpha1.GroupVersion.Group}, Resources: []string{"*"}, Verbs: []string{"get", "list"},
		}}
		reader := env.as(env.may("reader", rules, "status"))
		for _, command := range []string{"status", "timeline", "preview"} {
			Expect(reader.warns(command, "db")).To(And(ContainSubstring(`cannot list resource "volumegroupsnapshots"`), ContainSubstring("are left out")), command)
		}
	})

	It("whose classes the user may not read are assumed to have one, aloud", func() {
		driven := builders.BoundClaim(env.namespace, "disk", "volume-disk", map[string]string{"app": "vm"})
		driven.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": "block.example.com"}
		put(ago(61*24*time.Hour), driven)
		class := &snapshotv1.VolumeSnapshotClass{ObjectMeta: metav1.ObjectMeta{Name: env.namespace}, Driver: "block.example.com", DeletionPolicy: "Delete"}
		ofGroups := &groupv1.VolumeGroupSnapshotClass{ObjectMeta: metav1.ObjectMeta{
			Name: env.namespace, Annotations: map[string]string{"groupsnapshot.storage.kubernetes.io/is-default-class": "true"},
		}, Driver: "block.example.com", DeletionPolicy: "Delete"}
		for _, o := range []client.Object{class, ofGroups} {
			Expect(api.Create(ctx, o)).To(Succeed())
			DeferCleanup(func() { Expect(api.Delete(ctx, o)).To(Succeed()) })
		}
		vm := env.createSchedule("vm", v1alpha1.SnapshotScheduleSpec{
			Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "vm"}}, Group: &v1alpha1.Group{}, SnapshotInterval: "7h",
		})
		DeferCleanup(func() { Expect(api.Delete(ctx, vm)).To(Succeed()) })
		Expect(env.succeeds("status", "vm")).NotTo(ContainSubstring("NoGroupSnapshotClass"))
		everything := []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
		env.mayInCluster("tenant", []rbacv1.PolicyRule{{
			APIGroups: []string{"snapshot.storage.k8s.io"}, Resources: []string{"volumesnapshotclasses"}, Verbs: []string{"list"},
		}})
		tenant := env.as(env.may("tenant", everything, "status"))
		for _, command := range []string{"status", "preview"} {
			r := tenant.run(command, "vm")
			Expect(r.out).NotTo(ContainSubstring("NoGroupSnapshotClass"), command)
			Expect(r.errOut).To(ContainSubstring(`cannot list resource "volumegroupsnapshotclasses"`), command)
		}
		Expect(tenant.succeeds("snapshot", "vm")).To(ContainSubstring("requested 1 group snapshot"))
	})

	It("are explained, also by the name of a member", func() {
		for _, name := range []string{older.Name, older.Name + "-log"} {
			why := env.succeeds("why", name)
			Expect(why).To(ContainSubstring(older.Name))
			Expect(why).To(MatchRegexp(`(?i)delete`))
		}
		Expect(env.succeeds("why", older.Name+"-log")).To(ContainSubstring("is a member of it"))
		Expect(env.succeeds("why", "-o", "json", newer.Name)).To(ContainSubstring(`"name": "` + newer.Name + `"`))
	})

	It("are not deleted by preview while a PVC needs them", func() {
		Expect(env.preview("db").deletedNow()).To(ConsistOf(older.Name))
		left := member(newer, log)
		left.Status.ReadyToUse = ptr.To(false)
		put(time.Time{}, left)
		Expect(env.preview("db").deletedNow()).To(BeEmpty(), "it is the only one that holds log")
		left.Status.ReadyToUse = ptr.To(true)
		put(time.Time{}, left)
	})

	It("are held by a hold on a member, and by one of their own", func() {
		for _, name := range []string{older.Name + "-data", older.Name} {
			env.succeeds("hold", name, "--reason", "audit")
			Expect(env.preview("db").deletedNow()).To(BeEmpty(), name)
			env.succeeds("unhold", name)
			Expect(env.preview("db").deletedNow()).To(ConsistOf(older.Name))
		}
	})

	It("are verified by their members, which say so", func() {
		ended := env.start("verify", "--schedule", "db", "--image", "example.com/plugin")
		finished := map[string]bool{}
		Eventually(func(g Gomega) {
			all := &batchv1.JobList{}
			g.Expect(api.List(ctx, all, client.InNamespace(env.namespace))).To(Succeed())
			for _, job := range all.Items {
				if finished[job.Name] {
					continue
				}
				pod := podOf(&job)
				g.Expect(api.Create(ctx, pod)).To(Succeed())
				done := corev1.ContainerStateTerminated{Reason: "Completed"}
				pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "verify", State: corev1.ContainerState{Terminated: &done}}}
				g.Expect(api.Status().Update(ctx, pod)).To(Succeed())
				finished[job.Name] = true
			}
			g.Expect(finished).To(HaveLen(2))
		}).Should(Succeed())
		Expect(awaitSuccess(ended).out).To(And(ContainSubstring(newer.Name+"-data verified"), ContainSubstring(newer.Name+"-log verified")))
		for _, c := range []*corev1.PersistentVolumeClaim{data, log} {
			Expect(member(newer, c).Annotations).To(HaveKey(v1alpha1.AnnotationVerifiedAt))
		}
	})

	It("are restored as a whole, or not at all", func() {
		restored := func() (names []string) {
			all := &corev1.PersistentVolumeClaimList{}
			Expect(api.List(ctx, all, client.InNamespace(env.namespace))).To(Succeed())
			for _, c := range all.Items {
				if strings.HasSuffix(c.Name, "-r") {
					names = append(names, c.Name+" from "+c.Spec.DataSource.Name)
				}
			}
			return names
		}
		broken := member(older, log)
		broken.Status.ReadyToUse = ptr.To(false)
		put(time.Time{}, broken)
		Expect(env.fails("restore", older.Name, "--to", "{pvc}-r")).To(And(ContainSubstring("log: its VolumeSnapshot is not ready"), ContainSubstring("--allow-incomplete")))
		Expect(restored()).To(BeEmpty())
		Expect(env.warns("restore", older.Name, "--to", "{pvc}-r", "--allow-incomplete")).To(ContainSubstring("missing: log"))
		Expect(restored()).To(ConsistOf("data-r from " + older.Name + "-data"))
		env.succeeds("restore", newer.Name, "--to", "{pvc}-new-r")
		Expect(restored()).To(ContainElements("data-new-r from "+newer.Name+"-data", "log-new-r from "+newer.Name+"-log"))
	})
})

// deletedNow returns the snapshots that preview would delete now.
func (p previewed) deletedNow() (names []string) {
	for _, d := range p.Deletes {
		if d.Now {
			names = append(names, d.Name)
		}
	}
	return names
}

// putGroup writes a group snapshot that was taken at its slot, with its members, as the operator and the snapshot controller leave them.
func putGroup(s *v1alpha1.SnapshotSchedule, slot time.Time, of ...*corev1.PersistentVolumeClaim) *groupv1.VolumeGroupSnapshot {
	GinkgoHelper()
	sum := sha256.Sum256([]byte("="))
	key := "g-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:26]
	v := &groupv1.VolumeGroupSnapshot{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.Namespace, Name: s.Name + "-" + slot.Format("20060102150405"),
		Labels:          map[string]string{v1alpha1.LabelMapKey: key, v1alpha1.LabelSchedule: s.Name},
		Annotations:     map[string]string{v1alpha1.AnnotationScheduledAt: slot.UTC().Format(time.RFC3339)},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("SnapshotSchedule"))},
		Finalizers:      []string{"groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-bound-protection"},
	}}
	v.Spec.Source.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
	v.Status = &groupv1.VolumeGroupSnapshotStatus{
		ReadyToUse: ptr.To(true), CreationTime: ptr.To(metav1.NewTime(slot)), BoundVolumeGroupSnapshotContentName: ptr.To("group-" + string(uuid.NewUUID())),
	}
	builders.Existing(v, uuid.NewUUID(), slot)
	record := map[string]types.UID{}
	var all []client.Object
	for _, c := range of {
		record[c.Name] = c.UID
		m := snapshotAt(s, c, slot)
		m.Name, m.Annotations = v.Name+"-"+c.Name, nil
		m.Labels = map[string]string{v1alpha1.LabelGroupSnapshot: v.Name}
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: groupv1.SchemeGroupVersion.String(), Kind: "VolumeGroupSnapshot", Name: v.Name, UID: v.UID}}
		m.Status.VolumeGroupSnapshotName = &v.Name
		m.Status.RestoreSize = ptr.To(c.Spec.Resources.Requests[corev1.ResourceStorage])
		createContent(m, "mock.csi")
		all = append(all, m)
	}
	v.Annotations[v1alpha1.AnnotationClaims] = string(suite.Must(json.Marshal(record)))
	put(time.Time{}, append([]client.Object{v}, all...)...)
	return v
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// succeed does something again and again until a command that was started ends, which must succeed.
func succeed(ended <-chan result, do func()) {
	GinkgoHelper()
	var r result
	Eventually(func() bool {
		do()
		select {
		case r = <-ended:
			return true
		default:
			return false
		}
	}, "90s", "20ms").Should(BeTrue())
	Expect(r.code).To(BeZero(), r.errOut)
}

var _ = Describe("commands that act on the PVCs of a group", Ordered, ContinueOnFailure, func() {
	var env *environment
	var s *v1alpha1.SnapshotSchedule
	BeforeAll(func() {
		suite.InstallGroupCRDs(server.Config)
		DeferCleanup(func() { suite.UninstallGroupCRDs(ctx, server.Config, api) })
	})
	BeforeEach(func() {
		env = newEnvironment()
		s = env.createSchedule("db", v1alpha1.SnapshotScheduleSpec{
			Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}},
			Group:    &v1alpha1.Group{}, SnapshotInterval: "7h", SnapshotTTL: "1d",
		})
	})
	volume := func(c *corev1.PersistentVolumeClaim, name string) *corev1.PersistentVolume {
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
		v.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: c.Spec.Resources.Requests[corev1.ResourceStorage]}
		v.Spec.AccessModes, v.Spec.StorageClassName = c.Spec.AccessModes, *c.Spec.StorageClassName
		v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "mock.csi", VolumeHandle: name}
		v.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: c.Namespace, Name: c.Name, UID: c.UID}
		return v
	}
	claims := func() []corev1.PersistentVolumeClaim {
		all := &corev1.PersistentVolumeClaimList{}
		Expect(api.List(ctx, all, client.InNamespace(env.namespace))).To(Succeed())
		return all.Items
	}
	// drive does what binder, provisioner and snapshot controller do.
	drive := func() {
		for _, c := range claims() {
			switch {
			case c.DeletionTimestamp != nil:
				_ = api.Patch(ctx, &c, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
				continue
			case c.Status.Phase == corev1.ClaimBound:
				continue
			case c.Spec.VolumeName == "":
				v := volume(&c, "pv-"+string(c.UID))
				_ = api.Create(ctx, v)
				_ = api.Patch(ctx, &c, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"volumeName":"`+v.Name+`"}}`)))
			default:
				v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: c.Spec.VolumeName}}
				_ = api.Patch(ctx, v, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"claimRef":{"uid":"`+string(c.UID)+`"}}}`)))
			}
			fresh := &corev1.PersistentVolumeClaim{}
			if api.Get(ctx, client.ObjectKeyFromObject(&c), fresh) == nil && fresh.Spec.VolumeName != "" {
				fresh.Status.Phase = corev1.ClaimBound
				_ = api.Status().Update(ctx, fresh)
			}
		}
		all := &snapshotv1.VolumeSnapshotList{}
		_ = api.List(ctx, all, client.InNamespace(env.namespace))
		for _, v := range all.Items {
			if v.Status == nil {
				v.Status = &snapshotv1.VolumeSnapshotStatus{ReadyToUse: ptr.To(true), CreationTime: ptr.To(metav1.Now())}
				_ = api.Status().Update(ctx, &v)
			}
		}
	}

	// The PVCs are gone for a moment, and then have other UIDs.
	//
	// Contract: BACK-1.
	It("rollback of the PVCs of a group keeps their group snapshots", func() {
		class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: env.namespace}, Provisioner: "mock.csi"}
		Expect(api.Create(ctx, class)).To(Succeed())
		DeferCleanup(func() { Expect(api.Delete(ctx, class)).To(Succeed()) })
		// Suspended, so that preview takes no other one in the place of those that exist.
		Expect(api.Patch(ctx, s, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":true,"retention":{"minVerified":1}}}`)))).To(Succeed())
		var of []*corev1.PersistentVolumeClaim
		for _, name := range []string{"data", "log"} {
			c := builders.BoundClaim(env.namespace, name, env.namespace+"-"+name, map[string]string{"app": "db"})
			c.Spec.StorageClassName = &class.Name
			put(ago(61*24*time.Hour), c)
			Expect(api.Create(ctx, volume(c, c.Spec.VolumeName))).To(Succeed())
			of = append(of, c)
		}
		older, verified, newest := putGroup(s, ago(50*time.Hour), of...), putGroup(s, ago(30*time.Hour), of...), putGroup(s, ago(26*time.Hour), of...)
		for _, c := range of {
			m := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: verified.Name + "-" + c.Name}}
			Expect(api.Patch(ctx, m, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+v1alpha1.AnnotationVerifiedAt+`":"`+ago(time.Hour).Format(time.RFC3339)+`"}}}`)))).To(Succeed())
		}
		Expect(env.preview("db").deletedNow()).To(ConsistOf(older.Name), "the floor keeps the newest, and minVerified the verified one")

		ended := env.start("rollback", "--pvc", "data,log", "--as-of", ago(49*time.Hour).Format(time.RFC3339), "--yes", "--timeout", "60s")
		var lost []string
		succeed(ended, func() {
			gone := true
			for _, c := range claims() {
				gone = gone && c.Name != "data" && c.Name != "log"
			}
			if gone { // between (6) and (7)
				lost = append(lost, env.preview("db").deletedNow()...)
			}
			drive()
		})

		uids := map[string]types.UID{}
		for _, c := range claims() {
			uids[c.Name] = c.UID
		}
		Expect(uids["data"]).NotTo(Equal(of[0].UID))
		record := map[string]types.UID{}
		Expect(json.Unmarshal([]byte(get(newest).Annotations[v1alpha1.AnnotationClaims]), &record)).To(Succeed())
		var failures []string
		if len(lost) > 0 {
			failures = append(failures, fmt.Sprintf("while the PVCs are gone, the operator would delete %v: (1) holds no group snapshot", lost))
		}
		if after := env.preview("db").deletedNow(); slices.Contains(after, verified.Name) {
			failures = append(failures, fmt.Sprintf("after the rollback, the operator deletes %v, with the verified one, which minVerified kept", after))
		}
		if !maps.Equal(record, uids) {
			failures = append(failures, fmt.Sprintf("claims of the newest are %v, want %v", record, uids))
		}
		Expect(failures).To(BeEmpty())
	})

	// Whose an imported snapshot is, only its map key says, and the PVC of that is gone when the snapshots are carried over.
	//
	// Contract: BACK-1.
	It("rollback of a PVC that no schedule selects carries over all that were imported", func() {
		class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: env.namespace}, Provisioner: "mock.csi"}
		Expect(api.Create(ctx, class)).To(Succeed())
		DeferCleanup(func() { Expect(api.Delete(ctx, class)).To(Succeed()) })
		c := builders.BoundClaim(env.namespace, "data", env.namespace+"-data", nil)
		c.Spec.StorageClassName = &class.Name
		c.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": "mock.csi"}
		put(ago(61*24*time.Hour), c)
		Expect(api.Create(ctx, volume(c, c.Spec.VolumeName))).To(Succeed())
		for name, policy := range map[string]snapshotv1.DeletionPolicy{"-a": "Retain", "-b": "Delete", "-c": "Delete"} { // none is the default
			of := &snapshotv1.VolumeSnapshotClass{ObjectMeta: metav1.ObjectMeta{Name: env.namespace + name}, Driver: "mock.csi", DeletionPolicy: policy}
			Expect(api.Create(ctx, of)).To(Succeed())
			DeferCleanup(func() { Expect(api.Delete(ctx, of)).To(Succeed()) })
		}
		var imported []*snapshotv1.VolumeSnapshot
		for _, at := range []time.Time{ago(50 * time.Hour), ago(30 * time.Hour)} {
			v := snapshotAt(s, c, at)
			v.Spec.Source = snapshotv1.VolumeSnapshotSource{VolumeSnapshotContentName: ptr.To("imported")}
			v.Status.RestoreSize = ptr.To(c.Spec.Resources.Requests[corev1.ResourceStorage])
			createContent(v, "mock.csi")
			imported = append(imported, v)
		}
		put(time.Time{}, imported[0], imported[1])

		ended := env.start("rollback", "--pvc", "data", "--as-of", ago(49*time.Hour).Format(time.RFC3339), "--yes", "--timeout", "60s")
		succeed(ended, drive)
		now := get(c)
		Expect(now.UID).NotTo(Equal(c.UID))
		for _, v := range imported {
			Expect(get(v).Labels).To(HaveKeyWithValue(v1alpha1.LabelMapKey, string(now.UID)), v.Name)
			Expect(get(v).Annotations).NotTo(HaveKeyWithValue(v1alpha1.AnnotationHold, HavePrefix("forever")), v.Name)
		}
		all := &snapshotv1.VolumeSnapshotList{}
		Expect(api.List(ctx, all, client.InNamespace(env.namespace))).To(Succeed())
		Expect(all.Items).To(ContainElement(And(HaveField("Name", HavePrefix("data-before-")),
			HaveField("Spec.VolumeSnapshotClassName", HaveValue(Equal(env.namespace+"-b"))))), "the snapshot controller finds no default class")
	})

	// The class by which the target was taken may have been replaced since.
	//
	// Contract: BACK-1.
	It("rollback takes the safety snapshot with a class that exists, if the target's does not", func() {
		storage := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: env.namespace}, Provisioner: "mock.csi"}
		class := &snapshotv1.VolumeSnapshotClass{ObjectMeta: metav1.ObjectMeta{Name: env.namespace + "-new"}, Driver: "mock.csi", DeletionPolicy: "Delete"}
		for _, o := range []client.Object{storage, class} {
			Expect(api.Create(ctx, o)).To(Succeed())
			DeferCleanup(func() { Expect(api.Delete(ctx, o)).To(Succeed()) })
		}
		c := builders.BoundClaim(env.namespace, "data", env.namespace+"-data", nil)
		c.Spec.StorageClassName = &storage.Name
		c.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": "mock.csi"}
		put(ago(61*24*time.Hour), c)
		Expect(api.Create(ctx, volume(c, c.Spec.VolumeName))).To(Succeed())
		v := snapshotAt(s, c, ago(50*time.Hour))
		v.Spec.VolumeSnapshotClassName = ptr.To(env.namespace + "-old")
		v.Status.RestoreSize = ptr.To(c.Spec.Resources.Requests[corev1.ResourceStorage])
		createContent(v, "mock.csi")
		put(time.Time{}, v)

		ended := env.start("rollback", "--pvc", "data", "--as-of", ago(49*time.Hour).Format(time.RFC3339), "--yes", "--timeout", "60s")
		succeed(ended, drive)
		all := &snapshotv1.VolumeSnapshotList{}
		Expect(api.List(ctx, all, client.InNamespace(env.namespace))).To(Succeed())
		Expect(all.Items).To(ContainElement(And(HaveField("Name", HavePrefix("data-before-")),
			HaveField("Spec.VolumeSnapshotClassName", HaveValue(Equal(class.Name))))))
	})

	It("snapshot --pvc --wait ends when the group snapshot of the PVC is ready", func() {
		data, log := env.createClaim("data", "app", "db"), env.createClaim("log", "app", "db")
		ended := env.start("snapshot", "--pvc", "data", "--wait", "--timeout", "1m")
		Eventually(func() time.Time { return requestedAt(s) }).ShouldNot(BeZero())
		v := putGroup(s, requestedAt(s), data, log)
		r := await(ended)
		Expect(r.code).To(BeZero(), v.Name+" is ready: "+r.out+r.errOut)
	})

	It("snapshot --wait --timeout waits so long, also for schedules of both kinds", func() {
		env.createClaim("data", "app", "db")
		single := env.createClaim("single", "app", "web")
		spec := hourly
		spec.Selector.MatchLabels = map[string]v1alpha1.LabelValue{"app": "web"}
		web := env.createSchedule("web", spec)
		for _, o := range []*v1alpha1.SnapshotSchedule{s, web} {
			Expect(api.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"backup":"gold"}}}`)))).To(Succeed())
		}
		began := time.Now()
		ended := env.start("snapshot", "-l", "backup=gold", "--wait=cut", "--timeout", "6s")
		Eventually(func() time.Time { return requestedAt(web) }).ShouldNot(BeZero())
		Eventually(func() time.Duration { return time.Since(began) }, "5s").Should(BeNumerically(">", 4*time.Second), "the storage takes its time")
		report(take(web, single, requestedAt(web)), isReady)
		Expect(await(ended).code).To(Equal(3))
		Expect(time.Since(began)).To(BeNumerically("<", 11*time.Second), "it waits once, not once a kind: the application holds its lock meanwhile")
	})

	// Drivers were seen to return too few members.
	It("snapshot --wait does not say that a PVC is ready that its group snapshot lacks", func() {
		data, log := env.createClaim("data", "app", "db"), env.createClaim("log", "app", "db")
		ended := env.start("snapshot", "db", "--wait", "--timeout", "6s")
		Eventually(func() time.Time { return requestedAt(s) }).ShouldNot(BeZero())
		v := putGroup(s, requestedAt(s), data)
		record := suite.Must(json.Marshal(map[string]types.UID{"data": data.UID, "log": log.UID}))
		patch := suite.Must(json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{v1alpha1.AnnotationClaims: string(record)}}}))
		Expect(api.Patch(ctx, v, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
		r := await(ended)
		Expect(r.code).NotTo(BeZero(), "the driver left log out: "+r.out+r.errOut)
	})

	It("timeline --pvc shows the group of a PVC", func() {
		data, log := env.createClaim("data", "app", "db"), env.createClaim("log", "app", "db")
		putGroup(s, ago(5*time.Hour), data, log)
		r := env.run("timeline", "db", "--pvc", "data")
		Expect(r.code).To(BeZero(), r.errOut)
	})
})

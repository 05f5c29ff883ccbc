// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

var _ = Describe("restore", func() {
	const driver = "mock.csi"
	var (
		env      *environment
		schedule *v1alpha1.SnapshotSchedule
		class    string
		now      time.Time // in whole seconds, one for all snapshots of a spec
	)

	createClass := func(name, provisioner string, mode storagev1.VolumeBindingMode) string {
		GinkgoHelper()
		c := &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: env.namespace + "-" + name}, Provisioner: provisioner, VolumeBindingMode: &mode,
		}
		Expect(api.Create(ctx, c)).To(Succeed())
		DeferCleanup(func() { Expect(api.Delete(ctx, c)).To(Succeed()) })
		return c.Name
	}
	createClaim := func(name string) *corev1.PersistentVolumeClaim {
		GinkgoHelper()
		c := env.createClaim(name, "app", "db")
		c.Spec.StorageClassName = &class
		put(time.Time{}, c)
		return c
	}
	// createSnapshot creates a ready snapshot of 2Gi with its content.
	createSnapshot := func(c *corev1.PersistentVolumeClaim, taken time.Duration) *snapshotv1.VolumeSnapshot {
		GinkgoHelper()
		v := snapshotAt(schedule, c, now.Add(-taken))
		v.Status.RestoreSize = ptr.To(resource.MustParse("2Gi"))
		createContent(v, driver)
		put(time.Time{}, v)
		return v
	}
	claims := func() (names []string) {
		GinkgoHelper()
		all := &corev1.PersistentVolumeClaimList{}
		Expect(api.List(ctx, all, client.InNamespace(env.namespace))).To(Succeed())
		for _, c := range all.Items {
			names = append(names, c.Name)
		}
		return names
	}
	claimNamed := func(name string) *corev1.PersistentVolumeClaim {
		GinkgoHelper()
		return get(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: name}})
	}
	remove := func(name string) {
		GinkgoHelper()
		Expect(api.Delete(ctx, claimNamed(name))).To(Succeed())
		c := claimNamed(name)
		c.Finalizers = nil
		Expect(api.Update(ctx, c)).To(Succeed())
	}
	bind := func(name string) {
		GinkgoHelper()
		c := claimNamed(name)
		c.Status.Phase = corev1.ClaimBound
		Expect(api.Status().Update(ctx, c)).To(Succeed())
	}
	createEvent := func(uid types.UID, reason, message string) {
		GinkgoHelper()
		Expect(api.Create(ctx, &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: env.namespace, GenerateName: "event-"},
			InvolvedObject: corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: env.namespace, UID: uid},
			Type:           corev1.EventTypeNormal, Reason: reason, Message: message,
		})).To(Succeed())
	}

	BeforeEach(func() {
		env, now = newEnvironment(), ago(0)
		class = createClass("fast", driver, storagev1.VolumeBindingImmediate)
		spec := hourly
		spec.Selector.MatchLabels = map[string]v1alpha1.LabelValue{"app": "db"}
		schedule = env.createSchedule("nightly", spec)
	})

	It("creates a PVC from a snapshot, and changes nothing else", func() {
		source := createClaim("data")
		v := createSnapshot(source, time.Hour)
		sourceBefore, snapshotBefore := get(source), get(v)
		var writes []string
		proxied := intercept(func(r request) bool {
			writes = append(writes, r.method+" "+r.resource)
			return true
		})
		r := env.as(proxied).run("restore", v.Name)
		Expect(r).To(Equal(result{0, "persistentvolumeclaim/" + v.Name + " created\n", ""}))
		restored := claimNamed(v.Name)
		Expect(restored.Spec).To(And(
			HaveField("AccessModes", Equal(source.Spec.AccessModes)),
			HaveField("StorageClassName", HaveValue(Equal(class))),
			HaveField("VolumeMode", HaveValue(Equal(corev1.PersistentVolumeFilesystem))),
			HaveField("DataSource", Equal(&corev1.TypedLocalObjectReference{
				APIGroup: ptr.To("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: v.Name,
			}))))
		Expect(restored.Spec.Resources.Requests.Storage().String()).To(Equal("2Gi"), "restoreSize is more than the 1Gi of the source")
		Expect(restored.Labels).To(BeEmpty())
		Expect(writes).To(Equal([]string{"POST persistentvolumeclaims"}))
		Expect(get(source)).To(Equal(sourceBefore))
		Expect(get(v)).To(Equal(snapshotBefore))
	})

	It("never changes an existing PVC", func() {
		source := createClaim("data")
		v := createSnapshot(source, time.Hour)
		before := get(source)
		for _, args := range [][]string{{v.Name, "--to", "data"}, {"--pvc", "data", "--to", "{pvc}"}, {"--schedule", "nightly", "--to", "{pvc}"}} {
			Expect(env.fails(append([]string{"restore"}, args...)...)).To(
				ContainSubstring("PersistentVolumeClaim data already exists, and a restore never changes an existing one"))
		}
		Expect(get(source)).To(Equal(before))
		Expect(claims()).To(ConsistOf("data"))

		By("not even one that appears while it runs")
		proxied := beforeFirst(func() { Expect(createClaim("new").Spec.DataSource).To(BeNil()) })
		Expect(env.as(proxied).fails("restore", v.Name, "--to", "new")).To(
			Equal(`Error from server (AlreadyExists): persistentvolumeclaims "new" already exists` + "\n"))
		Expect(claimNamed("new").Spec.DataSource).To(BeNil())
	})

	It("says which snapshot of a PVC it chooses for a time", func() {
		source := createClaim("data")
		old, _ := createSnapshot(source, 3*time.Hour), createSnapshot(source, time.Hour)
		Expect(env.warns("restore", "--pvc", "data", "--as-of", ago(90*time.Minute).Format(time.RFC3339), "--to", "before")).To(
			Equal("Restoring " + old.Name + ", of " + old.CreationTimestamp.UTC().Format(time.RFC3339) + " (3h ago)\n"))
		Expect(claimNamed("before").Spec.DataSource.Name).To(Equal(old.Name))
	})

	It("restores a PVC that is gone under its old name, to the only class of the driver", func() {
		v := createSnapshot(createClaim("data"), time.Hour)
		createClass("other", "other.csi", storagev1.VolumeBindingImmediate)
		remove("data")
		Expect(env.warns("restore", "--pvc", "data", "--to", "{pvc}")).To(
			HaveSuffix("Warning: " + v.Name + ": its PVC is gone, so the access mode is ReadWriteOnce\n"))
		Expect(claimNamed("data").Spec).To(And(
			HaveField("StorageClassName", HaveValue(Equal(class))), HaveField("DataSource.Name", v.Name)))
	})

	DescribeTable("refuses and creates nothing",
		func(want string, args ...string) {
			v := createSnapshot(createClaim("data"), time.Hour)
			createClass("other", "other.csi", storagev1.VolumeBindingImmediate)
			named := strings.NewReplacer("SNAPSHOT", v.Name, "OTHER", env.namespace+"-other")
			for i := range args {
				args[i] = named.Replace(args[i])
			}
			Expect(env.fails(append([]string{"restore"}, args...)...)).To(ContainSubstring(want))
			Expect(claims()).To(ConsistOf("data"))
		},
		Entry("a size below that of the snapshot", "size 1Gi is less than its restoreSize 2Gi", "SNAPSHOT", "--size", "1Gi"),
		Entry("a class of another driver", "it belongs to driver mock.csi", "SNAPSHOT", "--storage-class", "OTHER"),
		Entry("a snapshot that does not exist", `volumesnapshots.snapshot.storage.k8s.io "missing" not found`, "missing"),
		Entry("a PVC without snapshots", "PersistentVolumeClaim missing has no snapshot", "--pvc", "missing"),
		Entry("a schedule that does not exist", `snapshotschedules.snapshots.mapcontroller.dev "missing" not found`, "--schedule", "missing"),
		Entry("nothing", "specify one of a snapshot, --pvc and --schedule"),
		Entry("two at once", "specify one of a snapshot, --pvc and --schedule", "SNAPSHOT", "--pvc", "data"),
		Entry("a time with a snapshot", "--as-of chooses a snapshot", "SNAPSHOT", "--as-of", "2026-01-31T12:00:00Z"),
		Entry("a time in the future", "--as-of 2136-01-31T12:00:00Z is in the future", "--pvc", "data", "--as-of", "2136-01-31T12:00:00Z"),
		Entry("a malformed time", `invalid --as-of "yesterday": write a time in RFC 3339`, "--pvc", "data", "--as-of", "yesterday"),
		Entry("a malformed size", `invalid --size "big"`, "SNAPSHOT", "--size", "big"),
		Entry("a malformed mode", `invalid --access-mode "RW"`, "SNAPSHOT", "--access-mode", "RW"),
		Entry("a malformed dry run", `invalid argument "yes" for "--dry-run" flag: use one of none, client, server`, "SNAPSHOT", "--dry-run=yes"),
		Entry("a wait for a dry run", "--wait has nothing to wait for", "SNAPSHOT", "--dry-run=server", "--wait"),
	)

	It("refuses a snapshot whose content is gone: its data is lost", func() {
		v := createSnapshot(createClaim("data"), time.Hour)
		v.Status.BoundVolumeSnapshotContentName = ptr.To("gone")
		put(time.Time{}, v)
		Expect(env.fails("restore", v.Name)).To(ContainSubstring("does not exist, so its data is lost"))
	})

	It("prints the manifest without creating it, with --dry-run=client", func() {
		v := createSnapshot(createClaim("data"), time.Hour)
		printed := env.succeeds("restore", v.Name, "--to", "new", "--dry-run=client", "-o", "yaml")
		Expect(claims()).To(ConsistOf("data"))
		c := &corev1.PersistentVolumeClaim{}
		Expect(yaml.UnmarshalStrict([]byte(printed), c)).To(Succeed())
		Expect(c.Kind).To(Equal("PersistentVolumeClaim"))
		Expect(api.Create(ctx, c)).To(Succeed(), "kubectl create -f - accepts it")
		Expect(claimNamed("new").Spec.DataSource.Name).To(Equal(v.Name))
		Expect(env.succeeds("restore", v.Name, "--dry-run=client")).To(Equal("persistentvolumeclaim/" + v.Name + " created (dry run)\n"))
		Expect(env.succeeds("restore", v.Name, "-o", "name")).To(Equal("persistentvolumeclaim/" + v.Name + "\n"))
	})

	It("lets the API server check it without creating it, with --dry-run=server", func() {
		v := createSnapshot(createClaim("data"), time.Hour)
		Expect(env.succeeds("restore", v.Name, "--dry-run=server")).To(Equal("persistentvolumeclaim/" + v.Name + " created (server dry run)\n"))
		Expect(claims()).To(ConsistOf("data"))
		Expect(env.fails("restore", v.Name, "--dry-run=server", "--access-mode", "RWO,RWOP")).To(
			And(HavePrefix("Error from server (Invalid): "), ContainSubstring("may not use ReadWriteOncePod with other access modes")))
	})

	Describe("of a set", func() {
		var first, second *snapshotv1.VolumeSnapshot
		BeforeEach(func() {
			first = createSnapshot(createClaim("data-0"), time.Hour)
			second = createSnapshot(createClaim("data-1"), 70*time.Minute)
		})

		It("creates a PVC for each, and prints the skew", func() {
			out := env.succeeds("restore", "--schedule", "nightly", "--to", "{pvc}-drill")
			Expect(out).To(MatchRegexp(`^PVC +TIME +BEFORE LATEST +SNAPSHOT\n` +
				`data-0 +` + first.CreationTimestamp.UTC().Format(time.RFC3339) + ` +0s +` + first.Name + `\n` +
				`data-1 +` + second.CreationTimestamp.UTC().Format(time.RFC3339) + ` +10m +` + second.Name + `\n` +
				`Skew: 10m between the earliest and the latest of 2 snapshots\n` +
				`persistentvolumeclaim/data-0-drill created\n` +
				`persistentvolumeclaim/data-1-drill created\n$`))
			Expect(claimNamed("data-0-drill").Spec.DataSource.Name).To(Equal(first.Name))
			Expect(claimNamed("data-1-drill").Spec.DataSource.Name).To(Equal(second.Name))
		})

		It("prints a list that kubectl accepts, with the table on standard error", func() {
			r := env.run("restore", "--schedule", "nightly", "--dry-run=client", "-o", "yaml")
			Expect(r.errOut).To(ContainSubstring("Skew: 10m between"))
			list := &corev1.PersistentVolumeClaimList{}
			Expect(yaml.UnmarshalStrict([]byte(r.out), list)).To(Succeed())
			Expect(list.Kind).To(Equal("List"))
			Expect(list.Items).To(HaveLen(2))
		})

		It("refuses an incomplete one, unless told", func() {
			Expect(api.Delete(ctx, second)).To(Succeed())
			r := env.run("restore", "--schedule", "nightly")
			Expect(r.code).To(Equal(2))
			Expect(r.errOut).To(Equal("error: the set is incomplete; --allow-incomplete restores the rest; data-1: it has no snapshot\n"))
			Expect(r.out).To(ContainSubstring("Missing: data-1: it has no snapshot\n"))
			Expect(claims()).To(ConsistOf("data-0", "data-1"))
			Expect(env.succeeds("restore", "--schedule", "nightly", "--allow-incomplete", "--to", "{pvc}-drill")).To(
				HaveSuffix("data-0-drill created\n"))
			Expect(claims()).To(ConsistOf("data-0", "data-1", "data-0-drill"))
		})

		DescribeTable("ends at a write that fails, and says what was created",
			func(write int, said string, created ...string) {
				writes := 0
				proxied := intercept(func(request) bool {
					writes++
					return writes != write
				})
				Expect(env.as(proxied).fails("restore", "--schedule", "nightly", "--to", "{pvc}-drill")).To(ContainSubstring(said))
				Expect(claims()).To(ConsistOf(append(created, "data-0", "data-1")))
			},
			Entry("when the API server checks the second, before it creates any", 2, "error: "),
			Entry("when it creates the second", 4, "\n  The set is incomplete. These PVCs were created: data-0-drill\n", "data-0-drill"),
		)

		It("uses one new name once only", func() {
			Expect(env.fails("restore", "--schedule", "nightly", "--to", "same")).To(ContainSubstring("another snapshot is restored to PersistentVolumeClaim same: put {pvc} or {snapshot} into --to"))
		})

		It("works for a schedule that is gone, from its snapshots", func() {
			Expect(api.Delete(ctx, schedule)).To(Succeed())
			Expect(env.warns("restore", "--schedule", "nightly", "--to", "{pvc}-drill")).To(
				Equal("Warning: SnapshotSchedule nightly does not exist: whether PVCs are missing in the set is unknown\n"))
		})
	})

	Describe("with --wait", func() {
		It("ends when every PVC is bound", func() {
			createSnapshot(createClaim("data-0"), time.Hour)
			createSnapshot(createClaim("data-1"), time.Hour)
			ended := env.startWatching("restore", "--schedule", "nightly", "--to", "{pvc}-drill", "--wait")
			bind("data-1-drill")
			Consistently(ended, "300ms").ShouldNot(Receive(), "one of two is bound")
			bind("data-0-drill")
			Expect(awaitSuccess(ended).out).To(HaveSuffix("persistentvolumeclaim/data-1-drill bound\npersistentvolumeclaim/data-0-drill bound\n"))
		})

		It("shows the events of a PVC that is not bound in time", func() {
			source := createClaim("data")
			v := createSnapshot(source, time.Hour)
			ended := env.start("restore", v.Name, "--to", "new", "--wait", "--timeout", "8s")
			Eventually(claims).Should(HaveLen(2))
			createEvent(claimNamed("new").UID, "ProvisioningFailed", "the backend is full")
			createEvent(source.UID, "Other", "of another PVC")
			r := await(ended)
			Expect(r.code).To(Equal(3))
			Expect(r.errOut).To(MatchRegexp("^(Waiting for 1 of 1 PVC: new\n)+" +
				"new: Normal ProvisioningFailed: the backend is full\n" +
				"error: timed out after 8s: not bound: new\n$"))
		})

		It("does not wait for a pod", func() {
			class = createClass("late", driver, storagev1.VolumeBindingWaitForFirstConsumer)
			v := createSnapshot(createClaim("data"), time.Hour)
			Expect(env.succeeds("restore", v.Name, "--wait", "--timeout", "10s")).To(
				HaveSuffix("/" + v.Name + " waits for the first pod that uses it\n"))
		})

		It("fails if the PVC is deleted, or its snapshot was", func() {
			v := createSnapshot(createClaim("data"), time.Hour)
			ended := env.startWatching("restore", v.Name, "--to", "new", "--wait")
			remove("new")
			Expect(await(ended).errOut).To(Equal("error: PersistentVolumeClaim new was deleted\n"))

			By("deleting several before the command watches")
			for i := range 4 {
				createSnapshot(createClaim(fmt.Sprint("data-", i)), time.Hour)
			}
			proxied := interceptBoth(always, func(request) bool {
				for _, name := range claims() {
					if strings.HasSuffix(name, "-drill") {
						remove(name)
					}
				}
				return true
			})
			Expect(env.as(proxied).run("restore", "--schedule", "nightly", "--to", "{pvc}-drill", "--wait", "--timeout", "20s").errOut).To(Equal("error: PersistentVolumeClaim data-0-drill was deleted\n" +
				"  PersistentVolumeClaim data-1-drill was deleted\n  PersistentVolumeClaim data-2-drill was deleted\n" +
				"  PersistentVolumeClaim data-3-drill was deleted\n  PersistentVolumeClaim data-drill was deleted\n"))

			By("deleting the snapshot")
			proxied = beforeFirst(func() { Expect(api.Delete(ctx, v)).To(Succeed()) })
			Expect(env.as(proxied).fails("restore", v.Name, "--to", "new", "--wait")).To(
				ContainSubstring("was deleted while PersistentVolumeClaim new was created from it"))
		})
	})

	It("works for a user who may read nothing outside of the namespace, and says what was not checked", func() {
		v := createSnapshot(createClaim("data"), time.Hour)
		user := env.may("restorer", []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"persistentvolumeclaims"}, Verbs: []string{"get", "list", "watch", "create"}},
			{APIGroups: []string{"snapshot.storage.k8s.io"}, Resources: []string{"volumesnapshots"}, Verbs: []string{"get", "list"}},
		}, "restore", v.Name, "--to", "known", "--dry-run=client")
		Expect(env.as(user).warns("restore", v.Name, "--to", "new")).To(
			Equal("Warning: " + v.Name + ": whether StorageClass " + class + " belongs to the snapshot's driver was not checked\n"))
	})
})

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"maps"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

var hourly = v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h"}

// get reads an object again.
func get[T client.Object](o T) T {
	GinkgoHelper()
	fresh := o.DeepCopyObject().(T)
	Expect(api.Get(ctx, client.ObjectKeyFromObject(o), fresh)).To(Succeed())
	return fresh
}

var _ = Describe("hold and unhold", func() {
	var (
		env *environment
		all []*snapshotv1.VolumeSnapshot
	)
	BeforeEach(func() {
		env = newEnvironment()
		all = env.createSnapshots(env.createSchedule("nightly", hourly), env.createClaim("data"), time.Hour, 2)
	})
	annotate := func(v *snapshotv1.VolumeSnapshot, annotations map[string]string) {
		GinkgoHelper()
		v = get(v)
		maps.Copy(v.Annotations, annotations)
		Expect(api.Update(ctx, v)).To(Succeed())
	}
	holdOf := func(v *snapshotv1.VolumeSnapshot) string { return get(v).Annotations[v1alpha1.AnnotationHold] }

	It("gives each snapshot a holder, with the reason, and takes it off", func() {
		Expect(env.succeeds("hold", all[0].Name, all[1].Name)).To(Equal("volumesnapshot.snapshot.storage.k8s.io/" + all[0].Name + " held\n" +
			"volumesnapshot.snapshot.storage.k8s.io/" + all[1].Name + " held\n"))
		Expect(holdOf(all[0])).To(Equal("forever: no reason given"))
		Expect(env.succeeds("hold", all[0].Name, "--reason", "before the upgrade")).To(HaveSuffix(` held, and by "no reason given"` + "\n"))
		Expect(env.succeeds("hold", all[0].Name)).To(ContainSubstring(" unchanged: held"))

		Expect(env.succeeds("unhold", "vs/"+all[1].Name)).To(HaveSuffix("no longer held\n"))
		Expect(get(all[1]).Annotations).NotTo(Or(HaveKey(v1alpha1.AnnotationHold), HaveKey(v1alpha1.AnnotationHolders)))
		Expect(env.succeeds("unhold", all[1].Name)).To(HaveSuffix(" unchanged\n"))
	})

	// Contract: CLI-3.
	It("neither shortens nor ends the hold of somebody else", func() {
		annotate(all[0], map[string]string{v1alpha1.AnnotationHold: "legal hold until the audit"})
		Expect(env.succeeds("hold", "--all", "--reason", "incident", "--until", "1w")).To(And(
			MatchRegexp(all[0].Name+` held until 2\S+, and by "legal hold until the audit"\n`), MatchRegexp(all[1].Name+` held until 2\S+\n`)))
		Expect(holdOf(all[0])).To(Equal("forever: legal hold until the audit"))
		end := suite.Must(time.Parse(time.RFC3339, holdOf(all[1])))
		Expect(end).To(BeTemporally("~", time.Now().Add(7*24*time.Hour), time.Minute))

		By("not shortening its own hold, unless told so")
		Expect(env.succeeds("hold", all[1].Name, "--reason", "incident", "--until", "1h")).To(ContainSubstring(" already (--overwrite shortens that)"))
		Expect(holdOf(all[1])).To(Equal(end.Format(time.RFC3339)))
		env.succeeds("hold", all[1].Name, "--reason", "incident", "--until", "1h", "--overwrite")
		Expect(suite.Must(time.Parse(time.RFC3339, holdOf(all[1])))).To(BeTemporally("~", time.Now().Add(time.Hour), time.Minute))

		Expect(env.succeeds("unhold", "--all", "--reason", "incident")).To(And(
			ContainSubstring(all[0].Name+` no longer held by "incident"; still held by "legal hold until the audit"`+"\n"),
			ContainSubstring(all[1].Name+` no longer held by "incident"`+"\n")))
		Expect(holdOf(all[0])).To(Equal("forever: legal hold until the audit"))
		Expect(get(all[1]).Annotations).NotTo(HaveKey(v1alpha1.AnnotationHold))
	})

	It("leaves the holds of rollbacks to them, and names them", func() {
		for _, v := range all {
			annotate(v, map[string]string{
				v1alpha1.AnnotationHold: "forever: rollback x1", v1alpha1.AnnotationHolders: `{"rollback x1":"","why not":""}`,
			})
		}
		Expect(env.succeeds("unhold", "--schedule", "nightly")).To(ContainSubstring(` no longer held; still held by "rollback x1"` + "\n"))
		Expect(env.fails("hold", all[0].Name, "--reason", "rollback x2")).To(ContainSubstring("would pass for a rollback's"))
		Expect(env.succeeds("unhold", "--pvc", "data", "--reason", "rollback x1")).To(ContainSubstring(all[1].Name + ` no longer held by "rollback x1"` + "\n"))
		Expect(get(all[0]).Annotations).NotTo(HaveKey(v1alpha1.AnnotationHold))
	})

	It("chooses snapshots by their PVC, by their schedule, or all", func() {
		other := env.createSnapshots(env.createSchedule("weekly", hourly), env.createClaim("logs"), time.Hour, 1)[0]
		Expect(env.succeeds("hold", "--pvc", "logs")).To(And(ContainSubstring(other.Name), Not(ContainSubstring(all[0].Name))))
		Expect(env.succeeds("hold", "--schedule", "nightly")).To(And(ContainSubstring(all[0].Name), Not(ContainSubstring(other.Name))))
		Expect(env.succeeds("unhold", "--all")).To(And(ContainSubstring(all[0].Name), ContainSubstring(other.Name)))
		for _, flags := range [][]string{{}, {"--all", "--pvc", "logs"}, {other.Name, "--all"}} {
			Expect(env.fails(append([]string{"hold"}, flags...)...)).To(ContainSubstring("specify SNAPSHOT, or one of --all, --pvc and --schedule"))
		}
		Expect(env.fails("unhold", "--pvc", "nosuch")).To(ContainSubstring("there is no snapshot of PersistentVolumeClaim nosuch"))
		Expect(env.fails("hold", "pod/x")).To(ContainSubstring("pod/x is neither a VolumeSnapshot nor a VolumeGroupSnapshot"))
	})

	It("refuses what is not cut, and passes over it where it was not named", func() {
		all[0].Status = nil
		put(time.Time{}, all[0])
		Expect(env.fails("hold", all[0].Name)).To(ContainSubstring("is not cut yet: it has no data"))
		r := env.run("hold", "--all")
		Expect(r.code).To(BeZero())
		Expect(r.errOut).To(ContainSubstring("is not cut yet"))
		Expect(holdOf(all[0])).To(BeEmpty())
		Expect(holdOf(all[1])).To(Equal("forever: no reason given"))
	})

	It("ends a hold at a time", func() {
		env.succeeds("hold", all[0].Name, "--until", "2199-01-31T18:00:00+01:00")
		Expect(holdOf(all[0])).To(Equal("2199-01-31T17:00:00Z"))
		for until, want := range map[string]string{
			"2021-01-31T18:00:00Z": "is not in the future", "tomorrow": "neither a time in RFC 3339 nor a duration", "2199-01-31": "neither a time",
		} {
			Expect(env.fails("hold", all[0].Name, "--until", until)).To(ContainSubstring(want))
		}
		Expect(holdOf(all[0])).To(Equal("2199-01-31T17:00:00Z"))
	})

	It("decides again after a conflict", func() {
		proxied := beforeFirst(func() { annotate(all[0], map[string]string{v1alpha1.AnnotationHold: "meanwhile"}) })
		env.as(proxied).succeeds("hold", all[0].Name, "--until", "1h")
		Expect(holdOf(all[0])).To(Equal("forever: meanwhile"))
	})

	It("does what it can, and reports the others", func() {
		Expect(env.fails("hold", "missing", all[1].Name)).To(
			Equal(`Error from server (NotFound): volumesnapshots.snapshot.storage.k8s.io "missing" not found` + "\n"))
		Expect(holdOf(all[1])).To(Equal("forever: no reason given"))
	})

	It("refuses a snapshot that is being deleted", func() {
		all[0].Finalizers = []string{"test/hold"}
		all[0].DeletionTimestamp, all[0].DeletionGracePeriodSeconds = ptr.To(metav1.Now()), ptr.To(int64(0))
		put(time.Time{}, all[0])
		Expect(env.fails("hold", all[0].Name)).To(ContainSubstring("is being deleted"))
		Expect(holdOf(all[0])).To(BeEmpty())

		By("also one whose deletion begins meanwhile")
		all[1].Finalizers = []string{"test/hold"}
		put(time.Time{}, all[1])
		proxied := beforeFirst(func() { Expect(api.Delete(ctx, all[1])).To(Succeed()) })
		Expect(env.as(proxied).fails("hold", all[1].Name)).To(ContainSubstring("is being deleted"))
	})

	It("warns of a snapshot that has no schedule", func() {
		all[1].Labels = nil
		put(time.Time{}, all[1])
		Expect(env.warns("hold", all[1].Name)).To(ContainSubstring("is not a schedule's"))
	})
})

var _ = Describe("release", func() {
	var (
		env      *environment
		schedule *v1alpha1.SnapshotSchedule
		v        *snapshotv1.VolumeSnapshot
	)
	backup := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "backup", UID: "backup"}
	BeforeEach(func() {
		env = newEnvironment()
		schedule = env.createSchedule("nightly", hourly)
		v = env.createSnapshots(schedule, env.createClaim("data"), time.Hour, 1)[0]
	})

	It("removes the map key and the schedule's reference, and nothing else, with one patch", func() {
		v.OwnerReferences = append(v.OwnerReferences, backup)
		put(time.Time{}, v)
		var writes []string
		proxied := intercept(func(r request) bool {
			writes = append(writes, r.method+" "+r.name+" "+r.body)
			return true
		})
		before := get(v)
		r := env.as(proxied).run("release", v.Name)
		Expect(r).To(Equal(result{0, "volumesnapshot.snapshot.storage.k8s.io/" + v.Name + " released\n", ""}))
		after := get(v)
		Expect(after.OwnerReferences).To(Equal([]metav1.OwnerReference{backup}))
		Expect(after.Labels).To(Equal(map[string]string{v1alpha1.LabelSchedule: "nightly", v1alpha1.LabelClaim: "data"}))
		Expect(after.Annotations).To(Equal(before.Annotations), "the slot stays covered")
		Expect(writes).To(ConsistOf(And(HavePrefix("PATCH "+v.Name), ContainSubstring(`"resourceVersion":"`+before.ResourceVersion+`"`))))

		Expect(env.succeeds("release", v.Name)).To(HaveSuffix(" unchanged\n"))
	})

	It("decides again after a conflict", func() {
		proxied := beforeFirst(func() {
			changed := get(v)
			changed.OwnerReferences = append(changed.OwnerReferences, backup)
			changed.Annotations["added"] = "meanwhile"
			Expect(api.Update(ctx, changed)).To(Succeed())
		})
		env.as(proxied).succeeds("release", v.Name)
		after := get(v)
		Expect(after.OwnerReferences).To(Equal([]metav1.OwnerReference{backup}), "the reference that was added is not lost")
		Expect(after.Annotations).To(HaveKeyWithValue("added", "meanwhile"))
		Expect(after.Labels).NotTo(HaveKey(v1alpha1.LabelMapKey))
	})

	It("does nothing after a conflict if somebody else has released it", func() {
		proxied := beforeFirst(func() {
			changed := get(v)
			changed.OwnerReferences, changed.Labels = nil, nil
			Expect(api.Update(ctx, changed)).To(Succeed())
		})
		Expect(env.as(proxied).succeeds("release", v.Name)).To(HaveSuffix(" unchanged\n"))
	})

	It("releases an orphan, which has the label only", func() {
		v.OwnerReferences = nil
		put(time.Time{}, v)
		Expect(env.succeeds("release", v.Name)).To(HaveSuffix(" released\n"))
		Expect(get(v).Labels).NotTo(HaveKey(v1alpha1.LabelMapKey))
	})

	It("does not touch a snapshot that something else controls", func() {
		backup := backup
		backup.Controller = ptr.To(true)
		v.OwnerReferences = []metav1.OwnerReference{backup}
		put(time.Time{}, v)
		before := get(v)
		Expect(env.fails("release", v.Name)).To(ContainSubstring("is controlled by ConfigMap backup, not by a SnapshotSchedule"))
		Expect(get(v)).To(Equal(before))
	})
})

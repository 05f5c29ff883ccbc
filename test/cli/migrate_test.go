// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

const (
	peerLabel = "snapscheduler.backube/schedule"
	whenLabel = "snapscheduler.backube/when"
)

var peerKind = schema.GroupVersionKind{Group: "snapscheduler.backube", Version: "v1", Kind: "SnapshotSchedule"}

// runScript runs what the plugin has printed, with kubectl.
func runScript(text string, variables ...string) {
	GinkgoHelper()
	script := exec.Command("sh", "-e")
	script.Stdin = strings.NewReader(text)
	script.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "PATH="+os.Getenv("KUBEBUILDER_ASSETS")+":"+os.Getenv("PATH"))
	script.Env = append(script.Env, variables...)
	out, err := script.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
}

var _ = Describe("migrate snapscheduler", Ordered, ContinueOnFailure, func() {
	It("says that snapscheduler is not installed", func() {
		Expect(newEnvironment().fails("migrate", "snapscheduler")).To(
			Equal("error: snapscheduler is not installed: the server doesn't have the kind SnapshotSchedule.snapscheduler.backube\n"))
	})

	Describe("with snapscheduler installed", Ordered, func() {
		var (
			env  *environment
			peer *unstructured.Unstructured
			data *corev1.PersistentVolumeClaim
			kept []*snapshotv1.VolumeSnapshot // which can't be handed over
		)
		// slot is that of the oldest snapshot, an hour before the next one.
		slot := ago(5 * time.Hour).Truncate(time.Hour)

		BeforeAll(func() {
			options := envtest.CRDInstallOptions{Paths: []string{filepath.Join("testdata", "snapscheduler.yaml")}, ErrorIfPathMissing: true}
			_, err := envtest.InstallCRDs(server.Config, options)
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(func() {
				Expect(envtest.UninstallCRDs(server.Config, options)).To(Succeed())
				served := suite.Must(discovery.NewDiscoveryClientForConfig(server.Config))
				Eventually(func() []*metav1.APIResourceList { // else doctor sees it in other specs, in the same list
					_, all, _ := served.ServerGroupsAndResources()
					return all
				}).ShouldNot(ContainElement(HaveField("GroupVersion", peerKind.GroupVersion().String())))
			})
		})

		createPeer := func(name, spec string) *unstructured.Unstructured {
			GinkgoHelper()
			o := &unstructured.Unstructured{}
			Expect(yaml.Unmarshal([]byte("spec: "+spec), &o.Object)).To(Succeed())
			o.SetGroupVersionKind(peerKind)
			o.SetNamespace(env.namespace)
			o.SetName(name)
			Expect(api.Create(ctx, o)).To(Succeed())
			return o
		}
		// taken is a ready snapshot as snapscheduler takes it, with owner references enabled.
		taken := func(peer *unstructured.Unstructured, claim string, slot time.Time) *snapshotv1.VolumeSnapshot {
			v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{
				Namespace: env.namespace, Name: claim + "-" + peer.GetName() + "-" + slot.Format("200601021504"),
				Labels: map[string]string{peerLabel: peer.GetName(), whenLabel: slot.Format("200601021504"), "team": "shop"},
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: "snapscheduler.backube/v1", Kind: "SnapshotSchedule", Name: peer.GetName(), UID: peer.GetUID(),
				}},
			}}
			v.Spec.Source.PersistentVolumeClaimName = &claim
			v.Status = &snapshotv1.VolumeSnapshotStatus{ReadyToUse: ptr.To(true), CreationTime: ptr.To(metav1.NewTime(slot))}
			return builders.Existing(v, uuid.NewUUID(), slot.Add(2*time.Second))
		}
		ours := func() *v1alpha1.SnapshotSchedule {
			s := &v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: "hourly"}}
			Expect(client.IgnoreNotFound(api.Get(ctx, client.ObjectKeyFromObject(s), s))).To(Succeed())
			return s
		}
		all := func() []snapshotv1.VolumeSnapshot {
			GinkgoHelper()
			list := &snapshotv1.VolumeSnapshotList{}
			Expect(api.List(ctx, list, client.InNamespace(env.namespace))).To(Succeed())
			return list.Items
		}
		// versions differ after every write.
		versions := func() (found []string) {
			for _, v := range all() {
				found = append(found, v.ResourceVersion)
			}
			return append(found, get(peer).GetResourceVersion(), ours().ResourceVersion)
		}

		// populate creates a schedule of snapscheduler with three snapshots that can be handed over, and some that can't.
		populate := func() {
			GinkgoHelper()
			env = newEnvironment()
			data = env.createClaim("data", "app", "db")
			peer = createPeer("hourly", `{claimSelector: {matchLabels: {app: db}}, schedule: "0 * * * *", retention: {expires: 168h, maxCount: 10}}`)
			controlled := taken(peer, "data", slot.Add(3*time.Hour))
			controlled.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "ConfigMap", Name: "backup", UID: "backup", Controller: ptr.To(true),
			}}
			gone := taken(peer, "gone", slot)
			put(time.Time{}, taken(peer, "data", slot), taken(peer, "data", slot.Add(time.Hour)), taken(peer, "data", slot.Add(2*time.Hour)),
				controlled, gone)
			kept = []*snapshotv1.VolumeSnapshot{get(controlled), get(gone)}
		}
		BeforeEach(populate)

		name := func(claim string, hours int) string {
			return claim + "-hourly-" + slot.Add(time.Duration(hours)*time.Hour).Format("200601021504")
		}
		expectMigrated := func() {
			GinkgoHelper()
			Expect(get(peer).Object["spec"]).To(HaveKeyWithValue("disabled", true))
			for i := range 3 {
				at := slot.Add(time.Duration(i) * time.Hour)
				v := get(taken(peer, "data", at))
				Expect(v.Labels).To(Equal(map[string]string{
					v1alpha1.LabelMapKey: string(data.UID), v1alpha1.LabelSchedule: "hourly", whenLabel: at.Format("200601021504"), "team": "shop",
				}))
				Expect(v.Annotations).To(Equal(map[string]string{peerLabel: "hourly", v1alpha1.AnnotationScheduledAt: at.Format(time.RFC3339)}))
				Expect(v.OwnerReferences).To(BeEmpty())
			}
			for _, v := range kept {
				Expect(get(v)).To(Equal(v))
			}
			Expect(ours().Spec).To(Equal(v1alpha1.SnapshotScheduleSpec{
				Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}},
				Schedule: "0 * * * *", SnapshotTTL: "168h", DeletionPolicy: v1alpha1.DeletionOrphan, ReadyDeadline: "1h",
				Retention: v1alpha1.Retention{MaxCount: ptr.To[int32](10), MinReady: ptr.To[int32](1)},
			}))
		}

		It("prints a script and changes nothing, with --dry-run", func() {
			before := versions()
			out := env.succeeds("migrate", "snapscheduler", "--dry-run")
			Expect(versions()).To(Equal(before))
			Expect(out).To(ContainSubstring("#   VolumeSnapshot " + name("gone", 0) + " stays with snapscheduler: its PVC gone is gone"))
			Expect(out).To(ContainSubstring("#   VolumeSnapshot " + name("data", 3) + " stays with snapscheduler: ConfigMap backup controls it"))
			Expect(out).To(ContainSubstring("#   timeZone: the cron line is in UTC;"))
			Expect(out).NotTo(ContainSubstring("status"))

			By("a script that does what the command does")
			runScript(out)
			expectMigrated()
			Expect(env.succeeds("migrate", "snapscheduler", "--dry-run")).To(HaveSuffix("# Nothing to do.\n\n"))
		})

		It("migrates with --yes: snapscheduler first, ours last, each snapshot with one patch", func() {
			var writes []string
			proxied := intercept(func(r request) bool {
				if !r.dryRun && r.resource != "selfsubjectaccessreviews" {
					writes = append(writes, r.method+" "+r.name)
				}
				if strings.Contains(r.name, "-hourly-") {
					Expect(r.body).To(ContainSubstring(`"resourceVersion":"`))
				}
				return true
			})
			r := env.as(proxied).run("migrate", "snapscheduler", "--yes")
			Expect(r.code).To(BeZero(), r.errOut)
			expectMigrated()
			Expect(writes).To(Equal([]string{"PATCH hourly", "PATCH " + name("data", 0), "PATCH " + name("data", 1), "PATCH " + name("data", 2), "POST "}))
			Expect(r.out).To(Equal("snapshotschedule.snapscheduler.backube/hourly disabled\n" +
				"volumesnapshot.snapshot.storage.k8s.io/" + name("data", 0) + " handed over\n" +
				"volumesnapshot.snapshot.storage.k8s.io/" + name("data", 1) + " handed over\n" +
				"volumesnapshot.snapshot.storage.k8s.io/" + name("data", 2) + " handed over\n" +
				"snapshotschedule.snapshots.mapcontroller.dev/hourly created\n"))
			Expect(strings.Count(r.errOut, "stays with snapscheduler")).To(Equal(2), "each is named once")
		})

		It("can be run twice, and changes nothing the second time", func() {
			env.succeeds("migrate", "snapscheduler", "--yes")
			before := versions()
			Expect(env.succeeds("migrate", "snapscheduler", "--yes")).To(Equal("snapshotschedule.snapshots.mapcontroller.dev/hourly unchanged\n"))
			Expect(versions()).To(Equal(before))

			By("not even after the user has changed ours")
			s := ours()
			s.Spec.SnapshotTTL = "30d"
			Expect(api.Update(ctx, s)).To(Succeed())
			// One that has something to hand over is tested below.
			for _, v := range all() {
				if v.Labels[peerLabel] != "" {
					Expect(api.Delete(ctx, &v)).To(Succeed())
				}
			}
			Expect(env.succeeds("migrate", "snapscheduler", "--yes")).To(Equal("snapshotschedule.snapshots.mapcontroller.dev/hourly unchanged\n"))
			Expect(ours().Spec.SnapshotTTL).To(BeEquivalentTo("30d"))
		})

		It("completes a migration that was interrupted at any write, before or after it", func() {
			for broken := range 5 {
				for _, committed := range []bool{false, true} {
					populate()
					n := 0
					passes := func(r request) bool {
						if r.dryRun || r.resource == "selfsubjectaccessreviews" {
							return true
						}
						n++
						return n <= broken
					}
					proxied := interceptBoth(passes, always)
					if committed {
						proxied = interceptBoth(always, passes)
					}
					Expect(env.as(proxied).fails("migrate", "snapscheduler", "--yes")).To(
						HaveSuffix("error: not every schedule was migrated\n"), "write %d should fail", broken)
					if !committed || broken < 4 {
						Expect(ours().UID).To(BeEmpty(), "ours comes last")
					}
					env.succeeds("migrate", "snapscheduler", "--yes")
					expectMigrated()
				}
			}
		})

		It("decides again after a conflict", func() {
			changed := map[string]bool{}
			proxied := intercept(func(r request) bool {
				if r.dryRun || r.method != "PATCH" || changed[r.name] {
					return true
				}
				changed[r.name] = true
				switch r.name {
				case name("data", 0): // becomes controlled by somebody
					v := get(taken(peer, "data", slot))
					v.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "backup", UID: "b", Controller: ptr.To(true)}}
					Expect(api.Update(ctx, v)).To(Succeed())
				case name("data", 1): // is changed
					v := get(taken(peer, "data", slot.Add(time.Hour)))
					v.Labels["added"] = "meanwhile"
					Expect(api.Update(ctx, v)).To(Succeed())
				case name("data", 2): // expires
					Expect(api.Delete(ctx, taken(peer, "data", slot.Add(2*time.Hour)))).To(Succeed())
				case "hourly":
					p := get(peer)
					p.SetLabels(map[string]string{"added": "meanwhile"})
					Expect(api.Update(ctx, p)).To(Succeed())
				}
				return true
			})
			env.as(proxied).succeeds("migrate", "snapscheduler", "--yes")
			found := all()
			Expect(found).To(HaveLen(4))
			Expect(found[0].Labels).To(And(HaveKey(peerLabel), Not(HaveKey(v1alpha1.LabelMapKey))))
			Expect(found[0].OwnerReferences).To(HaveLen(1), "never touches what something else controls")
			Expect(found[1].Labels).To(And(Not(HaveKey(peerLabel)), HaveKey(v1alpha1.LabelMapKey), HaveKeyWithValue("added", "meanwhile")))
			Expect(get(peer).GetLabels()).To(HaveKeyWithValue("added", "meanwhile"))
			Expect(ours().UID).NotTo(BeEmpty())
		})

		It("hands over a snapshot that snapscheduler still took meanwhile", func() {
			first := true
			proxied := intercept(func(r request) bool {
				if first && r.name == name("data", 2) {
					first = false
					put(time.Time{}, taken(peer, "data", slot.Add(4*time.Hour)))
				}
				return true
			})
			env.as(proxied).succeeds("migrate", "snapscheduler", "--yes")
			Expect(get(taken(peer, "data", slot.Add(4*time.Hour))).Labels).To(HaveKey(v1alpha1.LabelMapKey))
		})

		It("ends if something gives a snapshot back to snapscheduler", func() {
			proxied := interceptBoth(always, func(r request) bool {
				if r.name == name("data", 1) {
					v := get(taken(peer, "data", slot.Add(time.Hour)))
					v.Labels[peerLabel] = "hourly"
					Expect(api.Update(ctx, v)).To(Succeed())
				}
				return true
			})
			Expect(env.as(proxied).fails("migrate", "snapscheduler", "--yes")).To(
				ContainSubstring(name("data", 1) + " was handed over, but something has set its label " + peerLabel + " again"))
			Expect(ours().UID).To(BeEmpty())
		})

		It("touches nothing if a SnapshotSchedule of the name would apply other rules", func() {
			env.createSchedule("hourly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h", SnapshotTTL: "1s"})
			before := versions()
			Expect(env.fails("migrate", "snapscheduler", "--yes")).To(ContainSubstring("a SnapshotSchedule hourly exists with another spec"))
			Expect(versions()).To(Equal(before))
		})

		It("keeps a disabled schedule suspended, and uses the time zone", func() {
			p := get(peer)
			Expect(unstructured.SetNestedField(p.Object, true, "spec", "disabled")).To(Succeed())
			Expect(api.Update(ctx, p)).To(Succeed())
			for range 2 {
				Expect(env.warns("migrate", "snapscheduler", "--yes", "--time-zone", "Europe/Oslo")).NotTo(ContainSubstring("timeZone"))
				Expect(ours().Spec).To(And(HaveField("Suspend", true), HaveField("TimeZone", "Europe/Oslo")))
			}
		})

		It("migrates what it can, and fails for the others", func() {
			other := createPeer("never", `{schedule: "0 0 30 2 *"}`)
			rejected := createPeer("rejected", `{schedule: "@daily", snapshotTemplate: {labels: {"not a label": x}}}`)
			Expect(env.fails("migrate", "snapscheduler", "--yes")).To(And(
				ContainSubstring("SnapshotSchedule "+env.namespace+"/never of snapscheduler: error: it has no equivalent: spec.schedule: "),
				ContainSubstring("SnapshotSchedule "+env.namespace+"/rejected of snapscheduler: Error from server (Invalid): "),
				HaveSuffix("error: not every schedule was migrated\n")))
			expectMigrated()
			for _, p := range []*unstructured.Unstructured{other, rejected} {
				Expect(get(p)).To(Equal(p), "not disabled")
			}
		})

		It("migrates the schedules that a label selects, in all namespaces with -A", func() {
			p := get(peer)
			p.SetLabels(map[string]string{"migrate": env.namespace})
			Expect(api.Update(ctx, p)).To(Succeed())
			other := createPeer("other", `{schedule: "@daily"}`)
			newEnvironment().succeeds("migrate", "snapscheduler", "-A", "-l", "migrate="+env.namespace, "--yes")
			expectMigrated()
			Expect(get(other)).To(Equal(other))
		})

		// Contract: CLI-51.
		It("says what it will do, and does nothing where nobody can be asked", func() {
			before := versions()
			r := env.run("migrate", "snapscheduler")
			Expect(r.code).To(Equal(2))
			Expect(r.out).To(MatchRegexp(`^SnapshotSchedule ` + env.namespace + `/hourly of snapscheduler: disable it, create SnapshotSchedule hourly, hand over [0-9]+ snapshots\n$`))
			Expect(r.errOut).To(MatchRegexp(`(?s)stays with snapscheduler.*cannot ask without a terminal: specify --yes`))
			Expect(versions()).To(Equal(before))
		})

		It("warns of snapshots whose schedule snapscheduler does not have", func() {
			Expect(api.Delete(ctx, peer)).To(Succeed())
			Expect(env.warns("migrate", "snapscheduler")).To(
				Equal("Warning: 5 snapshots of schedule " + env.namespace + "/hourly, which snapscheduler does not have, are left as they are\n" +
					"No schedules of snapscheduler found.\n"))
		})

		It("prints for a user who may only read", func() {
			user := env.may("reader", []rbacv1.PolicyRule{{
				APIGroups: []string{"", "snapshot.storage.k8s.io", "snapscheduler.backube", v1alpha1.GroupName},
				Resources: []string{"persistentvolumeclaims", "volumesnapshots", "snapshotschedules"}, Verbs: []string{"get", "list"},
			}}, "migrate", "snapscheduler", "--dry-run")
			Expect(env.as(user).succeeds("migrate", "snapscheduler", "--dry-run")).To(Equal(env.succeeds("migrate", "snapscheduler", "--dry-run")))

			before := versions()
			Expect(env.as(user).fails("migrate", "snapscheduler", "--yes")).To(
				ContainSubstring(`" cannot create resource "snapshotschedules" in API group "snapshots.mapcontroller.dev"`))
			Expect(versions()).To(Equal(before))
		})

		It("quotes what a shell would run", func() {
			v := taken(peer, "data", slot.Add(4*time.Hour))
			v.OwnerReferences = append(v.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: `a'; touch "$MARK"; '`, UID: "x"})
			put(time.Time{}, v)
			mark := filepath.Join(GinkgoT().TempDir(), "mark")
			runScript(env.succeeds("migrate", "snapscheduler", "--dry-run"), "MARK="+mark)
			Expect(mark).NotTo(BeAnExistingFile())
			Expect(slices.IndexFunc(get(v).OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == "x" })).To(BeZero(), "the reference stays")
		})
	})
})

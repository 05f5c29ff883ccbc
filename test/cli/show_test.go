// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

const day = 24 * time.Hour

var _ = Describe("status", func() {
	It("says where it found no schedule, but not to a program", func() {
		env := newEnvironment()
		nothing := env.run("status")
		Expect(nothing.code).To(BeZero())
		Expect(nothing.out).To(BeEmpty())
		Expect(nothing.errOut).To(Equal("No resources found in " + env.namespace + " namespace.\n"))
		Expect(env.run("status", "-A", "-l", "app=of-nobody").errOut).To(Equal("No resources found\n"))
		Expect(env.run("status", "-o", "name").errOut).To(BeEmpty())
		structured := env.run("status", "-o", "json")
		Expect(structured.out).To(ContainSubstring(`"items": []`))
		Expect(structured.errOut).To(BeEmpty())
	})

	It("counts every snapshot of a namespace with several pages of them", func() {
		env := newEnvironment()
		s := env.createSchedule("hourly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h"})
		for _, name := range []string{"a", "b", "c"} {
			env.createSnapshots(s, env.createClaim(name), time.Hour, 800)
		}
		var found struct {
			Items []struct {
				PersistentVolumeClaims []struct {
					Name      string
					Snapshots int
				}
			}
		}
		Expect(json.Unmarshal([]byte(env.succeeds("status", "-o", "json")), &found)).To(Succeed())
		Expect(found.Items).To(HaveLen(1))
		Expect(found.Items[0].PersistentVolumeClaims).To(HaveLen(3))
		for _, c := range found.Items[0].PersistentVolumeClaims {
			Expect(c.Snapshots).To(Equal(800), c.Name)
		}
	})
})

var _ = Describe("coverage", func() {
	It("of several contexts names the cluster of each PVC, and the clusters that cannot be read", func() {
		env := newEnvironment()
		env.createClaim("data")
		config := suite.Must(clientcmd.LoadFromFile(kubeconfig))
		here := config.Contexts[config.CurrentContext]
		down := config.Clusters[here.Cluster].DeepCopy()
		down.Server = "https://127.0.0.1:1"
		config.Clusters["down"] = down
		dead := here.DeepCopy()
		dead.Cluster = "down"
		here = here.DeepCopy()
		here.Namespace = env.namespace
		elsewhere := here.DeepCopy()
		elsewhere.Namespace = "typo"
		config.Contexts = map[string]*clientcmdapi.Context{"eu/a": here, "eu/\x1b[2J": dead, "us/b": here, "us/c": elsewhere}
		path := filepath.Join(GinkgoT().TempDir(), "config")
		Expect(clientcmd.WriteToFile(*config, path)).To(Succeed())
		all := &environment{env.namespace, path}

		r := all.run("coverage", "--contexts", "eu*")
		Expect(r.code).To(Equal(2))
		Expect(r.out).To(And(MatchRegexp(`eu/a +`+env.namespace+` +data +Unprotected`), MatchRegexp(`eu/\\u001b\[2J .*Unreachable .*refused`)))
		Expect(r.out).NotTo(Or(ContainSubstring("us/b"), ContainSubstring("\x1b[2J")))
		Expect(r.errOut).To(ContainSubstring(`1 cluster could not be read: eu/\u001b[2J`))
		r = all.run("coverage", "--contexts", "?s/b", "--fail-on-gaps", "-o", "json")
		Expect(r.code).To(Equal(1))
		Expect(r.out).To(ContainSubstring(`"cluster": "us/b"`))
		ofContext := &environment{kubeconfig: path}
		Expect(ofContext.succeeds("coverage", "--contexts", "us/*")).To(ContainSubstring("us/b"), "one of two clusters lacks the namespace")
		Expect(ofContext.fails("coverage", "--contexts", "us/c")).To(ContainSubstring(`namespaces "typo" not found`))
		Expect(all.fails("coverage", "--contexts", "asia-*")).To(ContainSubstring(`no context of the kubeconfig matches "asia-*": it has eu/`))
		Expect(all.fails("coverage", "--contexts", "*", "--context", "us/b")).To(ContainSubstring("omit --context"))
	})

	It("names the reason of each PVC in all namespaces, and ends with exit code 1 on request while there is a gap", func() {
		env, other := newEnvironment(), newEnvironment()
		env.createSchedule("paused", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", Suspend: true})
		env.createClaim("idle")
		late := other.createSchedule("late", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"})
		c, fresh := other.createClaim("stale"), other.createClaim("fresh", "app", "db")
		other.createSnapshots(late, fresh, 6*time.Hour, 2)
		pending := other.createClaim("pending")
		pending.Status.Phase = corev1.ClaimPending
		left, member := snapshotAt(late, c, ago(day)), snapshotAt(late, c, ago(day))
		for name, v := range map[string]*snapshotv1.VolumeSnapshot{"left": left, "member": member} {
			v.Name, v.Labels[v1alpha1.LabelSchedule], v.OwnerReferences = name, "removed", nil
		}
		member.OwnerReferences = []metav1.OwnerReference{ofGroup}
		put(time.Time{}, snapshotAt(late, c, ago(3*day)), pending, left, member)
		text := env.succeeds("coverage", "-A")
		Expect(text).To(MatchRegexp(env.namespace + ` +idle +Unprotected +paused .* it is suspended`))
		Expect(text).To(MatchRegexp(other.namespace + ` +stale +Stale +late +3d`))
		Expect(text).To(MatchRegexp(other.namespace + ` +pending +Skipped +late .* not Bound`))
		Expect(text).To(ContainSubstring("1 snapshot of schedule " + other.namespace + "/removed, which does not exist"))
		mistyped := environment{namespace: "shpo", kubeconfig: env.kubeconfig}
		Expect(mistyped.run("coverage", "--fail-on-gaps")).To(Equal(result{2, "", "Error from server (NotFound): namespaces \"shpo\" not found\n"}))
		empty := newEnvironment()
		Expect(empty.run("coverage", "--fail-on-gaps")).To(Equal(result{0, "", "No resources found in " + empty.namespace + " namespace.\n"}))
		gaps := env.run("coverage", "--fail-on-gaps")
		Expect(gaps.code).To(Equal(1))
		Expect(gaps.errOut).To(BeEmpty())
		Expect(other.succeeds("coverage", "--fail-on-gaps", "-l", "app=db")).To(ContainSubstring("No gaps in 1 PVC."))
	})
})

var _ = Describe("timeline", func() {
	It("fits the width and has no escape sequences when it is piped", func() {
		env := newEnvironment()
		spec := v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h", Retention: v1alpha1.Retention{Keep: v1alpha1.Keep{Hourly: 24, Daily: 30}}}
		s := env.createSchedule("tiers", spec)
		env.createSnapshots(s, env.createClaim("a-claim-with-a-name-that-does-not-fit-a-narrow-terminal"), time.Hour, 300)
		GinkgoT().Setenv("COLUMNS", "80")
		text := env.succeeds("timeline", "tiers")
		for line := range strings.Lines(text) {
			Expect(utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))).To(BeNumerically("<=", 80), line)
		}
		Expect(text).NotTo(ContainSubstring("\x1b"))
		Expect(text).To(MatchRegexp(`a-claim.*….*terminal .*d.*hhh.* 300\n`))
		one := env.run("timeline", "tiers", "--pvc", "unknown")
		Expect(one.code).To(Equal(2))
		Expect(one.errOut).To(Equal("error: schedule tiers neither selects PVC unknown nor has snapshots of it\n"))
	})
})

var _ = DescribeTable("why says why no schedule decides about a snapshot",
	func(want string, change func(*snapshotv1.VolumeSnapshot)) {
		env := newEnvironment()
		v := snapshotAt(env.createSchedule("nightly", hourly), env.createClaim("db-0"), ago(day))
		change(v)
		put(time.Time{}, v)
		Expect(env.succeeds("why", v.Name)).To(ContainSubstring("No schedule decides about it: " + want))
	},
	Entry("released", "it lacks the label snapshots.mapcontroller.dev/map-key", func(v *snapshotv1.VolumeSnapshot) { delete(v.Labels, v1alpha1.LabelMapKey) }),
	Entry("another's", "it is controlled by something else", func(v *snapshotv1.VolumeSnapshot) { v.OwnerReferences[0].UID = "another" }),
	Entry("of a group", "it is a member of a VolumeGroupSnapshot", func(v *snapshotv1.VolumeSnapshot) {
		v.OwnerReferences = append(v.OwnerReferences, ofGroup)
	}),
)

var _ = DescribeTable("errors name what is wrong",
	func(want string, args ...string) {
		Expect(newEnvironment().run(args...)).To(Equal(result{2, "", want}))
	},
	Entry("an object", "Error from server (NotFound): volumesnapshots.snapshot.storage.k8s.io \"nothing\" not found\n", "why", "nothing"),
	Entry("no argument", "error: specify SNAPSHOT: kubectl snapsched why SNAPSHOT [flags]\n", "why"),
	Entry("two arguments", "error: specify only one NAME, not 2: kubectl snapsched timeline [NAME] [flags]\n", "timeline", "a", "b"),
	Entry("a flag", "error: unknown flag: --fail-on-gasp\n  See 'kubectl snapsched coverage --help' for usage\n", "coverage", "--fail-on-gasp"),
	Entry("a format", "error: unknown output format \"xml\": use one of json, yaml, name, wide, jsonpath=…, custom-columns=…, go-template=…\n", "status", "-o", "xml"),
)

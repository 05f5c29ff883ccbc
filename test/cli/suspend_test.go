// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

var _ = Describe("suspend and resume", func() {
	const resource = "snapshotschedule.snapshots.mapcontroller.dev/"
	var env *environment
	BeforeEach(func() { env = newEnvironment() })
	suspended := func(s *v1alpha1.SnapshotSchedule) bool { return get(s).Spec.Suspend }

	// Contract: CLI-50.
	It("stops a schedule and starts it again, each once, and changes nothing else", func() {
		s := env.createSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h", SnapshotTTL: "3h"})
		before := get(s).Spec
		Expect(env.succeeds("suspend", "nightly", "--dry-run")).To(Equal(resource + "nightly suspended (dry run)\n"))
		Expect(env.succeeds("suspend", "nightly", "--dry-run=server")).To(Equal(resource + "nightly suspended (server dry run)\n"))
		Expect(suspended(s)).To(BeFalse())
		Expect(env.succeeds("suspend", "snapsched/nightly")).To(Equal(resource + "nightly suspended\n"))
		Expect(env.succeeds("suspend", "nightly")).To(Equal(resource + "nightly unchanged: it is suspended already\n"))
		Expect(suspended(s)).To(BeTrue())

		var printed v1alpha1.SnapshotSchedule
		Expect(yaml.Unmarshal([]byte(env.succeeds("resume", "nightly", "--dry-run=client", "-o", "yaml")), &printed)).To(Succeed())
		Expect(printed.Spec).To(Equal(before))
		Expect(printed.Kind).To(Equal("SnapshotSchedule"))
		Expect(env.succeeds("resume", "nightly", "-o", "name")).To(Equal(resource + "nightly\n"))
		Expect(env.succeeds("resume", "nightly")).To(Equal(resource + "nightly unchanged: it is not suspended already\n"))
		Expect(get(s).Spec).To(Equal(before))
	})

	// Contract: CLI-50.
	It("says which slots are due at once, and has said nothing of a spec that is edited meanwhile", func() {
		s := env.createSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h", SnapshotTTL: "3h", Suspend: true})
		env.createClaim("data")
		env.createSnapshots(s, env.createClaim("logs"), time.Hour, 2)
		r := env.run("resume", "nightly", "--dry-run")
		Expect(r.errOut).To(MatchRegexp(`^1 snapshot is due at once \(the latest slot is \S+Z\): data\n$`))

		proxied := beforeFirst(func() {
			Expect(api.Patch(ctx, s, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"snapshotTTL":"4h"}}`)))).To(Succeed())
		})
		Expect(env.as(proxied).fails("resume", "nightly")).To(ContainSubstring("nightly was edited meanwhile: nothing was done"))
		Expect(suspended(s)).To(BeTrue())
		Expect(env.run("resume", "nightly").code).To(BeZero())
		Expect(env.run("resume", "nightly").errOut).To(BeEmpty())
		Expect(get(s).Spec.SnapshotTTL).To(Equal(v1alpha1.Duration("4h")))
	})

	// Contract: CLI-50.
	It("changes the template of a ClusterSnapshotSchedule, and names it for a child", func() {
		fleet := env.createFleet(v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "1h", SnapshotTTL: "3h", DeletionPolicy: v1alpha1.DeletionDelete,
		})
		child := env.createChild(fleet)
		env.createClaim("data")
		for _, command := range []string{"suspend", "resume"} {
			Expect(env.fails(command, fleet.Name)).To(ContainSubstring("kubectl snapsched " + command + " --cluster-schedule " + fleet.Name))
		}
		cluster := "cluster" + resource + fleet.Name
		Expect(env.succeeds("suspend", "--cluster-schedule", "csnapsched/"+fleet.Name)).To(Equal(cluster + " suspended\n"))
		Expect(get(fleet).Spec.Template.Spec.Suspend).To(BeTrue())
		Expect(suspended(child)).To(BeFalse())
		r := env.run("resume", "--cluster-schedule", fleet.Name)
		Expect(r.out).To(Equal(cluster + " resumed\n"))
		Expect(r.errOut).To(MatchRegexp(`^1 snapshot is due at once \(.*\): ` + env.namespace + `/data\n$`))
		Expect(get(fleet).Spec.Template.Spec.Suspend).To(BeFalse())
	})

	// Contract: CLI-50.
	It("needs exactly one name", func() {
		env.createSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h"})
		for _, args := range [][]string{{"suspend"}, {"resume"}, {"suspend", "nightly", "--cluster-schedule", "gold"}} {
			Expect(env.fails(args...)).To(ContainSubstring("specify exactly one of NAME and --cluster-schedule"))
		}
		Expect(env.fails("suspend", "pvc/nightly")).To(ContainSubstring("is not a SnapshotSchedule"))
	})
})

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// listed is a row of list.
type listed struct {
	Name, Schedule, State, Rule, Because, Hold string
	Claims                                     []string  `json:"persistentVolumeClaims"`
	Until                                      time.Time `json:"keptUntil"`
	Verified                                   time.Time `json:"verifiedTime"`
}

func (env *environment) listed(args ...string) (rows []listed) {
	GinkgoHelper()
	var all struct{ Items []listed }
	Expect(json.Unmarshal([]byte(env.succeeds(append([]string{"list", "-o", "json"}, args...)...)), &all)).To(Succeed())
	return all.Items
}

var _ = Describe("list", func() {
	// Contract: CLI-44.
	It("lists every snapshot with what keeps it until when, the newest first", func() {
		env := newEnvironment()
		s := env.createSchedule("daily", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "24h", SnapshotTTL: "3d"})
		data := env.createClaim("data")
		all := env.createSnapshots(s, data, day, 3)
		held, drilled := all[1], all[0]
		held.Annotations[v1alpha1.AnnotationHold] = "forever: audit"
		drilled.Annotations[v1alpha1.AnnotationVerifiedAt] = time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
		put(time.Time{}, held, drilled)

		stray := builders.Existing(&snapshotv1.VolumeSnapshot{}, uuid.NewUUID(), ago(36*time.Hour))
		stray.Namespace, stray.Name = env.namespace, "by-hand"
		stray.Spec.Source.PersistentVolumeClaimName = ptr.To("data")
		safety := stray.DeepCopy()
		safety.Name, safety.UID, safety.Labels = "safety", uuid.NewUUID(), map[string]string{v1alpha1.LabelRollback: "f7ee3394"}
		orphan := snapshotAt(builders.Schedule(env.namespace, "gone", s.Spec), data, ago(50*day).Truncate(time.Second))
		put(time.Time{}, stray, safety, orphan)

		rows := map[string]listed{}
		var order []string
		for _, row := range env.listed() {
			rows[row.Name], order = row, append(order, row.Name)
		}
		Expect(order).To(HaveLen(6))
		Expect(order[0]).To(Equal(all[0].Name))
		Expect(order[5]).To(Equal(orphan.Name))
		Expect(rows[all[0].Name]).To(And(
			HaveField("Schedule", "daily"), HaveField("State", "Ready"), HaveField("Rule", "WithinTTL"), HaveField("Claims", ConsistOf("data")),
			HaveField("Until", BeTemporally("~", all[0].CreationTimestamp.Add(3*day), time.Second)), HaveField("Verified", Not(BeZero()))))
		Expect(rows[held.Name]).To(And(
			HaveField("Rule", "HeldByAnnotation"), HaveField("Hold", "it is held: audit"), HaveField("Until", BeZero())))
		Expect(rows["by-hand"]).To(And(HaveField("Rule", BeEmpty()), HaveField("Because", ContainSubstring("no schedule has taken it"))))
		Expect(rows["safety"].Because).To(Equal("it is the safety snapshot of rollback f7ee3394"))
		Expect(rows[orphan.Name].Because).To(Equal("its schedule gone does not exist; a new one of this name would adopt it"))

		Expect(env.listed("daily")).To(HaveLen(3))
		By("selecting by a label, which changes no rule")
		all[2].Labels["keep"] = "me"
		put(time.Time{}, all[2])
		Expect(env.listed("-l", "keep=me")).To(ConsistOf(rows[all[2].Name]))
		Expect(env.listed("--pvc", "data", "--as-of", "40h")).To(HaveEach(HaveField("Name", Not(BeElementOf(all[0].Name, "by-hand")))))
		Expect(env.succeeds("list")).To(ContainSubstring("held: audit"))

		By("naming them for other commands")
		names := strings.Fields(env.succeeds("list", "daily", "-o", "name"))
		Expect(names).To(HaveLen(3))
		Expect(env.succeeds("why", names[0])).To(ContainSubstring("Schedule daily, PVC data"))
		env.succeeds(append([]string{"hold", "--reason", "audit of all"}, names...)...)
		Expect(env.listed("daily")).To(HaveEach(HaveField("Rule", "HeldByAnnotation")))
	})

	// Contract: CLI-44.
	It("says what there is instead of nothing", func() {
		env := newEnvironment()
		Expect(env.fails("list", "--pvc", "nosuch")).To(ContainSubstring(`persistentvolumeclaims "nosuch" not found`))
		env.createClaim("data")
		Expect(env.run("list", "--pvc", "data").errOut).To(ContainSubstring("No resources found in " + env.namespace))
		Expect(env.fails("list", "nosuch")).To(ContainSubstring("not found"))
		Expect(env.fails("list", "--pvc", "data", "--as-of", "1h")).To(ContainSubstring("no snapshot of PVC data was taken at or before"))
	})
})

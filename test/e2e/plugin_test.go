// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// buildPlugin builds the plugin, for as long as the node or the container lasts that calls it.
func buildPlugin(ctx context.Context) (path string) {
	GinkgoHelper()
	path = filepath.Join(GinkgoT().TempDir(), "kubectl-snapsched")
	build := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd/kubectl-snapsched")
	build.Dir = root
	output, err := build.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	return path
}

// test/cli tests all commands. These specs show that the operator, the driver and the garbage collector do what the plugin says.
var _ = Describe("the kubectl plugin", Ordered, func() {
	var plugin string
	BeforeAll(func(ctx context.Context) {
		plugin = buildPlugin(ctx)
		cluster.Start(ctx)
	}, NodeTimeout(3*time.Minute))

	// snapsched runs the plugin in a namespace and returns what it prints.
	snapsched := func(ctx context.Context, namespace string, args ...string) string {
		GinkgoHelper()
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(ctx, plugin, append(args, "-n", namespace)...)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		Expect(cmd.Run()).To(Succeed(), "kubectl snapsched %s\n%s%s", strings.Join(args, " "), &stdout, &stderr)
		return stdout.String()
	}

	It("takes a snapshot with snapshot --wait, restores one with restore --wait, and keeps one with hold", func(ctx context.Context) {
		namespace, _ := scheduled(ctx, "plugin", 1, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h", SnapshotTTL: "4s"})
		held := cluster.Snapshots(ctx, namespace)[0]
		snapsched(ctx, namespace, "hold", held.Name, "--reason", "e2e")
		nextSecond(ctx)
		out := snapsched(ctx, namespace, "snapshot", "nightly", "--wait")
		all := cluster.Snapshots(ctx, namespace) // by name, which contains the slot
		Expect(states(all)).To(And(HaveLen(2), HaveEach(HaveSuffix("ready"))))
		Expect(out).To(And(ContainSubstring("/"+all[1].Name+" ready\n"), Not(ContainSubstring(held.Name))))

		// The driver's creation time may be a little later than the object's.
		between := all[1].CreationTimestamp.Add(-time.Second).UTC().Format(time.RFC3339)
		for to, c := range map[string]struct {
			source string
			args   []string
		}{"before": {held.Name, []string{"--as-of", between}}, "latest": {source: all[1].Name}} {
			out := snapsched(ctx, namespace, append([]string{"restore", "--pvc", "data-0", "--to", to, "--wait"}, c.args...)...)
			Expect(out).To(Equal("persistentvolumeclaim/" + to + " created\npersistentvolumeclaim/" + to + " bound\n"))
			restored := get(ctx, builders.Claim(namespace, to, nil))
			Expect(restored.Status.Phase).To(Equal(corev1.ClaimBound))
			Expect(restored.Spec.DataSource.Name).To(Equal(c.source))
		}

		Eventually(time.Now).WithContext(ctx).Should(BeTemporally(">", all[1].CreationTimestamp.Add(5*time.Second)), "both have expired")
		snapsched(ctx, namespace, "snapshot", "--pvc", "data-0", "--wait")
		Eventually(func() []string { return names(cluster.Snapshots(ctx, namespace)) }).WithContext(ctx).
			Should(And(ContainElement(held.Name), Not(ContainElement(all[1].Name))))
		snapsched(ctx, namespace, "unhold", held.Name)
		eventuallyGone(ctx, &held)
	}, NodeTimeout(3*time.Minute))

	// The garbage collector follows every owner reference, and deletes what has no other owner.
	It("names the snapshots that the garbage collector deletes with a schedule, with preview --delete", func(ctx context.Context) {
		namespace, s := scheduled(ctx, "collected", 2, hourly)
		keeper := create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "keeper"}})
		mine := metav1.OwnerReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "SnapshotSchedule", Name: s.Name, UID: s.UID}
		other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: keeper.Name, UID: keeper.UID}
		shared := cluster.Snapshots(ctx, namespace)[1]
		merge(ctx, &shared, `{"metadata":{"ownerReferences":[{"apiVersion":%q,"kind":"SnapshotSchedule","name":%q,"uid":%q,"controller":true},`+
			`{"apiVersion":"v1","kind":"ConfigMap","name":"keeper","uid":%q}]}}`, v1alpha1.GroupVersion, s.Name, s.UID, keeper.UID)
		for name, owners := range map[string][]metav1.OwnerReference{
			"plain": {mine}, "twice": {mine, mine}, "shared": {mine, other}, "theirs": {other}, "nobodys": nil,
		} {
			v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: owners}}
			v.Spec.Source.PersistentVolumeClaimName = new("data-0")
			Expect(cluster.Client.Create(ctx, v)).To(Succeed())
		}

		before := names(cluster.Snapshots(ctx, namespace))
		var predicted struct {
			Items []struct{ Deletes []struct{ Name string } }
		}
		Expect(json.Unmarshal([]byte(snapsched(ctx, namespace, "preview", "--delete", s.Name, "-o", "json")), &predicted)).To(Succeed())
		remaining := slices.DeleteFunc(before, func(name string) bool {
			return slices.Contains(predicted.Items[0].Deletes, struct{ Name string }{name})
		})
		Expect(remaining).To(ConsistOf("shared", "theirs", "nobodys", shared.Name))
		kubectl("delete", "snapsched", s.Name, "-n", namespace)
		// It is done with those that stay once they have lost the reference.
		Eventually(func() []snapshotv1.VolumeSnapshot { return cluster.Snapshots(ctx, namespace) }).
			WithContext(ctx).WithTimeout(time.Minute).Should(And(
			HaveEach(HaveField("OwnerReferences", Not(ContainElement(HaveField("UID", s.UID))))),
			WithTransform(names, ConsistOf(remaining))))
	}, NodeTimeout(3*time.Minute))

	It("hands over snapshots of snapscheduler, which the operator adopts, with migrate", func(ctx context.Context) {
		text, err := os.ReadFile(filepath.Join(root, "test", "cli", "testdata", "snapscheduler.yaml"))
		Expect(err).NotTo(HaveOccurred())
		crds := decode(text)
		cluster.Apply(ctx, crds...)
		DeferCleanup(func(ctx context.Context) { Expect(cluster.Client.Delete(ctx, crds[0])).To(Succeed()) })
		namespace := cluster.Namespace(ctx, "migrate")
		cluster.BoundClaims(ctx, namespace, 1)
		peer := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "snapscheduler.backube/v1", "kind": "SnapshotSchedule",
			"metadata": map[string]any{"namespace": namespace, "name": "yearly"},
			"spec":     map[string]any{"schedule": "@annually"},
		}}
		Expect(cluster.Client.Create(ctx, peer)).To(Succeed())
		v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "data-0-yearly-202601010000",
			Labels: map[string]string{"snapscheduler.backube/schedule": "yearly", "snapscheduler.backube/when": "202601010000"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "snapscheduler.backube/v1", Kind: "SnapshotSchedule", Name: "yearly", UID: peer.GetUID(),
			}},
		}}
		v.Spec.Source.PersistentVolumeClaimName = new("data-0")
		Expect(cluster.Client.Create(ctx, v)).To(Succeed())
		eventuallySnapshots(ctx, namespace, 1)

		snapsched(ctx, namespace, "migrate", "snapscheduler", "--yes")
		ours := builders.Schedule(namespace, "yearly", v1alpha1.SnapshotScheduleSpec{})
		Eventually(fresh(ctx, ours)).WithContext(ctx).Should(And(
			beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled),
			HaveField("Status.Outputs.VolumeSnapshots", v1alpha1.OutputCount{Total: 1, Ready: 1}),
			HaveField("Status.LastSnapshotTime.UTC()", Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))))
		kubectl("delete", "snapshotschedules.snapscheduler.backube", "yearly", "-n", namespace)
		afterGarbageCollection(ctx)
		Expect(names(eventuallySnapshots(ctx, namespace, 1))).To(HaveExactElements(v.Name))
	}, NodeTimeout(3*time.Minute))
})

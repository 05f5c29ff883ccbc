// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// hanging holds back the requests that match until the spec ends, or release is called, or the client gives up.
func hanging(match func(*http.Request) bool) (opt option, release func()) {
	ended := make(chan struct{})
	release = sync.OnceFunc(func() { close(ended) })
	DeferCleanup(release)
	return failRequests(func(r *http.Request) int {
		if match(r) {
			select {
			case <-ended:
			case <-r.Context().Done():
			}
			return http.StatusInternalServerError
		}
		return 0
	}), release
}

// snapshotsUnlisted fails the lists of snapshots until sync is called: the cache does not sync.
func snapshotsUnlisted() (opt option, sync func()) {
	var listed atomic.Bool
	DeferCleanup(listed.Store, true) // a manager whose cache never syncs does not stop
	return failRequests(func(r *http.Request) int {
		if !listed.Load() && r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/volumesnapshots") {
			return http.StatusServiceUnavailable
		}
		return 0
	}), func() { listed.Store(true) }
}

// ofCRD returns the CRD of a plural in a group.
func ofCRD(name string) *unstructured.Unstructured {
	crd := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}}
	crd.SetName(name)
	return crd
}

// uninstall deletes a CRD. install creates it again; the end of the spec does so at the latest.
func uninstall(name string) (install func()) {
	GinkgoHelper()
	crd := get(ofCRD(name))
	plural, _, _ := strings.Cut(name, ".")
	list := &unstructured.UnstructuredList{}
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "listKind")
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	version, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	list.SetAPIVersion(group + "/" + version[0].(map[string]any)["name"].(string))
	list.SetKind(kind)

	gone := ofCRD(name)
	Expect(api.Delete(ctx, gone)).To(Succeed())
	Expect(api.List(ctx, list)).To(Succeed())
	for i := range list.Items { // of all specs so far; a CRD stays until its last object is gone
		if len(list.Items[i].GetFinalizers()) > 0 {
			removeFinalizers(&list.Items[i])
		}
	}
	Eventually(isDeleted(gone), "2m").Should(BeTrue())
	install = sync.OnceFunc(func() {
		GinkgoHelper()
		crd.SetResourceVersion("")
		crd.SetUID("")
		unstructured.RemoveNestedField(crd.Object, "status")
		Expect(api.Create(ctx, crd)).To(Succeed())
		Eventually(func() error { return api.List(ctx, list) }).Should(Succeed(), plural)
	})
	DeferCleanup(install)
	return install
}

// Status says only what this process has found out.
var _ = Describe("What is not known", func() {
	var env *environment
	BeforeEach(func() { env = newEnvironment() })

	// counts are what guardrails and people rely on.
	counts := func(s *schedule) func() string {
		return func() string {
			st := status(s)
			return fmt.Sprintf("%d: %d of %d ready, %d PVCs", st.ObservedGeneration, st.Outputs.VolumeSnapshots.Ready, st.Outputs.VolumeSnapshots.Total, selected(s))
		}
	}
	// many returns a schedule with more PVCs than the operator has workers, each with a ready snapshot.
	many := func() *schedule {
		GinkgoHelper()
		s := env.createSchedule("backup")
		for i := range 12 {
			env.createSnapshot(s, env.createClaim(fmt.Sprintf("data-%02d", i)), 2*time.Hour)
		}
		return s
	}

	// Contract: STAT-9, STAT-12.
	It("is found out after a start although every create hangs, and says nothing less before", func() {
		s := many()
		first := env.startOperator()
		Eventually(counts(s)).Should(Equal("1: 12 of 24 ready, 12 PVCs"))
		first.stop()
		for _, v := range env.snapshots() {
			if v.Status == nil {
				Expect(api.Delete(ctx, &v)).To(Succeed())
			}
		}
		mergePatch(s, `{"spec":{"snapshotTTL":"30d"}}`)
		var seen sync.Map
		opt, _ := hanging(isSnapshotCreate)
		second := env.startOperator(opt)
		Eventually(func() int64 {
			st := status(s)
			seen.Store(fmt.Sprintf("%d: %d", st.ObservedGeneration, st.Outputs.VolumeSnapshots.Total), true)
			return st.ObservedGeneration
		}, "8s").Should(BeEquivalentTo(2), "creates that hang should not delay what is known")
		Expect(counts(s)()).To(Equal("2: 12 of 12 ready, 12 PVCs"))
		seen.Range(func(state, _ any) bool {
			Expect(state).To(BeElementOf("1: 24", "2: 12"), "every status should be of one generation")
			return true
		})
		Expect(second.network.count("PATCH", "snapshotschedules")).To(Equal(1), "no status should be written before all keys are decided")
	})

	for _, crd := range []string{"volumesnapshots", "volumesnapshotclasses"} {
		// Contract: STAT-6, STAT-12.
		It("stays while the CRD of "+crd+" is missing: while the operator runs, over a restart and an edit, until it is back", Serial, func() {
			name := crd + ".snapshot.storage.k8s.io"
			s := env.createSchedule("backup")
			c := env.createClaim("data")
			o := env.startOperator()
			makeReady(env.waitForSnapshot("data"))
			Eventually(counts(s)).Should(Equal("1: 1 of 1 ready, 1 PVCs"))
			o.stop()
			install := uninstall(name)

			By("starting without it")
			before := status(s)
			o = env.startOperator()
			Eventually(readyCondition(s)).Should(Equal("False SnapshotAPIMissing"))
			kept := func() v1alpha1.SnapshotScheduleStatus {
				now := status(s)
				for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionProtected} {
					*meta.FindStatusCondition(now.Conditions, kind) = *meta.FindStatusCondition(before.Conditions, kind)
				}
				return now
			}
			Expect(kept()).To(Equal(before))

			By("editing the schedule")
			mergePatch(s, `{"spec":{"selector":{"matchLabels":{"app":"none"}}}}`)
			Eventually(readyCondition(s)).Should(Equal("False SnapshotAPIMissing"))
			Consistently(kept, "1500ms").Should(Equal(before))

			By("installing it")
			install()
			if crd == "volumesnapshots" { // a backup tool restores it
				env.createSnapshot(s, c, time.Hour)
			}
			Eventually(counts(s), "60s").Should(Equal("2: 1 of 1 ready, 0 PVCs"))
			Expect(readyCondition(s)()).To(Equal("True NoMatchingClaims"))

			By("removing it while the operator runs")
			install = uninstall(name)
			Eventually(readyCondition(s), "60s").Should(Equal("False SnapshotAPIMissing"))
			mergePatch(s, `{"spec":{"selector":null}}`)
			Consistently(func() int64 { return status(s).ObservedGeneration }, "1500ms").Should(BeEquivalentTo(2))
			install()
			if crd == "volumesnapshots" {
				env.createSnapshot(s, c, time.Hour)
			}
			Eventually(readyCondition(s), "60s").Should(Equal("True Scheduled"))
			Eventually(counts(s)).Should(HavePrefix("3: 1 of "))
			o.stop()
		})
	}
})

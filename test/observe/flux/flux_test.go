// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/ssa"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/inprocess"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

func TestFlux(t *testing.T) { suite.Run(t, "Flux") }

var _ = Describe("The sample repository of Flux", Ordered, func() {
	var (
		api            client.Client
		startOperator  func()
		flux           *reconciler
		kustomizations map[string]*kustomizev1.Kustomization
	)
	// run does what a node would do with the operator's Deployment.
	run := func(ctx context.Context) {
		GinkgoHelper()
		list := &appsv1.DeploymentList{}
		Expect(api.List(ctx, list)).To(Succeed())
		for _, d := range list.Items {
			startOperator()
			d.Status = available(d)
			Expect(api.Status().Update(ctx, &d)).To(Succeed())
		}
	}
	// reconcile reconciles the Kustomizations in the order of dependsOn.
	reconcile := func(ctx context.Context) map[string]*ssa.ChangeSet {
		GinkgoHelper()
		all := map[string]*ssa.ChangeSet{}
		for len(all) < len(kustomizations) {
			before := len(all)
			for name, k := range kustomizations {
				if all[name] != nil || slices.ContainsFunc(k.Spec.DependsOn, func(d kustomizev1.DependencyReference) bool { return all[d.Name] == nil }) {
					continue
				}
				all[name] = suite.Must(flux.apply(ctx, k))
				run(ctx)
				Expect(flux.wait(ctx, k)).To(Succeed(), name)
			}
			Expect(len(all)).To(BeNumerically(">", before), "dependsOn has a cycle")
		}
		return all
	}

	BeforeAll(func() {
		ctrl.SetLogger(GinkgoLogr)
		config := suite.Start(&envtest.Environment{CRDDirectoryPaths: suite.Must(repo.SnapshotCRDFiles())})
		api = suite.Must(client.New(config, client.Options{Scheme: cluster.Scheme}))
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		startOperator = sync.OnceFunc(func() {
			operator := suite.Must(inprocess.New(ctx, config, inprocess.Options{
				Workers: 2, DeletesPerSecond: 10, StatusInterval: 100 * time.Millisecond, MaxClockSkew: time.Minute, KindsInterval: 100 * time.Millisecond, Clock: clock.RealClock{},
			}, ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}}))
			go func() { ended <- operator.Start(ctx) }()
		})
		DeferCleanup(func() {
			stop()
			Eventually(ended).Should(Receive(BeNil()))
		})

		root := suite.Must(repo.Root())
		dir := GinkgoT().TempDir()
		Expect(os.CopyFS(filepath.Join(dir, "operator", "config"), os.DirFS(filepath.Join(root, "config")))).To(Succeed())
		Expect(os.CopyFS(filepath.Join(dir, "own"), os.DirFS(filepath.Join(root, "config", "gitops", "flux")))).To(Succeed())
		flux = &reconciler{client: api, sources: map[string]string{"flux-system": filepath.Join(dir, "own")}, inventories: map[string]map[string]*unstructured.Unstructured{}}
		kustomizations = map[string]*kustomizev1.Kustomization{}
		for _, file := range suite.Must(filepath.Glob(filepath.Join(dir, "own", "clusters", "production", "*.yaml"))) {
			for document := range bytes.SplitSeq(suite.Must(os.ReadFile(file)), []byte("\n---\n")) {
				repository, k := &sourcev1.GitRepository{}, &kustomizev1.Kustomization{}
				if yaml.UnmarshalStrict(document, repository) == nil && repository.Kind == sourcev1.GitRepositoryKind {
					flux.sources[repository.Name] = filepath.Join(dir, "operator")
					continue
				}
				Expect(yaml.UnmarshalStrict(document, k)).To(Succeed(), file)
				kustomizations[k.Name] = k
			}
		}
		Expect(kustomizations).To(HaveLen(5))
	})

	It("is applied to a new cluster, each Kustomization after the one that it needs", func(ctx context.Context) {
		reconcile(ctx)
		for _, key := range []client.ObjectKey{{Namespace: "shop", Name: "hourly"}, {Namespace: "bank", Name: "nightly"}} {
			s := &v1alpha1.SnapshotSchedule{}
			Expect(api.Get(ctx, key, s)).To(Succeed())
			Expect(s.Status.ObservedGeneration).To(Equal(s.Generation))
		}
	}, NodeTimeout(2*time.Minute))

	It("changes nothing when it is applied again", func(ctx context.Context) {
		for name, changes := range reconcile(ctx) {
			for _, entry := range changes.Entries {
				Expect(entry.Action).To(Equal(ssa.UnchangedAction), "%s: %s", name, entry.Subject)
			}
		}
	}, NodeTimeout(2*time.Minute))

	It("fails as soon as the snapshot of a PVC is refused", func(ctx context.Context) {
		limit := corev1.ResourceList{"count/volumesnapshots.snapshot.storage.k8s.io": resource.MustParse("0")}
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "snapshots"}}
		quota.Spec.Hard = limit
		Expect(api.Create(ctx, quota)).To(Succeed())
		quota.Status = corev1.ResourceQuotaStatus{Hard: limit, Used: limit} // as the quota controller computes it
		Expect(api.Status().Update(ctx, quota)).To(Succeed())
		data := builders.Claim("shop", "data", map[string]string{"app": "shop"})
		Expect(api.Create(ctx, data)).To(Succeed())
		data.Status.Phase = corev1.ClaimBound
		Expect(api.Status().Update(ctx, data)).To(Succeed())
		// Its first slot may be an hour away.
		hourly := &v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "hourly"}}
		request := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationRequestedAt, time.Now().UTC().Format(time.RFC3339))
		Expect(api.Patch(ctx, hourly, client.RawPatch(types.MergePatchType, []byte(request)))).To(Succeed())
		schedules := kustomizations["schedules"]
		began := time.Now()
		Eventually(func() error { return flux.wait(ctx, schedules) }).Should(MatchError(ContainSubstring("SnapshotSchedule/shop/hourly status: 'Failed'")))
		Expect(time.Since(began)).To(BeNumerically("<", schedules.Spec.Timeout.Duration))
		Expect(api.Delete(ctx, quota)).To(Succeed())
	}, NodeTimeout(2*time.Minute))

	It("prunes a schedule that is removed, but no namespace, no snapshot, and no schedule that its annotation keeps", func(ctx context.Context) {
		snapshots := func() []snapshotv1.VolumeSnapshot {
			list := &snapshotv1.VolumeSnapshotList{}
			Expect(api.List(ctx, list, client.InNamespace("shop"))).To(Succeed())
			return list.Items
		}
		Eventually(snapshots).Should(HaveLen(1))
		for _, file := range []string{"shop.yaml", "bank.yaml"} {
			Expect(os.Remove(filepath.Join(flux.sources["flux-system"], "schedules", file))).To(Succeed())
		}
		changes := reconcile(ctx)["schedules"].ToMap()
		Expect(changes).To(HaveKeyWithValue("SnapshotSchedule/shop/hourly", ssa.DeletedAction))
		Expect(changes).To(HaveKeyWithValue("SnapshotSchedule/bank/nightly", ssa.SkippedAction))
		Expect(changes).To(HaveKeyWithValue("Namespace/shop", ssa.SkippedAction))
		Eventually(func() bool {
			return apierrors.IsNotFound(api.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "hourly"}, &v1alpha1.SnapshotSchedule{}))
		}).Should(BeTrue())
		Expect(snapshots()).To(HaveLen(1))
		Expect(snapshots()[0].DeletionTimestamp).To(BeNil())
		Expect(api.Get(ctx, client.ObjectKey{Namespace: "bank", Name: "nightly"}, &v1alpha1.SnapshotSchedule{})).To(Succeed())
	}, NodeTimeout(2*time.Minute))
})

// available is the status of a Deployment whose pods are ready.
func available(d appsv1.Deployment) appsv1.DeploymentStatus {
	replicas := *d.Spec.Replicas
	return appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: replicas, UpdatedReplicas: replicas, ReadyReplicas: replicas, AvailableReplicas: replicas,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
		},
	}
}

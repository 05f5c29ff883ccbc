// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// kustomize builds one of the config directories.
func kustomize(dir string) []*unstructured.Unstructured {
	GinkgoHelper()
	return suite.Must(repo.Decode(suite.Must(repo.Kustomize(ctx, root, dir))))
}

// dryRunApply does what kubectl apply --server-side --validate=strict --dry-run=server does: another manager's fields with other values
// are a conflict.
func dryRunApply(object *unstructured.Unstructured) error {
	return api.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kubectl"), client.DryRunAll)
}

// decodeOnly decodes the only object of a kind.
func decodeOnly[T any](objects []*unstructured.Unstructured, kind string) *T {
	GinkgoHelper()
	var found []*T
	for _, object := range objects {
		if object.GetKind() == kind {
			decoded := new(T)
			Expect(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, decoded, true)).To(Succeed())
			found = append(found, decoded)
		}
	}
	Expect(found).To(HaveLen(1), kind)
	return found[0]
}

// These specs apply what "make deploy" applies. The API server enforces Pod Security, so they try the manager's pod too.
var _ = Describe("config/default", Ordered, func() {
	var (
		objects []*unstructured.Unstructured
		system  *corev1.Namespace
		pod     *corev1.Pod
	)
	BeforeAll(func() {
		objects = append(kustomize("config/crd"), kustomize("config/default")...)
		system = decodeOnly[corev1.Namespace](objects, "Namespace")
		Expect(api.Create(ctx, system.DeepCopy())).To(Succeed())
		DeferCleanup(func() { Expect(api.Delete(ctx, system)).To(Succeed()) })
		template := decodeOnly[appsv1.Deployment](objects, "Deployment").Spec.Template
		pod = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: system.Name, Name: "manager", Labels: template.Labels},
			Spec:       template.Spec,
		}
	})

	It("is accepted by the API server, with prefixed names in one namespace", func() {
		for _, object := range objects {
			name := object.GetKind() + " " + object.GetName()
			Expect(dryRunApply(object)).To(Succeed(), name)
			Expect(object.GetNamespace()).To(BeElementOf("", system.Name), name)
			if object.GetKind() != "CustomResourceDefinition" {
				Expect(object.GetName()).To(HavePrefix("snapshotschedule-"), name)
			}
		}
	})

	It("has a pod that the restricted Pod Security Standard admits", func() {
		Expect(dryRun(pod.DeepCopy())).To(Succeed())
	})

	It("has a namespace where a pod that may escalate privileges is rejected", func() {
		worse := pod.DeepCopy()
		worse.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = new(true)
		err := dryRun(worse)
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(ContainSubstring("restricted")))
	})

	It("builds with the commented parts enabled, and a certificate for the metrics", func() {
		copied := GinkgoT().TempDir()
		Expect(os.CopyFS(copied, os.DirFS(filepath.Join(root, "config")))).To(Succeed())
		file := filepath.Join(copied, "default", "kustomization.yaml")
		text := string(suite.Must(os.ReadFile(file)))
		for _, part := range []string{"- ../prometheus", "- ../network-policy"} {
			Expect(text).To(ContainSubstring("#" + part))
			text = strings.Replace(text, "#"+part, part, 1)
		}
		text += "components:\n- ../metrics-certificate\n"
		Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
		manager := decodeOnly[appsv1.Deployment](kustomize(filepath.Join(copied, "default")), "Deployment").Spec.Template.Spec
		Expect(manager.Volumes).To(HaveLen(1), "the certificates")
		Expect(manager.Containers[0].VolumeMounts).To(HaveLen(1))
	})
})

var _ = Describe("config", func() {
	// accepted applies objects in a namespace that exists.
	accepted := func(objects ...*unstructured.Unstructured) {
		GinkgoHelper()
		for _, object := range objects {
			object.SetNamespace(namespace)
			Expect(dryRunApply(object)).To(Succeed(), "%s %s", object.GetKind(), object.GetName())
		}
	}

	DescribeTable("has objects that the API server accepts", func(folder string) { accepted(kustomize(folder)...) },
		Entry("for the operator in listed namespaces", "config/namespaced"),
		Entry("for a listed namespace", "config/namespaced/watched"),
		Entry("for network policies", "config/network-policy"),
	)

	It("has an operator for listed namespaces in a namespace of its own", func() {
		Expect(kustomize("config/namespaced")).To(HaveEach(HaveField("GetNamespace()", "snapshotschedule")))
	})

	// Defaults within an atomic field, such as divisor, would be a conflict.
	It("has Deployments that a server-side apply upgrades without conflict after kubectl apply", func() {
		for _, folder := range []string{"config/default", "config/namespaced"} {
			deployments := slices.DeleteFunc(kustomize(folder), func(object *unstructured.Unstructured) bool {
				return object.GetKind() != "Deployment"
			})
			Expect(deployments).To(HaveLen(1), folder)
			deployment := deployments[0]
			deployment.SetNamespace(namespace)
			created := deployment.DeepCopy()
			Expect(api.Create(ctx, created, client.FieldOwner("kubectl-client-side-apply"))).To(Succeed(), folder)
			err := dryRunApply(deployment)
			Expect(api.Delete(ctx, created)).To(Succeed(), folder)
			Expect(err).NotTo(HaveOccurred(), folder)
		}
	})

	// The CRDs of the Prometheus operator are not installed here.
	It("has monitoring objects that build, and a sample with permissions that the API server accepts", func() {
		monitoring := []any{HaveField("GetKind()", "PrometheusRule"), HaveField("GetKind()", "ServiceMonitor")}
		Expect(kustomize("config/prometheus")).To(ConsistOf(monitoring...))
		sample := kustomize("config/samples/prometheus")
		Expect(sample).To(ContainElements(monitoring...))
		for _, object := range sample {
			if object.GroupVersionKind().Group == "rbac.authorization.k8s.io" {
				accepted(object)
			}
		}
	})

	It("has a sample hook that the API server accepts, whose permissions come before its Job", func() {
		objects := kustomize("config/samples/hook")
		Expect(objects).To(HaveLen(4))
		accepted(objects...)
		for _, object := range objects {
			annotations := HaveKeyWithValue("helm.sh/hook", "pre-upgrade")
			if object.GetKind() != "Job" {
				annotations = And(annotations, HaveKeyWithValue("argocd.argoproj.io/sync-wave", "-1"), HaveKeyWithValue("helm.sh/hook-weight", "-1"))
			}
			Expect(object.GetAnnotations()).To(And(annotations, HaveKeyWithValue("argocd.argoproj.io/hook", "PreSync")), object.GetKind())
		}
	})

	DescribeTable("has sample CronJobs that the API server accepts, of",
		func(folder string, objects int) {
			all := kustomize("config/samples/" + folder)
			Expect(all).To(HaveLen(objects))
			accepted(all...)
		},
		Entry("quiesced snapshots", "quiesce", 6),
		Entry("drills", "verify", 6))

	// What visitors copy first.
	DescribeTable("shows SnapshotSchedules that the API server accepts", func(path, annotation string, want int) {
		text := suite.Must(os.ReadFile(filepath.Join(root, path)))
		var objects []*unstructured.Unstructured
		if annotation == "" {
			objects = suite.Must(repo.Decode(text))
		} else {
			_, after, found := strings.Cut(string(text), "\n  "+annotation+": |\n") // a template, which is no YAML
			Expect(found).To(BeTrue())
			var examples strings.Builder
			for line := range strings.Lines(after) {
				if !strings.HasPrefix(line, "    ") {
					break
				}
				examples.WriteString(line)
			}
			var list []map[string]any
			Expect(yaml.Unmarshal([]byte(examples.String()), &list)).To(Succeed())
			for _, object := range list {
				objects = append(objects, &unstructured.Unstructured{Object: object})
			}
		}
		objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
			return o.GroupVersionKind().Group != v1alpha1.GroupName
		})
		Expect(objects).To(HaveLen(want))
		accepted(objects...)
	},
		Entry("on Artifact Hub", "hack/helm/internal/chart/skeleton/Chart.yaml", "artifacthub.io/crdsExamples", 2),
		Entry("for a cluster of kind", "hack/kind/first.yaml", "", 1),
		Entry("for Flux, of one namespace", "config/gitops/flux/schedules/shop.yaml", "", 1),
		Entry("for Flux, of another namespace", "config/gitops/flux/schedules/bank.yaml", "", 1),
		Entry("in the demo, of a namespace", "hack/demo/schedule.yaml", "", 1),
		Entry("to try the operator", "hack/demo/try.yaml", "", 1),
		Entry("in the demo, of all namespaces", "hack/demo/fleet.yaml", "", 1))

	It("has samples that the API server accepts, of every file", func() {
		inFiles := 0
		for _, path := range suite.Must(filepath.Glob(filepath.Join(root, "config", "samples", "snapshots_*.yaml"))) {
			inFiles += len(suite.Must(repo.Decode(suite.Must(os.ReadFile(path)))))
		}
		objects := kustomize("config/samples")
		Expect(objects).To(And(HaveLen(inFiles), Not(BeEmpty())))
		accepted(objects...)
	})
})

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// site is a namespace for restricted pods, with the operator and a plugin. Its workloads write real data.
type site struct{ namespace, plugin string }

// dataFile is the file of every workload, which only its user may read.
const dataFile = "/data/file"

// newSite deploys the operator, builds the plugin and creates a namespace, until the end of the container.
func newSite(ctx context.Context, namespace string) *site {
	GinkgoHelper()
	manifests := kustomize(ctx, root, firstTag)
	DeferCleanup(uninstall, manifests, namespace, NodeTimeout(5*time.Minute))
	run(ctx, manifests, "kubectl", "apply", "--server-side", "-f", "-")
	s := &site{namespace: namespace, plugin: filepath.Join(GinkgoT().TempDir(), "kubectl-snapsched")}
	// With the flags of the image, for which all but the program itself is compiled already.
	run(ctx, nil, "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-tags=grpcnotrace", "-o", s.plugin, "./cmd/kubectl-snapsched")
	Expect(cluster.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}})).To(Succeed())
	eventuallyAvailable(ctx)
	return s
}

// opsNamespace creates the namespace in which the Jobs of the samples for an application run, with the guardrails that bound them.
func opsNamespace(ctx context.Context, application string) string {
	GinkgoHelper()
	name := application + "-snapshot-ops"
	kubectl(ctx, "apply", "-k", filepath.Join("config", "guardrails"))
	DeferCleanup(func(ctx context.Context) {
		kubectl(ctx, "delete", "namespace", name, "--timeout=1m")
		kubectl(ctx, "delete", "-k", filepath.Join("config", "guardrails"))
	})
	Expect(cluster.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}})).To(Succeed())
	return name
}

// adaptedSample is a folder of config/samples for an application's namespace, with texts of its files replaced, as its comments say. Its
// CronJobs are suspended: the specs start their Jobs, and another one would start at two in the morning.
func adaptedSample(ctx context.Context, folder, namespace string, replacements ...string) []byte {
	GinkgoHelper()
	sample := filepath.Join(GinkgoT().TempDir(), folder)
	Expect(os.CopyFS(sample, os.DirFS(filepath.Join(root, "config", "samples", folder)))).To(Succeed())
	replacer := strings.NewReplacer(append(replacements, "my-app", namespace, "\n  concurrencyPolicy:", "\n  suspend: true\n  concurrencyPolicy:")...)
	for _, path := range suite.Must(filepath.Glob(filepath.Join(sample, "*.yaml"))) {
		Expect(os.WriteFile(path, []byte(replacer.Replace(string(suite.Must(os.ReadFile(path))))), 0o600)).To(Succeed())
	}
	return overlay(ctx, "", firstTag, sample)
}

// start starts the plugin, whose output is returned when it has ended.
func (s *site) start(ctx context.Context, args ...string) (cmd *exec.Cmd, wait func() (code int, output string)) {
	GinkgoHelper()
	var out bytes.Buffer
	cmd = exec.CommandContext(ctx, s.plugin, append([]string{"-n", s.namespace}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	Expect(cmd.Start()).To(Succeed())
	return cmd, func() (int, string) {
		_ = cmd.Wait()
		GinkgoWriter.Printf("%q: %s\n%s\n", args, cmd.ProcessState, &out)
		return cmd.ProcessState.ExitCode(), out.String()
	}
}

// snapsched runs the plugin.
func (s *site) snapsched(ctx context.Context, args ...string) (code int, output string) {
	GinkgoHelper()
	_, wait := s.start(ctx, args...)
	return wait()
}

// template is a pod that sleeps, as the user 1000, with a volume named data.
func template(name string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](1000), FSGroup: ptr.To[int64](2000)},
			Containers: []corev1.Container{{
				Name: "inpod", Image: inpodImage, Args: []string{"sleep"}, SecurityContext: restricted(),
				VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: filepath.Dir(dataFile)}},
			}},
		},
	}
}

// deploy creates a PVC and a Deployment with one pod that uses it.
func (s *site) deploy(ctx context.Context, name string) {
	GinkgoHelper()
	Expect(cluster.Client.Create(ctx, builders.Claim(s.namespace, name, nil))).To(Succeed())
	s.run(ctx, name)
}

// run creates a Deployment with one pod that uses the PVC of its name.
func (s *site) run(ctx context.Context, name string) {
	GinkgoHelper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}, Template: template(name),
	}}
	d.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
	}}}
	Expect(cluster.Client.Create(ctx, d)).To(Succeed())
}

// inpod runs inpod in the pod of a workload and returns what it prints.
func (s *site) inpod(ctx context.Context, workload string, args ...string) string {
	GinkgoHelper()
	kubectl(ctx, "-n", s.namespace, "rollout", "status", workload, "--timeout=1m")
	return strings.TrimSpace(kubectl(ctx, append([]string{"-n", s.namespace, "exec", workload, "--", "/inpod"}, args...)...))
}

// schedule creates a schedule, and waits for the first snapshot of each PVC.
func (s *site) schedule(ctx context.Context, claims int) *v1alpha1.SnapshotSchedule {
	GinkgoHelper()
	schedule := builders.Schedule(s.namespace, "hourly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h"})
	Expect(cluster.Client.Create(ctx, schedule)).To(Succeed())
	s.eventuallyReady(ctx, claims)
	return schedule
}

// eventuallyReady waits until there are so many snapshots, all of them ready.
func (s *site) eventuallyReady(ctx context.Context, n int) {
	GinkgoHelper()
	Eventually(s.snapshots).WithContext(ctx).Should(And(HaveLen(n),
		HaveEach(HaveField("Status", HaveValue(HaveField("ReadyToUse", HaveValue(BeTrue())))))))
}

func (s *site) snapshots(ctx context.Context) []snapshotv1.VolumeSnapshot {
	GinkgoHelper()
	all := &snapshotv1.VolumeSnapshotList{}
	Expect(cluster.Client.List(ctx, all, client.InNamespace(s.namespace))).To(Succeed())
	return all.Items
}

// snapshotFile is the file in the driver's copy of the data.
func snapshotFile(ctx context.Context, v *snapshotv1.VolumeSnapshot) string {
	GinkgoHelper()
	content := &snapshotv1.VolumeSnapshotContent{}
	Expect(cluster.Client.Get(ctx, client.ObjectKey{Name: *v.Status.BoundVolumeSnapshotContentName}, content)).To(Succeed())
	return filepath.Join(cluster.State.Dir, "data", "storage", "snapshots", *content.Status.SnapshotHandle, filepath.Base(dataFile))
}

// fresh returns a function that reads an object again.
func fresh[T client.Object](o T) func(context.Context) (T, error) {
	return func(ctx context.Context) (T, error) {
		err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
		return o, err
	}
}

func get[T client.Object](ctx context.Context, o T) T {
	GinkgoHelper()
	return suite.Must(fresh(o)(ctx))
}

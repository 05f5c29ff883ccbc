// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	"mapcontroller.dev/snapshotschedule/test/internal/etcd"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// environment is a namespace with its objects.
type environment struct {
	namespace string
	// kubeconfig is the one that the plugin is run with.
	kubeconfig string
}

func newEnvironment() *environment {
	GinkgoHelper()
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "env-"}}
	Expect(api.Create(ctx, n)).To(Succeed())
	return &environment{n.Name, kubeconfig}
}

// ago is a time in the past, in whole seconds.
func ago(d time.Duration) time.Time { return time.Now().Add(-d).UTC().Truncate(time.Second) }

// put writes objects that were created at a time in the past.
func put(created time.Time, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		if o.GetUID() == "" {
			builders.Existing(o, uuid.NewUUID(), created)
		}
	}
	// The API server's cache is up to date with a revision once it holds one of the
	// objects of its transaction. So the last object has a transaction of its own.
	last := len(objects) - 1
	for page := range slices.Chunk(objects[:last], etcd.MaxObjects) {
		suite.Must(store.Put(ctx, page...))
	}
	suite.Must(store.Put(ctx, objects[last]))
}

// createSchedule creates a schedule as it was created 60 days ago. The API server checks its spec.
func (env *environment) createSchedule(name string, spec v1alpha1.SnapshotScheduleSpec) *v1alpha1.SnapshotSchedule {
	GinkgoHelper()
	s := builders.Schedule(env.namespace, name, spec)
	Expect(api.Create(ctx, s)).To(Succeed())
	s.CreationTimestamp = metav1.NewTime(ago(60 * 24 * time.Hour))
	put(s.CreationTimestamp.Time, s)
	return s
}

// createFleet creates a ClusterSnapshotSchedule with the name of the namespace, which selects the namespace only.
func (env *environment) createFleet(spec v1alpha1.SnapshotScheduleSpec) *v1alpha1.ClusterSnapshotSchedule {
	GinkgoHelper()
	fleet := &v1alpha1.ClusterSnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: env.namespace}}
	fleet.Spec.NamespaceSelector.MatchLabels = map[string]v1alpha1.LabelValue{"kubernetes.io/metadata.name": v1alpha1.LabelValue(env.namespace)}
	fleet.Spec.Template.Spec = spec
	Expect(api.Create(ctx, fleet)).To(Succeed())
	DeferCleanup(func() { Expect(api.Delete(ctx, fleet)).To(Succeed()) })
	return fleet
}

// createChild creates the SnapshotSchedule of a ClusterSnapshotSchedule in the namespace, in the state of its template.
func (env *environment) createChild(fleet *v1alpha1.ClusterSnapshotSchedule) *v1alpha1.SnapshotSchedule {
	GinkgoHelper()
	child := env.createSchedule(fleet.Name, fleet.Spec.Template.Spec)
	child.Labels = map[string]string{v1alpha1.LabelClusterSchedule: fleet.Name, v1alpha1.LabelMapKey: env.namespace}
	child.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(fleet, v1alpha1.GroupVersion.WithKind("ClusterSnapshotSchedule"))}
	put(child.CreationTimestamp.Time, child)
	return child
}

// createClaim creates a PVC that was bound 61 days ago, before any schedule, so that its slots are the schedule's, even if a
// second begins in between. Labels are pairs of key and value.
func (env *environment) createClaim(name string, labels ...string) *corev1.PersistentVolumeClaim {
	GinkgoHelper()
	all := map[string]string{}
	for i := 0; i+1 < len(labels); i += 2 {
		all[labels[i]] = labels[i+1]
	}
	c := builders.BoundClaim(env.namespace, name, "volume-"+name, all)
	put(ago(61*24*time.Hour), c)
	return c
}

// snapshotAt returns a ready snapshot that was taken at its slot.
func snapshotAt(s *v1alpha1.SnapshotSchedule, c *corev1.PersistentVolumeClaim, slot time.Time) *snapshotv1.VolumeSnapshot {
	v := builders.Existing(builders.Snapshot(s, c, slot), uuid.NewUUID(), slot)
	v.Status = &snapshotv1.VolumeSnapshotStatus{
		ReadyToUse: ptr.To(true), CreationTime: ptr.To(metav1.NewTime(slot)),
		BoundVolumeSnapshotContentName: ptr.To("content-" + v.Name),
	}
	return v
}

// createContent creates the content of a snapshot that is still to be put.
func createContent(v *snapshotv1.VolumeSnapshot, driver string) {
	GinkgoHelper()
	content := &snapshotv1.VolumeSnapshotContent{ObjectMeta: metav1.ObjectMeta{Name: "content-" + string(uuid.NewUUID())}}
	content.Spec = snapshotv1.VolumeSnapshotContentSpec{
		Driver: driver, DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete,
		Source:            snapshotv1.VolumeSnapshotContentSource{VolumeHandle: ptr.To("handle")},
		VolumeSnapshotRef: corev1.ObjectReference{Namespace: v.Namespace, Name: v.Name, UID: v.UID},
		SourceVolumeMode:  ptr.To(corev1.PersistentVolumeFilesystem),
	}
	Expect(api.Create(ctx, content)).To(Succeed())
	v.Status.BoundVolumeSnapshotContentName = &content.Name
}

// ofGroup is the reference by which the snapshot controller makes a snapshot a member of a VolumeGroupSnapshot.
var ofGroup = metav1.OwnerReference{APIVersion: "groupsnapshot.storage.k8s.io/v1", Kind: "VolumeGroupSnapshot", Name: "g", UID: "g"}

// createSnapshots creates one ready snapshot for each of the last n slots, the newest first.
func (env *environment) createSnapshots(
	s *v1alpha1.SnapshotSchedule, c *corev1.PersistentVolumeClaim, interval time.Duration, n int,
) []*snapshotv1.VolumeSnapshot {
	GinkgoHelper()
	newest := s.CreationTimestamp.Add(time.Since(s.CreationTimestamp.Time).Truncate(interval)).UTC()
	var all []*snapshotv1.VolumeSnapshot
	var objects []client.Object
	for i := range n {
		v := snapshotAt(s, c, newest.Add(-time.Duration(i)*interval))
		all, objects = append(all, v), append(objects, v)
	}
	put(time.Time{}, objects...)
	return all
}

// result is how the program ended.
type result struct {
	code        int
	out, errOut string
}

// as returns the environment of the holder of another kubeconfig.
func (env *environment) as(kubeconfig string) *environment {
	return &environment{env.namespace, kubeconfig}
}

// run runs the plugin in this namespace.
func (env *environment) run(args ...string) result {
	GinkgoHelper()
	return env.runWith("", args...)
}

// runWith runs the plugin with standard input, in this namespace or, without one, in that of its context.
func (env *environment) runWith(input string, args ...string) result {
	GinkgoHelper()
	if env.namespace != "" {
		args = append(args, "--namespace", env.namespace)
	}
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+env.kubeconfig)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		Expect(err).NotTo(HaveOccurred())
	}
	GinkgoWriter.Printf("$ kubectl snapsched %s\n%s%s\n", strings.Join(args, " "), &out, &errOut)
	return result{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// start runs the plugin, and sends how it ends.
func (env *environment) start(args ...string) chan result {
	ended := make(chan result, 1)
	go func() {
		defer GinkgoRecover()
		ended <- env.run(args...)
	}()
	return ended
}

// startWatching runs the plugin, and sends how it ends. It returns when the plugin watches objects.
func (env *environment) startWatching(args ...string) chan result {
	GinkgoHelper()
	watching, proxied := interceptWatch()
	ended := env.as(proxied).start(args...)
	Eventually(watching).Should(BeClosed())
	return ended
}

// await returns how a plugin that was started ends.
func await(ended chan result) (r result) {
	GinkgoHelper()
	Eventually(ended, "30s").Should(Receive(&r))
	return r
}

// awaitSuccess returns the output of a plugin that was started, and must succeed.
func awaitSuccess(ended chan result) result {
	GinkgoHelper()
	r := await(ended)
	Expect(r.code).To(BeZero(), r.errOut)
	return r
}

// succeeds runs the plugin, which must succeed, and returns its output.
func (env *environment) succeeds(args ...string) string {
	GinkgoHelper()
	r := env.run(args...)
	Expect(r.code).To(BeZero(), r.errOut)
	return r.out
}

// warns runs the plugin, which must succeed, and returns its warnings.
func (env *environment) warns(args ...string) string {
	GinkgoHelper()
	return env.exits(0, args...)
}

// fails runs the plugin, which must fail with an error, and returns its error output.
func (env *environment) fails(args ...string) string {
	GinkgoHelper()
	return env.exits(2, args...)
}

// exits runs the plugin, which must end with an exit code, and returns its error output.
func (env *environment) exits(code int, args ...string) string {
	GinkgoHelper()
	r := env.run(args...)
	Expect(r.code).To(Equal(code), r.out+r.errOut)
	return r.errOut
}

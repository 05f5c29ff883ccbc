// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	local "mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// proofs begins the names of the namespaces of proofs, which are therefore one account of the driver.
const proofs = "snapsched-proof-"

// proof is what doctor --prove prints.
type proof struct {
	Steps []struct{ Step, State, Words string }
	Left  []string
}

// steps returns those that ended so.
func (p proof) steps(state string) (all []string) {
	for _, s := range p.Steps {
		if s.State == state {
			all = append(all, s.Step)
		}
	}
	return all
}

// ofProofs returns which objects there are in or for the namespaces of proofs, as kind/name, and those namespaces.
func ofProofs(ctx context.Context, lists ...client.ObjectList) (all []string) {
	GinkgoHelper()
	for _, list := range lists {
		Expect(cluster.Client.List(ctx, list)).To(Succeed())
		Expect(meta.EachListItem(list, func(item runtime.Object) error {
			o := item.(client.Object)
			namespace := o.GetNamespace()
			switch o := o.(type) {
			case *corev1.Namespace:
				namespace = o.Name
			case *corev1.PersistentVolume:
				namespace = ptr.Deref(o.Spec.ClaimRef, corev1.ObjectReference{}).Namespace
			case *snapshotv1.VolumeSnapshotContent:
				namespace = o.Spec.VolumeSnapshotRef.Namespace
			case *groupv1.VolumeGroupSnapshotContent:
				namespace = o.Spec.VolumeGroupSnapshotRef.Namespace
			}
			if strings.HasPrefix(namespace, proofs) {
				all = append(all, strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", list), "*v1."), "List")+"/"+o.GetName())
			}
			return nil
		})).To(Succeed())
	}
	return all
}

// newOfProofs returns those that there were not before.
func newOfProofs(ctx context.Context, list client.ObjectList, before []string) []string {
	GinkgoHelper()
	return slices.DeleteFunc(ofProofs(ctx, list), func(o string) bool { return slices.Contains(before, o) })
}

// leftByProofs returns all that proofs have left: objects, and folders of the driver that no object of others is for.
func leftByProofs(ctx context.Context) []string {
	GinkgoHelper()
	volumes, contents := &corev1.PersistentVolumeList{}, &snapshotv1.VolumeSnapshotContentList{}
	all := ofProofs(ctx, &corev1.NamespaceList{}, volumes, contents, &groupv1.VolumeGroupSnapshotContentList{})
	var others []string
	for _, v := range volumes.Items {
		if v.Spec.CSI != nil && !slices.Contains(all, "PersistentVolume/"+v.Name) {
			others = append(others, "volumes/"+v.Spec.CSI.VolumeHandle)
		}
	}
	for _, c := range contents.Items {
		if c.Status != nil && !slices.Contains(all, "VolumeSnapshotContent/"+c.Name) {
			others = append(others, "snapshots/"+ptr.Deref(c.Status.SnapshotHandle, ""))
		}
	}
	storage := filepath.Join(cluster.State.Dir, "data", "storage")
	for _, folder := range suite.Must(filepath.Glob(filepath.Join(storage, "*", "*"))) {
		if data := suite.Must(filepath.Rel(storage, folder)); !slices.Contains(others, data) {
			all = append(all, data)
		}
	}
	return all
}

var _ = Describe("doctor --prove", Ordered, func() {
	var (
		s     *site
		class = &snapshotv1.VolumeSnapshotClass{ObjectMeta: metav1.ObjectMeta{Name: "mock"}}
	)

	behave := func(b local.Behavior) {
		GinkgoHelper()
		Expect(cluster.State.SetBehavior(proofs, b)).To(Succeed())
	}
	start := func(ctx context.Context, args ...string) (cmd *exec.Cmd, wait func() (code int, found proof, output string)) {
		GinkgoHelper()
		var stdout, stderr bytes.Buffer
		cmd = exec.CommandContext(ctx, s.plugin, append([]string{"doctor", "--prove", "--yes", "-o=json"}, args...)...)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		Expect(cmd.Start()).To(Succeed())
		return cmd, func() (code int, found proof, output string) {
			GinkgoHelper()
			_ = cmd.Wait()
			output = stderr.String() + stdout.String()
			GinkgoWriter.Printf("%q: %s\n%s\n", args, cmd.ProcessState, output)
			if stdout.Len() > 0 {
				Expect(json.Unmarshal(stdout.Bytes(), &found)).To(Succeed())
			}
			return cmd.ProcessState.ExitCode(), found, output
		}
	}
	prove := func(ctx context.Context, args ...string) (code int, found proof, output string) {
		GinkgoHelper()
		_, wait := start(ctx, args...)
		return wait()
	}
	// age makes what proofs mark look as if they had not renewed it for so long.
	age := func(ctx context.Context, d time.Duration) {
		GinkgoHelper()
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationProofRenewed, time.Now().Add(-d).UTC().Format(time.RFC3339))
		for _, list := range []client.ObjectList{&corev1.NamespaceList{}, &snapshotv1.VolumeSnapshotContentList{}} {
			Expect(cluster.Client.List(ctx, list, client.HasLabels{v1alpha1.LabelProof})).To(Succeed())
			Expect(meta.EachListItem(list, func(item runtime.Object) error {
				return client.IgnoreNotFound(cluster.Client.Patch(ctx, item.(client.Object), client.RawPatch(types.MergePatchType, patch)))
			})).To(Succeed())
		}
	}
	// copyTo restores a snapshot of web to another namespace.
	copyTo := func(ctx context.Context, v *snapshotv1.VolumeSnapshot, namespace string) (code int, output string) {
		GinkgoHelper()
		return s.snapsched(ctx, "restore", v.Name, "--to-namespace", namespace, "--to", "web")
	}

	BeforeAll(func(ctx context.Context) {
		s = newSite(ctx, "proven")
		s.deploy(ctx, "web")
		get(ctx, class)
		DeferCleanup(func(ctx context.Context) {
			patch, now := map[string]any{}, get(ctx, class.DeepCopy())
			for key := range now.Annotations {
				if _, had := class.Annotations[key]; !had {
					patch[key] = nil
				}
			}
			text := suite.Must(json.Marshal(map[string]any{"metadata": map[string]any{"annotations": patch}}))
			Expect(cluster.Client.Patch(ctx, now, client.RawPatch(types.MergePatchType, text))).To(Succeed())
		})
		DeferCleanup(cluster.State.SetBehavior, proofs, local.Behavior{})
	}, NodeTimeout(5*time.Minute))

	AfterEach(func() { behave(local.Behavior{}) })

	DescribeTable("finds out that the storage", func(ctx context.Context, b local.Behavior, failed []string) {
		behave(b)
		code, found, output := prove(ctx, "--annotate")
		Expect(code).To(Equal(1), output)
		Expect(found.steps("failed")).To(Equal(failed), output)
		Expect(get(ctx, class.DeepCopy()).Annotations[v1alpha1.AnnotationProven]).To(HaveSuffix(" copies=no"))
		Expect(leftByProofs(ctx)).To(BeEmpty())
	},
		// Without groups: an upload makes their members ready up to 15 minutes later.
		Entry("cuts late, and loses snapshots with their volume, and copies with their snapshot",
			local.Behavior{CutLate: "15s", Upload: "17s", LoseWithVolume: true, Clones: "lose"},
			[]string{"cut on time", "restore without volume", "copy without snapshot"}, NodeTimeout(4*time.Minute)),
		Entry("restores other bytes", local.Behavior{WrongBytes: true}, []string{"restore"}, NodeTimeout(3*time.Minute)),
	)

	// While limits waits, the group snapshots become old enough to be deleted.
	It("finds out that the storage cuts a group in pieces, and takes three snapshots, and says what it cannot delete", func(ctx context.Context) {
		behave(local.Behavior{GroupGap: "1s", Refusals: []local.Refusal{
			{Call: "DeleteSnapshot", Code: "INTERNAL", Message: "the storage keeps it"},
			{Call: "CreateSnapshot", Code: "FAILED_PRECONDITION", Message: "three are enough", Snapshots: 3},
		}})
		code, found, output := prove(ctx, "--groups", "--limits")
		Expect(code).To(Equal(1), output)
		Expect(found.steps("failed")).To(Equal([]string{"delete snapshot", "group at one instant"}), output)
		Expect(output).To(MatchRegexp("3 snapshots, then refused for 2m: .*three are enough"))
		left := ofProofs(ctx, &snapshotv1.VolumeSnapshotContentList{})
		Expect(left).NotTo(BeEmpty())
		for _, content := range left {
			Expect(found.Left).To(ContainElement(ContainSubstring(filepath.Base(content))), output)
		}
	}, NodeTimeout(10*time.Minute))

	It("removes what others have left, once they are dead", func(ctx context.Context) {
		left := leftByProofs(ctx) // by the spec before this one
		// The sidecar tries again to delete it when something is written, or minutes later.
		contents := &snapshotv1.VolumeSnapshotContentList{}
		Expect(cluster.Client.List(ctx, contents)).To(Succeed())
		for i := range contents.Items {
			again := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"again":"now"}}}`))
			Expect(client.IgnoreNotFound(cluster.Client.Patch(ctx, &contents.Items[i], again))).To(Succeed()) // it may have been tried since
		}
		for _, at := range []struct {
			kind client.ObjectList
			name string
		}{
			{&corev1.NamespaceList{}, "Namespace/" + proofs},
			{&snapshotv1.VolumeSnapshotList{}, "VolumeSnapshot/first"},
			{&snapshotv1.VolumeSnapshotContentList{}, "VolumeSnapshotContent/snapsched-copy-"},
			{&groupv1.VolumeGroupSnapshotList{}, "VolumeGroupSnapshot/"},
		} {
			By("killing one that has just created " + at.name)
			age(ctx, 11*time.Minute)
			old := ofProofs(ctx, at.kind)
			cmd, wait := start(ctx, "--groups")
			Eventually(func() []string { return newOfProofs(ctx, at.kind, old) }).WithContext(ctx).WithTimeout(3 * time.Minute).
				WithPolling(20 * time.Millisecond).Should(ContainElement(HavePrefix(at.name)))
			Expect(cmd.Process.Kill()).To(Succeed())
			code, _, output := wait()
			Expect(code).To(Equal(-1), output)
			now := leftByProofs(ctx)
			for _, o := range left {
				Expect(now).NotTo(ContainElement(o), "of the one before")
			}
			left = now

			age(ctx, 9*time.Minute)
			code, _, output = prove(ctx)
			Expect(code).To(Equal(2), output)
			Expect(output).To(ContainSubstring(proofs))
			Expect(leftByProofs(ctx)).To(ContainElements(left))
		}
	}, NodeTimeout(8*time.Minute))

	It("is trusted by copies, for the class that it proved", func(ctx context.Context) {
		sum := s.inpod(ctx, "deployment/web", "write", dataFile)
		other := &snapshotv1.VolumeSnapshotClass{
			ObjectMeta: metav1.ObjectMeta{Name: "other"}, Driver: class.Driver, DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete,
		}
		Expect(cluster.Client.Create(ctx, other)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(cluster.Client.Delete(ctx, other)).To(Succeed()) })
		snapshots := map[string]*snapshotv1.VolumeSnapshot{}
		for _, name := range []string{class.Name, other.Name} {
			v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
			v.Spec.Source.PersistentVolumeClaimName, v.Spec.VolumeSnapshotClassName = ptr.To("web"), ptr.To(name)
			Expect(cluster.Client.Create(ctx, v)).To(Succeed())
			snapshots[name] = v
		}
		s.eventuallyReady(ctx, 2)
		target := &site{namespace: "proven-copy", plugin: s.plugin}
		Expect(cluster.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: target.namespace}})).To(Succeed())
		DeferCleanup(func(ctx context.Context) { kubectl(ctx, "delete", "namespace", target.namespace, "--timeout=2m") })
		for _, v := range snapshots {
			code, output := copyTo(ctx, v, target.namespace)
			Expect(code).To(Equal(2), output)
			Expect(output).To(ContainSubstring("--shared-handle"))
		}

		By("proving it, as users that the API server chooses")
		likeOpenShift(ctx)
		age(ctx, 11*time.Minute) // of the last one that was killed
		old := ofProofs(ctx, &corev1.NamespaceList{})
		_, wait := start(ctx, "--groups", "--annotate")
		var begun []string
		Eventually(func() []string {
			begun = newOfProofs(ctx, &corev1.NamespaceList{}, old)
			return begun
		}).WithContext(ctx).WithTimeout(3 * time.Minute).Should(HaveLen(1))
		namespace := strings.TrimPrefix(begun[0], "Namespace/")
		users := usersOfPods(ctx, namespace)
		kubectl(ctx, append([]string{"annotate", "namespace", namespace}, userRange...)...) // as its controller does
		code, found, output := wait()
		Expect(code).To(BeZero(), output)
		Expect(users()).To(And(HaveEach(firstUser), HaveKey("write/fill"), HaveKey("write/prove"), HaveKey("read-copy-again/prove"),
			HaveKey("group-write/fill"), HaveKey("group-write/prove"), HaveKey("read-cut-3/prove")))
		Expect(output).To(ContainSubstring("labeled has the label of a proof"), "a namespace of somebody else, which stays")
		Expect(found.steps("ok")).To(HaveLen(len(found.Steps)), output)
		Expect(leftByProofs(ctx)).To(BeEmpty())
		Expect(get(ctx, class.DeepCopy()).Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationProven, MatchRegexp(`Z \S+ copies=yes groups=yes$`)))
		Expect(get(ctx, other).Annotations).NotTo(HaveKey(v1alpha1.AnnotationProven))

		code, output = copyTo(ctx, snapshots[other.Name], target.namespace)
		Expect(code).To(Equal(2), output)
		code, output = copyTo(ctx, snapshots[class.Name], target.namespace)
		Expect(code).To(BeZero(), output)
		target.run(ctx, "web")
		Expect(target.inpod(ctx, "deployment/web", "sum", dataFile)).To(Equal(sum))
	}, NodeTimeout(8*time.Minute))
})

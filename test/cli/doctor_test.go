// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// pointed is a point of doctor.
type pointed struct{ Check, State, Message, Fix string }

// points returns what doctor says that contains a text. Other specs have problems of their own in the cluster.
func (env *environment) points(about string) (all []pointed) {
	GinkgoHelper()
	r := env.run("doctor", "-o", "json")
	Expect(r.code).To(BeElementOf(0, 1), r.errOut)
	var report struct{ Points []pointed }
	Expect(json.Unmarshal([]byte(r.out), &report)).To(Succeed())
	problems := 0
	for _, p := range report.Points {
		if p.State == "problem" {
			problems++
		}
		if strings.Contains(p.Message, about) {
			all = append(all, p)
		}
	}
	Expect(r.code).To(Equal(min(problems, 1)))
	return all
}

// problems returns those of the points that are problems.
func (env *environment) problems(about string) (all []pointed) {
	GinkgoHelper()
	for _, p := range env.points(about) {
		if p.State == "problem" {
			all = append(all, p)
		}
	}
	return all
}

// shell runs a command that doctor has printed, with the kubectl of the test's API server and the plugin, in a folder.
func shell(dir, command string) (string, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir = dir
	path := []string{os.Getenv("KUBEBUILDER_ASSETS"), filepath.Dir(program), os.Getenv("PATH")}
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "PATH="+strings.Join(path, string(filepath.ListSeparator)))
	out, err := cmd.CombinedOutput()
	GinkgoWriter.Printf("$ %s\n%s\n", command, out)
	return string(out), err
}

// does runs a command, which must succeed.
func does(dir, command string) {
	GinkgoHelper()
	out, err := shell(dir, command)
	Expect(err).NotTo(HaveOccurred(), "%s\n%s", command, out)
}

// inCluster creates an object that is deleted with the spec.
func inCluster[T client.Object](o T) T {
	GinkgoHelper()
	Expect(api.Create(ctx, o)).To(Succeed())
	DeferCleanup(func() { Expect(client.IgnoreNotFound(api.Delete(ctx, o))).To(Succeed()) })
	return o
}

// alter changes an object with a merge patch.
func alter(o client.Object, patch string) {
	GinkgoHelper()
	Expect(api.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

// driverOf returns a driver of the namespace's name, with a suffix, that is installed and whose csi-snapshotter has reacted.
func (env *environment) driverOf(suffix string) string {
	GinkgoHelper()
	driver := env.namespace + suffix
	inCluster(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver}})
	inCluster(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: driver}, Provisioner: driver})
	c := inCluster(contentOf(driver, driver, "default", "young"))
	c.Status = &snapshotv1.VolumeSnapshotContentStatus{SnapshotHandle: ptr.To("s")}
	Expect(api.Status().Update(ctx, c)).To(Succeed())
	return driver
}

// contentOf returns a content that no csi-snapshotter has seen, of a VolumeSnapshot that does not exist.
func contentOf(name, driver, namespace, snapshot string) *snapshotv1.VolumeSnapshotContent {
	return &snapshotv1.VolumeSnapshotContent{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: snapshotv1.VolumeSnapshotContentSpec{
		Driver: driver, DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete, Source: snapshotv1.VolumeSnapshotContentSource{VolumeHandle: ptr.To("h")},
		VolumeSnapshotRef: corev1.ObjectReference{Namespace: namespace, Name: snapshot, UID: "gone"}, SourceVolumeMode: ptr.To(corev1.PersistentVolumeFilesystem),
	}}
}

// classOf returns a class of a driver with annotations; "default" stands for that of a default class.
func classOf(name, driver string, annotations map[string]string) *snapshotv1.VolumeSnapshotClass {
	if _, isDefault := annotations["default"]; isDefault {
		delete(annotations, "default")
		annotations["snapshot.storage.kubernetes.io/is-default-class"] = "true"
	}
	return &snapshotv1.VolumeSnapshotClass{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}, Driver: driver, DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete,
	}
}

func isDefault() map[string]string { return map[string]string{"default": "true"} }

// system creates the namespace of the operator, where it does not exist, and returns its name.
func system() string {
	GinkgoHelper()
	const name = "snapshotschedule-system"
	Expect(client.IgnoreAlreadyExists(api.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))).To(Succeed())
	return name
}

// leaseHeldBy creates the lease of the operator.
func leaseHeldBy(holder string) *coordinationv1.Lease {
	GinkgoHelper()
	return inCluster(&coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: system(), Name: "snapshotschedule.snapshots.mapcontroller.dev"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: ptr.To[int32](3600)},
	})
}

// operatorManifest is the Deployment of the operator of a version.
func operatorManifest(version string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {namespace: %s, name: controller-manager, labels: {app.kubernetes.io/name: snapshotschedule}}
spec:
  selector: {matchLabels: {app: operator}}
  template:
    metadata: {labels: {app: operator}}
    spec:
      serviceAccountName: operator
      containers: [{name: manager, image: "registry.example.com/operator:%s", args: [--leader-elect]}]
---
`, system(), version)
}

// release writes what a release consists of, with the operator of a version, and returns the folder.
func release(version string) (dir string) {
	GinkgoHelper()
	dir = GinkgoT().TempDir()
	Expect(os.Mkdir(filepath.Join(dir, "dist"), 0o700)).To(Succeed())
	install := operatorManifest(version)
	crds := ""
	for _, file := range suite.Must(filepath.Glob("../../config/crd/bases/*.yaml")) {
		crds += string(suite.Must(os.ReadFile(file)))
	}
	for _, file := range []string{"role.yaml", "fleet_role.yaml"} {
		install += string(suite.Must(os.ReadFile("../../config/rbac/" + file)))
	}
	Expect(os.WriteFile(filepath.Join(dir, "dist", "crds.yaml"), []byte(crds), 0o600)).To(Succeed())
	Expect(os.WriteFile(filepath.Join(dir, "dist", "install.yaml"), []byte(install), 0o600)).To(Succeed())
	return dir
}

// installed is a release that kubectl has installed, and the plugin of version v1.0.0 until the end of the spec.
func installed(version string) (dir string) {
	GinkgoHelper()
	released := filepath.Join(temporaryFolder(), "kubectl-snapsched")
	const vars = "mapcontroller.dev/snapshotschedule/internal/version."
	build := exec.Command("go", "build", "-ldflags", "-X "+vars+"version=v1.0.0 -X "+vars+"image=registry.example.com/operator:v1.0.0",
		"-o", released, "../../cmd/kubectl-snapsched")
	output, err := build.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	development := program
	program = released
	DeferCleanup(func() { program = development })
	does(release(version), "kubectl apply --server-side --force-conflicts -f dist/crds.yaml -f dist/install.yaml")
	DeferCleanup(func() {
		does("", "kubectl delete -n "+system()+" deployment controller-manager")
		does("", "kubectl delete clusterrole manager-role fleet-manager-role")
	})
	for _, role := range []string{"manager-role", "fleet-manager-role"} {
		inCluster(&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "test-" + role}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: system(), Name: "operator"}},
		})
	}
	return release("v1.0.0")
}

// fault is what is wrong in a cluster.
type fault struct {
	// about is in all points that are about it, problem in the one that is.
	about, problem string
	// dir is where the command runs.
	dir string
	// fix ends it, where the command only shows what it is, or is none: then its output has shows. grep finds no pods here.
	fix   func()
	shows string
	// elsewhere is set for a command that needs the network.
	elsewhere bool
}

var _ = Describe("doctor", func() {
	// Contract: CLI-46.
	DescribeTable("names what is wrong, and the very command that it prints fixes it, or shows it",
		func(breaks func(env *environment) fault) {
			env := newEnvironment()
			f := breaks(env)
			var named []pointed
			Eventually(func() []pointed { return env.problems(f.about) }).Should(ContainElement(HaveField("Message", ContainSubstring(f.problem)), &named))
			p := named[0]
			if f.fix == nil {
				Expect(p.Fix).NotTo(BeEmpty(), p.Message)
				does(f.dir, p.Fix)
			} else {
				if p.Fix != "" && !f.elsewhere && !strings.Contains(p.Fix, "| grep ") {
					out, err := shell(f.dir, p.Fix)
					Expect(err).NotTo(HaveOccurred(), out)
					Expect(out).To(ContainSubstring(f.shows))
				}
				f.fix()
			}
			Eventually(func() []pointed { return env.problems(f.about) }).Should(BeEmpty())
		},
		Entry("a driver without a class", func(env *environment) fault {
			driver := env.driverOf(".example.com")
			DeferCleanup(func() { Expect(api.Delete(ctx, classOf(driver, driver, nil))).To(Succeed()) })
			return fault{about: driver, problem: "has no VolumeSnapshotClass"}
		}),
		Entry("a driver of known limits without a class", func(env *environment) fault {
			driver := env.driverOf(".disk.csi.azure.com")
			DeferCleanup(func() { Expect(api.Delete(ctx, classOf(driver, driver, nil))).To(Succeed()) })
			return fault{about: driver, problem: "has no VolumeSnapshotClass"}
		}),
		Entry("a driver without a class, whose parameters nobody can guess", func(env *environment) fault {
			driver := env.driverOf(".rbd.csi.ceph.com")
			return fault{about: driver, problem: "docs/storage/ceph.md has one", fix: func() {
				annotations := isDefault()
				annotations[v1alpha1.AnnotationMaxPerVolume] = "200"
				inCluster(classOf(driver, driver, annotations))
			}}
		}),
		Entry("two default classes", func(env *environment) fault {
			driver := env.driverOf(".example.com")
			inCluster(classOf(driver, driver, isDefault()))
			inCluster(classOf(driver+".z", driver, isDefault()))
			return fault{about: driver, problem: "2 VolumeSnapshotClasses of driver " + driver + " are its default"}
		}),
		Entry("an only class that is not the default", func(env *environment) fault {
			driver := env.driverOf(".example.com")
			inCluster(classOf(driver, driver, nil))
			return fault{about: driver, problem: "the only VolumeSnapshotClass of driver " + driver}
		}),
		Entry("two classes, and no default", func(env *environment) fault {
			driver := env.driverOf(".example.com")
			inCluster(classOf(driver, driver, nil))
			inCluster(classOf(driver+".z", driver, nil))
			return fault{about: driver, problem: "none of the 2 VolumeSnapshotClasses"}
		}),
		Entry("a class of a driver that is not installed", func(env *environment) fault {
			driver := env.namespace + ".removed.example.com"
			inCluster(classOf(driver, driver, isDefault()))
			return fault{about: driver, problem: "which is down, or not installed", fix: func() {
				Expect(api.Delete(ctx, classOf(driver, driver, nil))).To(Succeed())
			}}
		}),
		Entry("a class that retains", func(env *environment) fault {
			driver := env.driverOf(".example.com")
			class := classOf(driver, driver, isDefault())
			class.DeletionPolicy = snapshotv1.VolumeSnapshotContentRetain
			inCluster(class)
			return fault{about: driver, problem: "deletionPolicy Retain"}
		}),
		Entry("limits that no class states", func(env *environment) fault {
			driver := env.driverOf(".rbd.csi.ceph.com")
			inCluster(classOf(driver, driver, isDefault()))
			return fault{about: driver, problem: "states the limits of Ceph RBD"}
		}),
		Entry("a limit that is no number", func(env *environment) fault {
			driver := env.driverOf(".example.com")
			annotations := isDefault()
			annotations[v1alpha1.AnnotationMaxPerVolume] = "many'; $(false)"
			inCluster(classOf(driver, driver, annotations))
			return fault{about: driver, problem: "which is not a positive integer; it is ignored"}
		}),
		Entry("group snapshots that are not installed, and a schedule with a group", func(env *environment) fault {
			env.createSchedule("db", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "24h", Group: &v1alpha1.Group{ByLabel: "app"}})
			// The command needs the network and git: the same files are installed from here.
			return fault{about: "volumegroupsnapshots.groupsnapshot", problem: "is not installed", elsewhere: true, fix: groupCRDs}
		}),
		Entry("a class of group snapshots that retains", func(env *environment) fault {
			groupCRDs()
			driver := env.driverOf(".example.com")
			inCluster(classOf(driver, driver, isDefault()))
			inCluster(&groupv1.VolumeGroupSnapshotClass{
				ObjectMeta: metav1.ObjectMeta{Name: driver, Annotations: map[string]string{"groupsnapshot.storage.kubernetes.io/is-default-class": "true"}},
				Driver:     driver, DeletionPolicy: "Retain",
			})
			env.createSchedule("db", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "24h", Group: &v1alpha1.Group{ByLabel: "app"}})
			return fault{
				about: driver, problem: "VolumeGroupSnapshotClass " + driver + " has the deletionPolicy Retain", dir: GinkgoT().TempDir(),
			}
		}),
		Entry("a class of group snapshots that is not the default, and a schedule with a group", func(env *environment) fault {
			groupCRDs()
			env.createSchedule("db", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "24h", Group: &v1alpha1.Group{ByLabel: "app"}})
			driver := env.driverOf(".example.com")
			inCluster(classOf(driver, driver, isDefault()))
			inCluster(&groupv1.VolumeGroupSnapshotClass{
				ObjectMeta: metav1.ObjectMeta{Name: driver}, Driver: driver, DeletionPolicy: "Delete",
			})
			return fault{about: driver, problem: "the only VolumeGroupSnapshotClass of driver " + driver}
		}),
		Entry("a limit of a class of group snapshots that is none", func(env *environment) fault {
			groupCRDs()
			driver := env.driverOf(".example.com")
			inCluster(classOf(driver, driver, isDefault()))
			inCluster(&groupv1.VolumeGroupSnapshotClass{
				ObjectMeta: metav1.ObjectMeta{Name: driver, Annotations: map[string]string{v1alpha1.AnnotationMinSpacing: "soon"}},
				Driver:     driver, DeletionPolicy: "Delete",
			})
			return fault{about: driver, problem: "VolumeGroupSnapshotClass " + driver + ` is "soon"`}
		}),
		Entry("CRDs that are older than the plugin", func(_ *environment) fault {
			dir := installed("v1.0.0")
			old := GinkgoT().TempDir()
			text := string(suite.Must(os.ReadFile(filepath.Join(dir, "dist", "crds.yaml"))))
			Expect(os.WriteFile(filepath.Join(old, "crds.yaml"), []byte(strings.ReplaceAll(text, "minVerified:", "x-of-yesterday:")), 0o600)).To(Succeed())
			does(old, "kubectl apply --server-side --force-conflicts -f crds.yaml")
			DeferCleanup(func() { does(dir, "kubectl apply --server-side --force-conflicts -f dist/crds.yaml") })
			return fault{about: "snapshotschedules.snapshots.mapcontroller.dev is older", problem: "no field", dir: dir}
		}),
		Entry("CRDs that are newer than the plugin", func(_ *environment) fault {
			dir := installed("v1.0.0")
			newer := GinkgoT().TempDir()
			text := string(suite.Must(os.ReadFile(filepath.Join(dir, "dist", "crds.yaml"))))
			text = regexp.MustCompile(`(?m)^( +)minVerified:$`).ReplaceAllString(text, "${1}ofTomorrow: {type: string}\n$0")
			Expect(os.WriteFile(filepath.Join(newer, "crds.yaml"), []byte(text), 0o600)).To(Succeed())
			does(newer, "kubectl apply --server-side --force-conflicts -f crds.yaml")
			restore := func() { does(dir, "kubectl apply --server-side --force-conflicts -f dist/crds.yaml") }
			DeferCleanup(restore)
			return fault{about: "snapshotschedules.snapshots.mapcontroller.dev is newer", problem: "install the plugin of the operator's release", fix: restore}
		}),
		Entry("a kind of another project with a name of ours", func(_ *environment) fault {
			does("testdata", "kubectl create -f snapscheduler.yaml")
			remove := func() { does("testdata", "kubectl delete --ignore-not-found -f snapscheduler.yaml") }
			DeferCleanup(remove)
			return fault{
				about: "snapshotschedules is a name of", problem: "snapshotschedules.snapscheduler.backube too", shows: "No resources found", fix: remove,
			}
		}),
		Entry("a short name of snapshots that another kind has", func(_ *environment) fault {
			with := kindOfOthers("snapshotters.kubestash.example.com", "Snapshotter", "vs")
			return fault{about: "vs is a name of", problem: "snapshotters.kubestash.example.com too", shows: "No resources found", fix: with("delete")}
		}),
		Entry("a snapshot controller that does not react", func(env *environment) fault {
			s, data := env.createSchedule("daily", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "24h"}), env.createClaim("data")
			put(time.Time{}, snapshotAt(s, data, ago(2*day)))
			waits := builders.Existing(builders.Snapshot(s, data, ago(3*time.Minute)), uuid.NewUUID(), ago(3*time.Minute))
			waits.Status = nil
			put(time.Time{}, waits)
			return fault{about: waits.Name, problem: "no snapshot controller has reacted", fix: func() {
				waits.Status = &snapshotv1.VolumeSnapshotStatus{BoundVolumeSnapshotContentName: ptr.To("content")}
				put(time.Time{}, waits)
			}}
		}),
		Entry("a csi-snapshotter that does not react", func(env *environment) fault {
			driver := env.namespace + ".example.com"
			inCluster(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver}})
			inCluster(classOf(driver, driver, isDefault()))
			c := inCluster(contentOf(driver, driver, env.namespace, "nosuch"))
			c.CreationTimestamp = metav1.NewTime(ago(3 * time.Minute))
			put(time.Time{}, c)
			return fault{about: driver, problem: "the csi-snapshotter of " + driver + " has not reacted", fix: func() {
				c.Status = &snapshotv1.VolumeSnapshotContentStatus{SnapshotHandle: ptr.To("s")}
				put(time.Time{}, c)
			}}
		}),
		Entry("an operator that is dead", func(_ *environment) fault {
			lease := leaseHeldBy("")
			return fault{about: "sign of life", problem: "it shows no sign of life since", shows: lease.Name, fix: func() {
				alter(lease, `{"spec":{"holderIdentity":"pod"}}`)
			}}
		}),
		Entry("an operator without leader election that is scaled to none, whatever lease there is", func(env *environment) fault {
			leaseHeldBy("") // of another time
			does("", "cat <<'EOF' | sed 's/ args: .--leader-elect.//' | kubectl apply -f -\n"+operatorManifest("v1.0.0")+"EOF")
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: system(), Name: "controller-manager"}}
			DeferCleanup(func() { Expect(api.Delete(ctx, d)).To(Succeed()) })
			alter(d, `{"spec":{"replicas":0}}`)
			Expect(env.points("sign of life")).To(BeEmpty())
			return fault{about: "Deployment " + d.Namespace + "/" + d.Name, problem: "is scaled to none", shows: "scaled", fix: func() {
				Expect(env.problems(d.Name)).To(ContainElement(HaveField("Message", ContainSubstring("no pod of Deployment"))))
				Expect(api.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
				d.Status.Replicas, d.Status.ReadyReplicas = 2, 2 // as its controller does
				Expect(api.Status().Update(ctx, d)).To(Succeed())
			}}
		}),
		Entry("an operator that is older than the plugin", func(_ *environment) fault {
			leaseHeldBy("pod")
			dir := installed("v0.9.0")
			return fault{about: "Deployment", problem: "runs version 0.9.0, which is older than this plugin, 1.0.0", dir: dir}
		}),
		Entry("an operator that is newer than the plugin", func(_ *environment) fault {
			leaseHeldBy("pod")
			dir := installed("v2.0.0")
			return fault{about: "Deployment", problem: "runs version 2.0.0, which is newer than this plugin, 1.0.0", fix: func() {
				does(dir, "kubectl apply --server-side -f dist/install.yaml")
			}}
		}),
		Entry("an operator that lacks rights", func(_ *environment) fault {
			leaseHeldBy("pod")
			dir := installed("v1.0.0")
			does(dir, "sed '/- delete/d' dist/install.yaml | kubectl apply --server-side -f -")
			return fault{about: "the operator lacks", problem: "the operator lacks 3 rights", dir: dir}
		}),
		Entry("a schedule that is suspended", func(env *environment) fault {
			env.createSchedule("stopped", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "24h", Suspend: true})
			env.createClaim("data")
			return fault{about: env.namespace + "/stopped", problem: "is suspended"}
		}),
		Entry("a schedule that its ClusterSnapshotSchedule suspends", func(env *environment) fault {
			fleet := env.createFleet(v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "24h", Suspend: true, DeletionPolicy: v1alpha1.DeletionOrphan})
			env.createChild(fleet)
			env.createClaim("data")
			return fault{about: env.namespace + "/" + fleet.Name, problem: "is suspended by its ClusterSnapshotSchedule"}
		}),
		Entry("a schedule whose ClusterSnapshotSchedule does not select the namespace", func(env *environment) fault {
			fleet := env.createFleet(v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "24h", DeletionPolicy: v1alpha1.DeletionOrphan})
			env.createChild(fleet)
			env.createClaim("data")
			alter(fleet, `{"spec":{"namespaceSelector":{"matchLabels":{"team":"a"}}}}`)
			return fault{about: env.namespace + "/" + fleet.Name, problem: "does not select the namespace", shows: fleet.Name, fix: func() {
				alter(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: env.namespace}}, `{"metadata":{"labels":{"team":"a"}}}`)
			}}
		}),
		Entry("a schedule that selects no PVC", func(env *environment) fault {
			env.createSchedule("typo", v1alpha1.SnapshotScheduleSpec{
				SnapshotInterval: "24h", Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "my-ap"}},
			})
			env.createClaim("data")
			return fault{about: env.namespace + "/typo", problem: "protects nothing: it selects no PVC", shows: "typo", fix: func() {
				env.createClaim("more", "app", "my-ap")
			}}
		}),
		Entry("a schedule whose PVCs cannot be snapshotted", func(env *environment) fault {
			env.createSchedule("skips", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "24h"})
			c := env.createClaim("in-tree")
			c.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": "kubernetes.io/nfs"}
			put(time.Time{}, c)
			return fault{about: env.namespace + "/skips", problem: "none of its PVCs can be snapshotted", shows: "in-tree", fix: func() { env.createClaim("data") }}
		}),
		Entry("a snapshot that does not go", func(env *environment) fault {
			s := env.createSchedule("daily", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "24h"})
			stuck := snapshotAt(s, env.createClaim("data"), ago(3*day))
			stuck.DeletionTimestamp, stuck.Finalizers = ptr.To(metav1.NewTime(ago(2*time.Hour))), []string{"snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"}
			put(time.Time{}, stuck)
			return fault{about: stuck.Name, problem: "is being deleted for 120m", shows: "volumesnapshot-bound-protection", fix: func() {
				alter(stuck, `{"metadata":{"finalizers":null}}`)
			}}
		}),
		Entry("a snapshot that does not become ready", func(env *environment) fault {
			s := env.createSchedule("daily", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "24h"})
			unready := snapshotAt(s, env.createClaim("data"), ago(2*day))
			unready.Status.ReadyToUse, unready.Status.Error = ptr.To(false), &snapshotv1.VolumeSnapshotError{Message: ptr.To("quota exceeded")}
			put(time.Time{}, unready)
			return fault{about: unready.Name, problem: "is not ready after 2d: quota exceeded", shows: "quota exceeded", fix: func() {
				unready.Status.ReadyToUse, unready.Status.Error = ptr.To(true), nil
				put(time.Time{}, unready)
			}}
		}),
		Entry("a content without a snapshot", func(env *environment) fault {
			driver := env.driverOf(".example.com")
			inCluster(classOf(driver, driver, isDefault()))
			left := inCluster(contentOf("left-"+env.namespace, driver, env.namespace, "nosuch"))
			Expect(env.points(left.Name)).To(BeEmpty(), "it is younger than what settles")
			left.CreationTimestamp, left.Status = metav1.NewTime(ago(time.Hour)), &snapshotv1.VolumeSnapshotContentStatus{SnapshotHandle: ptr.To("s")}
			put(time.Time{}, left)
			return fault{about: left.Name, problem: "which does not exist", shows: "nosuch", fix: func() { Expect(api.Delete(ctx, left)).To(Succeed()) }}
		}),
		Entry("a safety snapshot of a week ago", func(env *environment) fault {
			for name, age := range map[string]time.Duration{"young": day, "old": 10 * day} {
				v := builders.Existing(&snapshotv1.VolumeSnapshot{}, uuid.NewUUID(), ago(age))
				v.Namespace, v.Name, v.Labels = env.namespace, name, map[string]string{v1alpha1.LabelRollback: "f7ee3394"}
				v.Spec.Source.PersistentVolumeClaimName, v.Status = ptr.To("data"), &snapshotv1.VolumeSnapshotStatus{
					ReadyToUse: ptr.To(true), BoundVolumeSnapshotContentName: ptr.To("content-" + name),
				}
				put(time.Time{}, v)
			}
			Expect(env.points(env.namespace + "/young")).To(ConsistOf(HaveField("State", "ok")))
			return fault{about: env.namespace + "/old", problem: "is the safety snapshot of rollback f7ee3394", shows: "f7ee3394", fix: func() {
				Expect(api.Delete(ctx, &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: "old"}})).To(Succeed())
			}}
		}),
	)

	// Contract: CLI-46.
	It("takes nothing for left behind that retention deletes while it reads", func() {
		env := newEnvironment()
		v := snapshotAt(env.createSchedule("daily", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "24h"}), env.createClaim("data"), ago(2*day))
		content := inCluster(contentOf("content-"+v.Name+"-"+env.namespace, env.driverOf(".example.com"), env.namespace, v.Name))
		content.Spec.VolumeSnapshotRef.UID, content.CreationTimestamp = v.UID, metav1.NewTime(ago(2*day))
		put(time.Time{}, v, content)
		// The operator lists both kinds of the namespace before, and only one of all names.
		var first sync.Once
		env.kubeconfig = startProxy(func(r *http.Request, send roundTripper) (*http.Response, error) {
			defer GinkgoRecover()
			resp, err := send(r)
			names := strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") && path.Base(r.URL.Path) == "volumesnapshots"
			if names || path.Base(r.URL.Path) == "volumesnapshotcontents" {
				first.Do(func() {
					Expect(api.Delete(ctx, v)).To(Succeed())
					Expect(api.Delete(ctx, content)).To(Succeed())
				})
			}
			return resp, err
		})
		Expect(env.problems(content.Name)).To(BeEmpty())
		Expect(api.Get(ctx, client.ObjectKeyFromObject(content), content)).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
	})

	// Contract: CLI-46.
	It("takes no name of Longhorn or KubeStash for ours", func() {
		env := newEnvironment()
		kindOfOthers("snapshots.longhorn.example.com", "Snapshot", "lhsnap")
		kindOfOthers("snapshots.storage.kubestash.example.com", "Snapshot", "repositories")
		Eventually(func() string { out, _ := shell("", "kubectl api-resources"); return out }).Should(And(ContainSubstring("longhorn"), ContainSubstring("kubestash")))
		Expect(env.points("is a name of")).To(BeEmpty())
	})

	// Contract: CLI-46.
	It("says what a tenant may not read, and is not wrong about it", func() {
		env := newEnvironment()
		env.createSchedule("good", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "24h"})
		env.createClaim("data")
		By("PVCs")
		few := []rbacv1.PolicyRule{{APIGroups: []string{"snapshot.storage.k8s.io", "snapshots.mapcontroller.dev"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}}}
		Expect(env.as(env.may("few", few, "doctor")).run("doctor").out).To(And(
			ContainSubstring("unknown PVCs and snapshots could not be read: "), ContainSubstring("cannot list resource \"persistentvolumeclaims\""),
			Not(ContainSubstring("protects nothing"))))
		By("what is cluster-wide")
		reads := []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}}}
		tenant := env.as(env.may("tenant", reads, "status"))
		out := tenant.run("doctor", "-o", "json")
		Expect(out.code).To(BeZero(), out.out+out.errOut)
		var report struct{ Points []pointed }
		Expect(json.Unmarshal([]byte(out.out), &report)).To(Succeed())
		Expect(report.Points).NotTo(ContainElement(HaveField("State", "problem")))
		Expect(report.Points).To(ContainElement(And(HaveField("State", "unknown"), HaveField("Message", "you may not list volumesnapshotclasses"))))
	})
})

// groupCRDs installs the kinds of group snapshots until the end of the spec.
func groupCRDs() {
	GinkgoHelper()
	suite.InstallGroupCRDs(server.Config)
	DeferCleanup(func() { suite.UninstallGroupCRDs(ctx, server.Config, api) })
}

// kindOfOthers installs a kind with a short name until the end of the spec, and returns what does something else with it.
func kindOfOthers(name, kind, short string) func(verb string) func() {
	GinkgoHelper()
	plural, group, _ := strings.Cut(name, ".")
	with := func(verb string) func() {
		return func() {
			GinkgoHelper()
			does("", fmt.Sprintf(`cat <<'EOF' | kubectl %s -f -
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %s}
spec:
  group: %s
  scope: Namespaced
  names: {kind: %s, plural: %s, shortNames: [%s]}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
EOF`, verb, name, group, kind, plural, short))
		}
	}
	with("create")()
	DeferCleanup(with("delete --ignore-not-found"))
	return with
}

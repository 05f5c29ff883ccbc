// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	local "mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/process"
	"mapcontroller.dev/snapshotschedule/test/internal/recording"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// database is a StatefulSet whose PVCs have a snapshot each.
type database struct {
	namespace string
	set       *appsv1.StatefulSet
	plugin    string
	// volumes are the names of the volumes at first, by PVC, and at the time of the snapshots.
	volumes map[string]string
	at      time.Time
}

// newDatabase creates a StatefulSet of replicas pods, which nothing runs, and a schedule, and waits for a snapshot of each PVC.
func newDatabase(ctx context.Context, plugin string, replicas int32, class *string) *database {
	GinkgoHelper()
	d := &database{namespace: cluster.Namespace(ctx, "rollback"), plugin: plugin, volumes: map[string]string{}}
	labels := map[string]string{"app": "db"}
	template := builders.Claim("", "data", labels)
	template.Spec.StorageClassName = class
	d.set = &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: "db"}, Spec: appsv1.StatefulSetSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, PodManagementPolicy: appsv1.ParallelPodManagement,
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{*template},
		Template:             podTemplate(labels, corev1.Volume{}),
	}}
	Expect(cluster.Client.Create(ctx, d.set)).To(Succeed())
	for i := range replicas {
		d.volumes[fmt.Sprintf("data-db-%d", i)] = ""
	}
	for name := range d.volumes {
		Eventually(func(g Gomega) {
			p := &corev1.PersistentVolumeClaim{}
			g.Expect(cluster.Client.Get(ctx, client.ObjectKey{Namespace: d.namespace, Name: name}, p)).To(Succeed())
			g.Expect(p.Status.Phase).To(Equal(corev1.ClaimBound))
			d.volumes[name] = p.Spec.VolumeName
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())
	}
	cluster.Schedule(ctx, d.namespace, hourly)
	eventuallySnapshots(ctx, d.namespace, int(replicas))
	nextSecond(ctx)
	d.at = time.Now()
	return d
}

func podTemplate(labels map[string]string, volumes ...corev1.Volume) corev1.PodTemplateSpec {
	t := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
	t.Spec.Containers = []corev1.Container{{Name: "db", Image: "db"}}
	for _, v := range volumes {
		if v.Name != "" {
			t.Spec.Volumes = append(t.Spec.Volumes, v)
		}
	}
	return t
}

// to are the arguments that roll all PVCs back to the snapshots.
func (d *database) to() []string {
	return []string{"statefulset/db", "--yes", "--as-of", d.at.UTC().Format(time.RFC3339)}
}

// run runs rollback, as the admin or through a proxy, and returns its exit code and what it prints.
func (d *database) run(ctx context.Context, kubeconfig string, args ...string) (code int, output string) {
	GinkgoHelper()
	return d.start(ctx, kubeconfig, args...)()
}

func (d *database) command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, d.plugin, append([]string{"rollback", "-n", d.namespace}, args...)...)
}

func (d *database) start(ctx context.Context, kubeconfig string, args ...string) (wait func() (int, string)) {
	GinkgoHelper()
	var out bytes.Buffer
	cmd := d.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = process.DieWithParent()
	if kubeconfig != "" {
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	}
	Expect(cmd.Start()).To(Succeed())
	return func() (int, string) {
		GinkgoHelper()
		var exit *exec.ExitError
		if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
			Expect(err).NotTo(HaveOccurred())
		}
		GinkgoWriter.Printf("rollback %q: %s\n%s\n", args, cmd.ProcessState, out.String())
		return cmd.ProcessState.ExitCode(), out.String()
	}
}

// afterWrite starts a proxy before the API server, and returns a kubeconfig for it. after is called when a write has been
// committed, before its answer is sent; if it returns false, there is no answer, nor to anything else.
func afterWrite(after func(method, resource, name string) bool) (kubeconfig string) {
	GinkgoHelper()
	transport, err := rest.TransportFor(cluster.Config)
	Expect(err).NotTo(HaveOccurred())
	target, _, err := rest.DefaultServerUrlFor(cluster.Config)
	Expect(err).NotTo(HaveOccurred())
	var one sync.Mutex
	dead := false
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			defer GinkgoRecover()
			one.Lock()
			defer one.Unlock()
			if dead {
				return nil, http.ErrAbortHandler
			}
			resp, err := transport.RoundTrip(r)
			resource, name := path.Base(path.Dir(r.URL.Path)), path.Base(r.URL.Path)
			if r.Method == http.MethodPost {
				resource, name = name, ""
			}
			asks := strings.HasPrefix(resource, "selfsubject") // a question, in the form of a create
			if err == nil && r.Method != http.MethodGet && !asks && resp.StatusCode < 300 && !after(r.Method, resource, name) {
				dead = true
				resp.Body.Close()
				return nil, http.ErrAbortHandler
			}
			return resp, err
		}),
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	listener := httptest.NewServer(proxy)
	DeferCleanup(listener.Close)
	kubeconfig = filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(local.WriteKubeconfig(kubeconfig, &rest.Config{Host: listener.URL})).To(Succeed())
	return kubeconfig
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// dieAfter starts a proxy through which the program gets no further than a write, to any object if no name is given.
func dieAfter(method, resource, name string) (kubeconfig string) {
	GinkgoHelper()
	return afterWrite(func(m, r, n string) bool { return m != method || r != resource || name != "" && n != name })
}

// claim reads a PVC, and volume the PersistentVolume that it had at first.
func (d *database) claim(ctx context.Context, name string) *corev1.PersistentVolumeClaim {
	GinkgoHelper()
	return get(ctx, builders.Claim(d.namespace, name, nil))
}

func (d *database) volume(ctx context.Context, name string) *corev1.PersistentVolume {
	GinkgoHelper()
	return get(ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// expectKept expects that nothing deletes the volumes with the data from before the rollback.
func (d *database) expectKept(ctx context.Context) {
	GinkgoHelper()
	for name, old := range d.volumes {
		v := d.volume(ctx, old)
		if v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRetain {
			Expect(v.DeletionTimestamp).To(BeNil())
			continue
		}
		Expect(d.claim(ctx, name)).To(And(HaveField("UID", v.Spec.ClaimRef.UID), HaveField("DeletionTimestamp", BeNil())))
	}
}

// expectRolledBack expects that the PVCs have other volumes, with all else as it was.
func (d *database) expectRolledBack(ctx context.Context) {
	GinkgoHelper()
	d.expectBack(ctx, Not(BeElementOf(values(d.volumes))))
	for _, old := range d.volumes {
		Expect(d.volume(ctx, old)).To(And(HaveField("Status.Phase", corev1.VolumeReleased),
			HaveField("Spec.PersistentVolumeReclaimPolicy", corev1.PersistentVolumeReclaimRetain)))
	}
}

func (d *database) expectBack(ctx context.Context, volume gomegatypes.GomegaMatcher) {
	GinkgoHelper()
	claims := &corev1.PersistentVolumeClaimList{}
	Expect(cluster.Client.List(ctx, claims, client.InNamespace(d.namespace))).To(Succeed())
	uids := map[string]string{}
	for _, p := range claims.Items {
		uids[p.Name] = string(p.UID)
		Expect(d.volumes).To(HaveKey(p.Name))
		Expect(p).To(And(HaveField("Status.Phase", corev1.ClaimBound), HaveField("Spec.VolumeName", volume),
			HaveField("Labels", HaveKeyWithValue("app", "db")),
			HaveField("Annotations", HaveKeyWithValue("volume.kubernetes.io/storage-provisioner", mockDriver))))
		Expect(d.volume(ctx, p.Spec.VolumeName).Spec.PersistentVolumeReclaimPolicy).To(Equal(corev1.PersistentVolumeReclaimDelete))
	}
	Expect(uids).To(HaveLen(len(d.volumes)))
	Expect(get(ctx, d.set).Spec.Replicas).To(HaveValue(BeEquivalentTo(len(d.volumes))))
	for _, v := range cluster.Snapshots(ctx, d.namespace) {
		if strings.Contains(v.Name, "-before-") {
			Expect(v.Labels).To(And(HaveKey(v1alpha1.LabelRollback), Not(HaveKey(v1alpha1.LabelMapKey)), Not(HaveKey(v1alpha1.LabelSchedule))))
			Expect(ready(&v)).To(BeTrue())
			continue
		}
		Expect(v.Labels).To(HaveKeyWithValue(v1alpha1.LabelMapKey, uids[*v.Spec.Source.PersistentVolumeClaimName]), v.Name)
		if end, held := backup.HeldUntil(&v); held { // the target, for a day
			Expect(end).To(BeTemporally("<=", time.Now().Add(24*time.Hour+time.Minute)), v.Name)
		}
	}
	Expect(get(ctx, d.set).Annotations).NotTo(HaveKey(v1alpha1.AnnotationRollback))
	// The schedule goes on with the same series.
	Eventually(fresh(ctx, builders.Schedule(d.namespace, "nightly", hourly))).WithContext(ctx).WithTimeout(time.Minute).Should(And(
		beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled), HaveField("Status.Detached", Or(BeNil(), HaveValue(BeZero())))))
}

func values(m map[string]string) (all []any) {
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

var _ = Describe("kubectl snapsched rollback", Ordered, ContinueOnFailure, func() {
	var plugin string
	BeforeAll(func(ctx context.Context) {
		plugin = buildPlugin(ctx)
		cluster.Start(ctx)
	}, NodeTimeout(3*time.Minute))

	// Contract: BACK-1.
	It("killed, or without an answer, after each of its writes, is done by running it again and again, and loses nothing", func(ctx context.Context) {
		d := newDatabase(ctx, plugin, 2, nil)
		before := names(cluster.Snapshots(ctx, d.namespace))
		writes, done := 0, false
		for !done {
			run, cancel := context.WithCancel(ctx)
			kubeconfig := afterWrite(func(method, resource, name string) bool {
				writes++
				GinkgoWriter.Println(method, resource, name)
				if writes%5 != 1 { // each run that lives on takes 5 s to give up
					cancel() // which kills it
				}
				return false
			})
			code, output := d.run(run, kubeconfig, d.to()...)
			cancel()
			again := strings.Contains(output, "has gone back to VolumeSnapshot") // it was killed after its last write
			done = code == 0 || again
			Expect(writes).To(BeNumerically("<", 90), output)
			if code == 2 && !again { // it has seen that there is no answer, perhaps before it was killed
				Expect(output).To(And(ContainSubstring("EOF"), ContainSubstring("The rollback is unfinished")))
			} else {
				Expect(code).To(BeElementOf(0, -1, 2), output)
			}
			d.expectKept(ctx)
		}
		Expect(writes).To(BeNumerically(">", 20))
		d.expectRolledBack(ctx)
		Expect(names(cluster.Snapshots(ctx, d.namespace))).To(ContainElements(before))
		code, output := d.run(ctx, "", append(d.to(), "--dry-run")...)
		Expect(code).To(Equal(2))
		Expect(output).To(ContainSubstring("has gone back to VolumeSnapshot " + before[0]))
	}, NodeTimeout(5*time.Minute))

	It("prints the whole plan with --dry-run, and changes nothing", func(ctx context.Context) {
		d := newDatabase(ctx, plugin, 1, nil)
		code, output := d.run(ctx, "", "--pvc", "data-db-0", "--snapshot", cluster.Snapshots(ctx, d.namespace)[0].Name, "--dry-run")
		Expect(code).To(BeZero())
		Expect(output).To(And(ContainSubstring(" 1. hold 1 snapshot for 24 h"), ContainSubstring(" 5. scale statefulset/db from 1 to 0"),
			ContainSubstring("10. scale statefulset/db to 1")))
		d.expectBack(ctx, Equal(d.volumes["data-db-0"]))
		Expect(cluster.Snapshots(ctx, d.namespace)).To(HaveLen(1))
		code, output = d.run(ctx, "", d.to()[0], "--as-of", d.at.UTC().Format(time.RFC3339))
		Expect(code).To(Equal(2))
		Expect(output).To(ContainSubstring("specify --yes"))
	}, NodeTimeout(2*time.Minute))

	// Contract: BACK-1.
	It("goes back with --undo to the old volumes, once", func(ctx context.Context) {
		d := newDatabase(ctx, plugin, 1, nil)
		seen := &recording.Recording{}
		seen.Call(d.namespace, "shop")
		v := cluster.Snapshots(ctx, d.namespace)[0] // a busy machine cuts it in another second than that of its slot
		seen.Call(v.Status.CreationTime.UTC().Format(time.RFC3339), v.Annotations[v1alpha1.AnnotationScheduledAt])
		// What it waits for goes to stderr: that differs.
		record := func(args ...string) {
			nextSecond(ctx) // or times would be equal in one recording, and not in another one
			seen.Ran("kubectl snapsched rollback "+strings.Join(args, " "), string(suite.Must(d.command(ctx, args...).Output())))
		}
		record(d.to()...)
		d.expectRolledBack(ctx)
		undo := []string{"statefulset/db", "--undo", "--yes"}
		record(undo...)
		Expect(seen.Check("contribute/rollback.md", "rollback")).To(Succeed())
		d.expectBack(ctx, BeElementOf(values(d.volumes)))
		code, output := d.run(ctx, "", undo...)
		Expect(code).To(Equal(2))
		Expect(output).To(ContainSubstring("there is no rollback to undo"))
		d.expectBack(ctx, BeElementOf(values(d.volumes)))
	}, NodeTimeout(3*time.Minute))

	// Contract: BACK-1.
	DescribeTable("interrupted, is undone", func(ctx context.Context, method, resource, name string) {
		d := newDatabase(ctx, plugin, 2, nil)
		code, output := d.run(ctx, dieAfter(method, resource, name), d.to()...)
		Expect(code).To(Equal(2), output)
		code, _ = d.run(ctx, "", "statefulset/db", "--undo", "--yes")
		Expect(code).To(BeZero())
		d.expectBack(ctx, BeElementOf(values(d.volumes)))
	},
		Entry("after its first hold", http.MethodPatch, "volumesnapshots", "", NodeTimeout(2*time.Minute)),
		Entry("after it has restored", http.MethodPost, "persistentvolumeclaims", "", NodeTimeout(2*time.Minute)),
		Entry("after its note on the StatefulSet", http.MethodPatch, "statefulsets", "db", NodeTimeout(2*time.Minute)),
		Entry("after it has deleted a PVC", http.MethodDelete, "persistentvolumeclaims", "data-db-0", NodeTimeout(2*time.Minute)),
	)

	// Contract: BACK-2.
	It("stops when somebody scales up again, and goes on with the PVC that the StatefulSet has created from its template",
		func(ctx context.Context) {
			d := newDatabase(ctx, plugin, 1, nil)
			old := d.claim(ctx, "data-db-0")
			kubeconfig := afterWrite(func(method, _, name string) bool {
				if method == http.MethodDelete && name == "data-db-0" {
					Expect(cluster.Client.Patch(ctx, d.set.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":1}}`)),
						client.FieldOwner("gitops"))).To(Succeed())
					Eventually(func(g Gomega) {
						p := &corev1.PersistentVolumeClaim{}
						g.Expect(cluster.Client.Get(ctx, client.ObjectKeyFromObject(old), p)).To(Succeed())
						g.Expect(p.UID).NotTo(Equal(old.UID))
					}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())
				}
				return true
			})
			code, output := d.run(ctx, kubeconfig, d.to()...)
			if code != 0 { // it may have seen the new PVC bound to the restored volume first, and then all is well
				Expect(output).To(ContainSubstring("field manager gitops has scaled it up to 1 again"))
				code, _ = d.run(ctx, "", d.to()...)
			}
			Expect(code).To(BeZero())
			d.expectRolledBack(ctx)
		}, NodeTimeout(3*time.Minute))

	// Contract: BACK-2.
	It("stops at a PVC of the name that has another volume, and scales nothing up", func(ctx context.Context) {
		d := newDatabase(ctx, plugin, 1, nil)
		old := d.claim(ctx, "data-db-0")
		foreign := builders.Claim(d.namespace, "data-db-0", nil)
		foreign.Spec.VolumeName = "elsewhere"
		kubeconfig := afterWrite(func(method, _, name string) bool {
			if method == http.MethodDelete && name == "data-db-0" {
				eventuallyGone(ctx, old)
				Expect(cluster.Client.Create(ctx, foreign, client.FieldOwner("somebody"))).To(Succeed())
			}
			return true
		})
		code, output := d.run(ctx, kubeconfig, d.to()...)
		Expect(code).To(Equal(2))
		Expect(output).To(And(ContainSubstring("field manager somebody has created another PVC"), ContainSubstring("kubectl delete pvc data-db-0")))
		Expect(get(ctx, d.set).Spec.Replicas).To(HaveValue(BeZero()))
		d.expectKept(ctx)
		Expect(cluster.Client.Delete(ctx, foreign)).To(Succeed())
		code, _ = d.run(ctx, "", d.to()...)
		Expect(code).To(BeZero())
		d.expectRolledBack(ctx)
	}, NodeTimeout(3*time.Minute))

	It("names the pod that does not end, and is undone", func(ctx context.Context) {
		d := newDatabase(ctx, plugin, 1, nil)
		node := create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "lost-"}})
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: "db-0"}}
		binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node.Name}}
		Expect(cluster.Client.SubResource("binding").Create(ctx, pod, binding)).To(Succeed())
		scaled := afterWrite(func(_, _, _ string) bool { return *get(ctx, d.set).Spec.Replicas > 0 }) // for which the next run takes no time
		code, output := d.run(ctx, scaled, d.to()...)
		Expect(code).To(Equal(2), output)
		code, output = d.run(ctx, "", append(d.to(), "--timeout", "10s")...)
		Expect(code).To(Equal(3), "a timeout")
		Expect(output).To(And(ContainSubstring("still used by Pod db-0"), ContainSubstring("nothing was scaled up")))
		Expect(d.claim(ctx, "data-db-0").DeletionTimestamp).To(BeNil())
		code, _ = d.run(ctx, "", "--pvc", "data-db-0", "--undo", "--yes")
		Expect(code).To(BeZero())
		d.expectBack(ctx, Equal(d.volumes["data-db-0"]))
		Expect(client.IgnoreNotFound(cluster.Client.Delete(ctx, pod, client.GracePeriodSeconds(0)))).To(Succeed())
	}, NodeTimeout(2*time.Minute))

	It("restores to a storage class that waits for a consumer with a pod where the old volume is", func(ctx context.Context) {
		class := create(ctx, &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "waits-"}, Provisioner: mockDriver,
			VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer), ReclaimPolicy: ptr.To(corev1.PersistentVolumeReclaimDelete),
		})
		node := create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "roomy-"}})
		room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("99")}
		node.Status.Allocatable, node.Status.Capacity = room, room
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		Expect(cluster.Client.Status().Update(ctx, node)).To(Succeed())
		merge(ctx, node, `{"spec":{"taints":null}}`)
		scheduler, err := process.Start(context.WithoutCancel(ctx), process.Options{
			Name: "scheduler", Log: filepath.Join(GinkgoT().TempDir(), "scheduler.log"),
			Command: []string{"kube-scheduler", "--kubeconfig=" + os.Getenv("KUBECONFIG"), "--leader-elect=false", "--secure-port=0"},
		})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(scheduler.Kill)
		d := newDatabase(ctx, plugin, 1, &class.Name)
		// Of a StatefulSet's pods on a node without a kubelet, none ends by itself.
		merge(ctx, d.set, `{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":0}}}}`)
		kubectl("delete", "pod", "db-0", "-n", d.namespace, "--force", "--grace-period=0")
		Eventually(func() (string, error) { // until it is created again, there is none
			pod := &corev1.Pod{}
			err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: d.namespace, Name: "db-0"}, pod)
			return pod.Spec.NodeName, err
		}).WithContext(ctx).Should(Equal(node.Name))
		var consumer corev1.Pod
		kubeconfig := afterWrite(func(method, resource, _ string) bool {
			if method == http.MethodPost && resource == "pods" {
				pods := &corev1.PodList{}
				Expect(cluster.Client.List(ctx, pods, client.InNamespace(d.namespace))).To(Succeed())
				for _, p := range pods.Items {
					if p.Name != "db-0" {
						consumer = p
					}
				}
			}
			return true
		})
		code, _ := d.run(ctx, kubeconfig, append(d.to(), "--image", "registry.example/pause:1")...)
		Expect(code).To(BeZero())
		d.expectRolledBack(ctx)
		Expect(consumer.Spec.Containers).To(HaveExactElements(HaveField("Image", "registry.example/pause:1")))
		Expect(apierrors.IsNotFound(cluster.Client.Get(ctx, client.ObjectKeyFromObject(&consumer), &consumer))).To(BeTrue())
	}, NodeTimeout(3*time.Minute))

	It("rolls back the PVC of a Deployment, which it finds by its pods", func(ctx context.Context) {
		namespace, s := scheduled(ctx, "rollback", 1, hourly)
		labels := map[string]string{"app": "web"}
		volume := corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-0"},
		}}
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}, Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: podTemplate(labels, volume),
		}}
		Expect(cluster.Client.Create(ctx, deployment)).To(Succeed())
		Eventually(func() []corev1.Pod {
			pods := &corev1.PodList{}
			Expect(cluster.Client.List(ctx, pods, client.InNamespace(namespace))).To(Succeed())
			return pods.Items
		}).WithContext(ctx).Should(HaveLen(2))
		d := &database{namespace: namespace, plugin: plugin}
		old := d.claim(ctx, "data-0")
		code, _ := d.run(ctx, "", "--pvc", "data-0", "--snapshot", cluster.Snapshots(ctx, namespace)[0].Name, "--yes")
		Expect(code).To(BeZero())
		Expect(d.claim(ctx, "data-0").Spec.VolumeName).NotTo(Equal(old.Spec.VolumeName))
		Expect(get(ctx, deployment).Spec.Replicas).To(HaveValue(BeEquivalentTo(2)))
		Expect(get(ctx, s).Status.Problems).To(BeEmpty())
	}, NodeTimeout(2*time.Minute))

	// Contract: BACK-2.
	It("refuses a StatefulSet that deletes PVCs when it is scaled, and a user who may not patch volumes", func(ctx context.Context) {
		d := newDatabase(ctx, plugin, 1, nil)
		readers := create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "readers-"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}},
		}})
		create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: readers.Name},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: readers.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "jane"}}})
		code, output := d.run(ctx, "", append(d.to(), "--as", "jane")...)
		Expect(code).To(Equal(2))
		Expect(output).To(ContainSubstring(
			"permissions that you do not have:\n  kubectl auth can-i patch persistentvolumes\n  kubectl auth can-i create persistentvolumeclaims -n " + d.namespace))
		merge(ctx, d.set, `{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete"}}}`)
		code, output = d.run(ctx, "", d.to()...)
		Expect(code).To(Equal(2))
		Expect(output).To(ContainSubstring("set its spec.persistentVolumeClaimRetentionPolicy.whenScaled to Retain first"))
		Expect(cluster.Snapshots(ctx, d.namespace)).To(HaveEach(HaveField("Annotations", Not(HaveKey(v1alpha1.AnnotationHold)))))
	}, NodeTimeout(2*time.Minute))
})

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	"mapcontroller.dev/snapshotschedule/test/internal/recording"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// album is what the pictures of the report show: objects that are the same each time, at one time.
type album struct {
	now  time.Time
	uids int
	all  []client.Object
}

// add adds an object as it was created some time ago.
func (a *album) add(o client.Object, age time.Duration) {
	a.uids++
	a.all = append(a.all, builders.Existing(o, types.UID(fmt.Sprintf("5f2c6f0e-7d1b-4c47-9a4e-%012d", a.uids)), a.now.Truncate(day).Add(-age)))
}

// namespace adds a namespace.
func (a *album) namespace(name string) *environment {
	GinkgoHelper()
	Expect(api.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	return &environment{name, kubeconfig}
}

// schedule adds a schedule of the PVCs with a label, with the status that the operator wrote.
func (a *album) schedule(env *environment, name string, spec v1alpha1.SnapshotScheduleSpec, problems ...v1alpha1.Problem) *v1alpha1.SnapshotSchedule {
	GinkgoHelper()
	spec.Selector = v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"backup": v1alpha1.LabelValue(name)}}
	s := env.createSchedule(name, spec)
	a.add(s, 200*day)
	s.Status.ObservedGeneration, s.Status.Problems = s.Generation, problems
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonScheduled, Message: "every PersistentVolumeClaim is scheduled"}
	for _, p := range problems {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing, "1 PersistentVolumeClaim failing; "+p.PersistentVolumeClaim+": "+p.Message
	}
	ready.LastTransitionTime = metav1.NewTime(a.now.Add(-3 * day))
	s.Status.Conditions = []metav1.Condition{ready}
	return s
}

// claim adds a PVC with its snapshots of some slots.
func (a *album) claim(env *environment, s *v1alpha1.SnapshotSchedule, name string, slots []time.Time, change func(time.Duration, *snapshotv1.VolumeSnapshot)) *corev1.PersistentVolumeClaim {
	labels := map[string]string{}
	if s != nil {
		labels["backup"] = s.Name
	}
	c := builders.BoundClaim(env.namespace, name, "volume-"+name, labels)
	a.add(c, 190*day)
	for _, slot := range slots {
		v := snapshotAt(s, c, slot)
		if change != nil {
			change(a.now.Sub(slot), v)
		}
		a.uids++
		a.all = append(a.all, builders.Existing(v, types.UID(fmt.Sprintf("5f2c6f0e-7d1b-4c47-9a4e-%012d", a.uids)), slot))
	}
	return c
}

// nights are the slots at half past two that are at most some days old, but for some.
func (a *album) nights(n int, missing ...int) (slots []time.Time) {
	for i := range n {
		if !slices.Contains(missing, i) {
			slots = append(slots, a.now.Truncate(day).Add(2*time.Hour+30*time.Minute).AddDate(0, 0, -i))
		}
	}
	return slots
}

// operator adds an operator that has been the leader for some days.
func (a *album) operator() {
	GinkgoHelper()
	const namespace = "snapshotschedule-system"
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	Expect(client.IgnoreAlreadyExists(api.Create(ctx, n))).To(Succeed())
	renewed := a.now.Add(-2 * time.Second)
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "snapshotschedule.snapshots.mapcontroller.dev",
			ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: "manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "coordination.k8s.io/v1", Time: ptr.To(metav1.NewTime(renewed)),
				FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1("{}"),
			}},
		},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("controller-manager-6c8f5d7b9-x2k4q"), LeaseDurationSeconds: ptr.To(int32(15)),
			AcquireTime: ptr.To(metav1.NewMicroTime(a.now.Add(-9 * day))), RenewTime: ptr.To(metav1.NewMicroTime(renewed)),
		},
	}
	a.add(lease, 90*day)
	labels := map[string]string{"app.kubernetes.io/name": "snapshotschedule"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "controller-manager", Labels: labels}}
	d.Spec.Selector, d.Spec.Template.Labels = &metav1.LabelSelector{MatchLabels: labels}, labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{
		Name: "manager", Image: "registry.example.com/snapshotschedule:v0.1.0", Args: []string{"--leader-elect"},
	}}
	Expect(api.Create(ctx, d)).To(Succeed())
	DeferCleanup(func() {
		Expect(api.Delete(ctx, d)).To(Succeed())
		Expect(api.Delete(ctx, lease)).To(Succeed())
	})
}

// annotated returns a change that gives snapshots of an age annotations.
func annotated(all map[time.Duration][2]string) func(time.Duration, *snapshotv1.VolumeSnapshot) {
	return func(age time.Duration, v *snapshotv1.VolumeSnapshot) {
		if a, ok := all[age.Truncate(day)]; ok {
			v.Annotations[a[0]] = a[1]
			delete(all, age.Truncate(day))
		}
	}
}

// write puts the objects, and writes a report at the time of the album.
func (a *album) write(contexts map[string]string, args ...string) string {
	GinkgoHelper()
	put(time.Time{}, a.all...)
	config := suite.Must(clientcmd.LoadFromFile(proxyAt(a.now)))
	address := config.Clusters["proxy"].Server
	down := config.Clusters["proxy"].DeepCopy()
	down.Server = "https://127.0.0.1:1"
	config.Clusters["down"] = down
	for name, namespace := range contexts {
		one := config.Contexts["proxy"].DeepCopy()
		if one.Namespace = namespace; namespace == "" {
			one.Cluster = "down"
		}
		config.Contexts[name], config.CurrentContext = one, name
	}
	delete(config.Contexts, "proxy")
	path := filepath.Join(GinkgoT().TempDir(), "config")
	Expect(clientcmd.WriteToFile(*config, path)).To(Succeed())
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut}
	_ = cli.Run(ctx, append(args, "--kubeconfig", path), streams, clocktesting.NewFakePassiveClock(a.now)) // a cluster is down
	Expect(out.String()).To(ContainSubstring("</html>"), errOut.String())
	text := strings.NewReplacer(address, "https://api.example.com", "https://127.0.0.1:1", "https://api.lost.example.com",
		"127.0.0.1:1", "192.0.2.1:443").Replace(out.String())
	return regexp.MustCompile(`(with kubectl-snapsched )[^<]*(</footer>)`).ReplaceAllString(text, "${1}v0.1.0$2")
}

// compare compares a page with what it was, and how a browser shows it with the picture in docs/. Other browsers draw texts otherwise:
// then only the page is compared.
func compare(name, page string, height int) {
	GinkgoHelper()
	update := os.Getenv(recording.Update) != ""
	golden := filepath.Join("testdata", name+".html")
	if update {
		Expect(os.WriteFile(golden, []byte(page), 0o600)).To(Succeed())
	}
	Expect(cmp.Diff(string(suite.Must(os.ReadFile(golden))), page)).To(BeEmpty(), "(-was +is; "+recording.Update+"=1 writes it)")

	if _, err := exec.LookPath(chromium); err != nil {
		AddReportEntry("the pages were compared, and no pictures: there is no " + chromium)
		return
	}
	version, record := strings.TrimSpace(browse("--version")), filepath.Join("testdata", "browser.txt")
	if update {
		Expect(os.WriteFile(record, []byte(version+"\n"), 0o600)).To(Succeed())
	} else if was := strings.TrimSpace(string(suite.Must(os.ReadFile(record)))); was != version {
		AddReportEntry(fmt.Sprintf("the pages were compared, and no pictures: they are by %s, and this is %s", was, version))
		return
	}
	folder := GinkgoT().TempDir()
	shown, taken := filepath.Join(folder, "page.html"), filepath.Join(folder, "taken.png")
	Expect(os.WriteFile(shown, []byte(page), 0o600)).To(Succeed())
	browse(fmt.Sprintf("--window-size=1100,%d", height), "--hide-scrollbars", "--screenshot="+taken, "file://"+shown)
	kept, picture := filepath.Join(suite.Must(repo.Root()), "docs", name+".png"), suite.Must(os.ReadFile(taken))
	if update {
		Expect(os.WriteFile(kept, picture, 0o600)).To(Succeed())
	}
	is, was := suite.Must(png.Decode(bytes.NewReader(picture))), suite.Must(png.Decode(bytes.NewReader(suite.Must(os.ReadFile(kept)))))
	Expect(is.Bounds()).To(Equal(was.Bounds()))
	Expect(differing(is, was)).To(BeNumerically("<", 0.001), recording.Update+"=1 takes the picture anew")
}

// differing returns the part of the pixels that differ by more than a twentieth in some color.
func differing(a, b image.Image) float64 {
	const limit = 0xffff / 20
	differ, bounds := 0, a.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			r1, g1, b1, _ := a.At(x, y).RGBA()
			r2, g2, b2, _ := b.At(x, y).RGBA()
			if max(r1, r2)-min(r1, r2) > limit || max(g1, g2)-min(g1, g2) > limit || max(b1, b2)-min(b1, b2) > limit {
				differ++
			}
		}
	}
	return float64(differ) / float64(bounds.Dx()*bounds.Dy())
}

var _ = Describe("The pictures of the report", func() {
	keep := v1alpha1.Keep{Hourly: 24, Daily: 7, Weekly: 4, Monthly: 6}
	It("shows a cluster", func() {
		a := &album{now: time.Date(2026, 11, 21, 16, 12, 8, 0, time.UTC)}
		env := a.namespace("webshop")
		production := a.schedule(env, "production", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h", Retention: v1alpha1.Retention{Keep: keep}})
		slots := kept(a.now.Truncate(day).AddDate(0, 0, -190), a.now)
		drilled := func(key string, age time.Duration, text string) [2]string {
			return [2]string{key, a.now.Add(-age).Format(time.RFC3339) + text}
		}
		a.claim(env, production, "data-0", slots, annotated(map[time.Duration][2]string{1 * day: drilled(v1alpha1.AnnotationVerifiedAt, day, "")}))
		a.claim(env, production, "data-1", slots, annotated(map[time.Duration][2]string{3 * day: {v1alpha1.AnnotationHold, "audit"}}))
		a.claim(env, production, "uploads", kept(a.now.Truncate(day).AddDate(0, 0, -20), a.now), annotated(map[time.Duration][2]string{
			2 * day: drilled(v1alpha1.AnnotationVerifyFailed, 2*day, " the checksum differs"),
		}))
		nightly := a.schedule(env, "nightly", v1alpha1.SnapshotScheduleSpec{Schedule: "30 2 * * *", SnapshotTTL: "28d"}, v1alpha1.Problem{
			PersistentVolumeClaim: "search", Reason: v1alpha1.ReasonCreateFailed, SinceTime: metav1.NewTime(a.now.Add(-62 * time.Hour)),
			Message: "exceeded quota: snapshots, requested: count/volumesnapshots=1, used: 60, limited: 60",
		})
		a.claim(env, nightly, "media", a.nights(28, 9, 10, 11), func(age time.Duration, v *snapshotv1.VolumeSnapshot) {
			if age.Truncate(day) == 12*day {
				v.Status.ReadyToUse, v.Status.CreationTime = ptr.To(false), nil
				v.Status.Error = &snapshotv1.VolumeSnapshotError{Message: ptr.To("the array is busy"), Time: ptr.To(v.CreationTimestamp)}
			}
		})
		a.claim(env, nightly, "search", a.nights(28, 0, 1, 2), nil)
		a.claim(env, nil, "reports", nil, nil)
		a.claim(env, nil, "scratch", nil, nil).Annotations[v1alpha1.AnnotationExclude] = "true"
		a.operator()
		compare("report", a.write(map[string]string{"prod": env.namespace}, "report"), 1950)
	})

	It("shows several clusters", func() {
		a := &album{now: time.Date(2026, 11, 21, 16, 12, 8, 0, time.UTC)}
		contexts := map[string]string{"eu/lost": ""}
		for i, name := range []string{"bank", "games", "media"} {
			env := a.namespace(name)
			s := a.schedule(env, "production", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h", Retention: v1alpha1.Retention{Keep: keep}})
			for n := range 2 + i {
				a.claim(env, s, fmt.Sprintf("data-%d", n), kept(a.now.Truncate(day).AddDate(0, 0, -60*(i+1)), a.now), nil)
			}
			if i != 1 {
				a.claim(env, nil, "reports", nil, nil)
			}
			contexts["eu/"+name] = name
		}
		a.operator()
		compare("report-clusters", a.write(contexts, "report", "--contexts", "eu/*"), 1450)
	})
})

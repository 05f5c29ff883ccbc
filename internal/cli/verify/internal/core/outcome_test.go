// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// drillJob is a Job as the API server has it: created at noon, with a deadline of an hour.
func drillJob() *batchv1.Job {
	v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data-1", UID: "snapshot"}}
	job := Job(v, &corev1.PersistentVolumeClaim{}, nil, Options{Image: "plugin", Timeout: time.Hour})
	job.Name, job.UID, job.CreationTimestamp = "verify-data-1", "job", metav1.NewTime(noon)
	return job
}

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// podOf is the pod that the Job's controller makes.
func podOf(job *batchv1.Job, statuses ...corev1.ContainerStatus) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: *job.Spec.Template.ObjectMeta.DeepCopy(), Spec: *job.Spec.Template.Spec.DeepCopy()}
	pod.Namespace, pod.Name, pod.UID = job.Namespace, job.Name+"-x", "pod"
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	pod.Status.ContainerStatuses = statuses
	return pod
}

func endedAs(name string, code int32, reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message},
	}}
}

// jobWith is the Job with a condition.
func jobWith(kind batchv1.JobConditionType, reason, message string) *batchv1.Job {
	job := drillJob()
	job.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message}}
	return job
}

// Contract: VER-6.
func TestOutcome(t *testing.T) {
	ended := func(code int32, reason, message string) []corev1.Pod {
		return []corev1.Pod{podOf(drillJob(), endedAs(container, code, reason, message))}
	}
	changed := func(pods []corev1.Pod, change func(*corev1.Pod)) []corev1.Pod {
		change(&pods[0])
		return pods
	}
	waiting := []corev1.Pod{podOf(drillJob(), corev1.ContainerStatus{Name: container, State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"},
	}})}
	unschedulable := changed([]corev1.Pod{podOf(drillJob())}, func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available"}}
	})
	quota := []corev1.Event{{Type: corev1.EventTypeWarning, Reason: "FailedCreate", Message: "exceeded quota: pods"}}
	failed := jobWith(batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
	for name, tc := range map[string]struct {
		now    *batchv1.Job
		pods   []corev1.Pod
		events []corev1.Event
		own    bool // a command of the user's own
		want   Result
		reason string
	}{
		"no pod yet":                      {now: drillJob(), want: Running, reason: "no pod yet"},
		"no pod any more at the deadline": {now: jobWith(batchv1.JobFailureTarget, batchv1.JobReasonDeadlineExceeded, ""), want: Running},
		"no node":                         {now: drillJob(), pods: unschedulable, want: Running, reason: "0/3 nodes"},
		"no image":                        {now: drillJob(), pods: waiting, want: Running, reason: "ImagePullBackOff no such image"},
		"no image until the deadline":     {now: failed, pods: waiting, want: Inconclusive, reason: "DeadlineExceeded: ImagePullBackOff no such image"},
		"no quota":                        {now: drillJob(), events: quota, want: Running, reason: "FailedCreate: exceeded quota: pods"},
		"no quota until the deadline":     {now: failed, events: quota, want: Inconclusive, reason: "DeadlineExceeded: FailedCreate: exceeded quota: pods"},
		"read":                            {now: drillJob(), pods: ended(0, "Completed", ""), want: Verified},
		"read, and the Job is gone":       {pods: ended(0, "Completed", ""), want: Verified},
		"damaged":                         {now: drillJob(), pods: ended(1, "Error", "a\nread /snapshot/x: input/output error\n"), want: Failed, reason: "exit code 1: read /snapshot/x"},
		"not allowed to read":             {now: failed, pods: ended(3, "Error", "permission denied"), want: Inconclusive, reason: "permission denied"},
		"the same code of a user's":       {now: drillJob(), pods: ended(3, "Error", "bad page"), own: true, want: Failed, reason: "bad page"},
		"out of memory":                   {now: failed, pods: ended(137, "OOMKilled", ""), own: true, want: Inconclusive, reason: "OOMKilled"},
		"killed at the deadline":          {now: failed, pods: ended(143, "Error", ""), own: true, want: Inconclusive, reason: "exit code 143"},
		"a command that does not exist":   {now: failed, pods: ended(128, "StartError", "no such file"), own: true, want: Inconclusive, reason: "StartError"},
		"evicted": {now: failed, own: true, want: Inconclusive, reason: "Evicted",
			pods: changed(ended(1, "Error", ""), func(p *corev1.Pod) { p.Status.Reason = "Evicted" })},
		"deleted by somebody": {now: failed, own: true, want: Inconclusive, reason: "it was ended",
			pods: changed(ended(1, "Error", ""), func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: noon} })},
		"the Job was deleted by somebody": {want: Inconclusive, reason: "deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			v := Drill{Job: drillJob(), Now: tc.now, Pods: tc.pods, Events: tc.events, IsDefault: !tc.own}.Outcome()
			if v.Result != tc.want || !strings.Contains(v.Reason, tc.reason) || tc.reason == "" && v.Reason != "" {
				t.Errorf("got %+v, want %d, %q", v, tc.want, tc.reason)
			}
		})
	}
}

// A container that something else put into the drill's pod (a service mesh, a log collector) decides nothing.
//
// Contract: VER-6.
func TestOutcomeIsThatOfTheDrillsContainer(t *testing.T) {
	runs := corev1.ContainerStatus{Name: container, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	for name, other := range map[string]corev1.ContainerStatus{
		"ended well": endedAs("injected", 0, "Completed", ""), "ended badly": endedAs("injected", 1, "Error", ""),
	} {
		for result, status := range map[Result]corev1.ContainerStatus{
			Running: runs, Failed: endedAs(container, 1, "Error", ""), Verified: endedAs(container, 0, "Completed", ""),
		} {
			pod := podOf(drillJob(), other, status)
			pod.Spec.Containers = append([]corev1.Container{{Name: "injected"}}, pod.Spec.Containers...)
			if v := (Drill{Job: drillJob(), Now: drillJob(), Pods: []corev1.Pod{pod}}).Outcome(); v.Result != result || result == Running && v.Reason != "" {
				t.Errorf("a container that %s: %+v, want %d", name, v, result)
			}
		}
	}
}

// Contract: VER-6.
func TestOutcomeIsThatOfAPodThatIsWhatTheJobSays(t *testing.T) {
	verify := func(p *corev1.Pod) *corev1.Container { return &p.Spec.Containers[0] }
	data := corev1.VolumeMount{Name: volume, MountPath: "/data"}
	kills := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"kill", "-TERM", "1"}}}}
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   Result
	}{
		"as it says":                    {func(*corev1.Pod) {}, Verified},
		"of no owner":                   {func(p *corev1.Pod) { p.OwnerReferences = nil }, Running},
		"of another Job of the name":    {func(p *corev1.Pod) { p.OwnerReferences[0].UID = "another" }, Running},
		"that the Job does not control": {func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil }, Running},
		"under a name that the Job's controller does not give": {func(p *corev1.Pod) { p.Name = "bobs" }, Running},
		"whose processes a sidecar sees":                       {func(p *corev1.Pod) { p.Spec.ShareProcessNamespace = ptr.To(true) }, Inconclusive},
		"that says that no sidecar sees its processes":         {func(p *corev1.Pod) { p.Spec.ShareProcessNamespace = ptr.To(false) }, Verified},
		"whose processes the node sees":                        {func(p *corev1.Pod) { p.Spec.HostPID = true }, Inconclusive},
		"whose containers start again":                         {func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure }, Inconclusive},
		"as root":                                              {func(p *corev1.Pod) { p.Spec.SecurityContext.RunAsNonRoot = ptr.To(false) }, Inconclusive},
		"with SELinux options, as OpenShift sets": {func(p *corev1.Pod) {
			p.Spec.SecurityContext.SELinuxOptions = &corev1.SELinuxOptions{Level: "s0:c1,c2"}
			verify(p).SecurityContext.RunAsUser = ptr.To[int64](1000680000)
		}, Verified},
		"with more rights":       {func(p *corev1.Pod) { verify(p).SecurityContext.AllowPrivilegeEscalation = ptr.To(true) }, Inconclusive},
		"with a startup probe":   {func(p *corev1.Pod) { verify(p).StartupProbe = kills }, Inconclusive},
		"with a liveness probe":  {func(p *corev1.Pod) { verify(p).LivenessProbe = kills }, Inconclusive},
		"with a readiness probe": {func(p *corev1.Pod) { verify(p).ReadinessProbe = kills }, Inconclusive},
		"with an input":          {func(p *corev1.Pod) { verify(p).Stdin = true }, Inconclusive},
		"with another image":     {func(p *corev1.Pod) { verify(p).Image = "other" }, Inconclusive},
		"with another command":   {func(p *corev1.Pod) { verify(p).Command = []string{"true"} }, Inconclusive},
		"with arguments":         {func(p *corev1.Pod) { verify(p).Args = []string{"--help"} }, Inconclusive},
		"with another environment": {func(p *corev1.Pod) {
			verify(p).Env = append(verify(p).Env, corev1.EnvVar{Name: "LD_PRELOAD", Value: "/x"})
		}, Inconclusive},
		"with an environment from below": {func(p *corev1.Pod) { verify(p).EnvFrom = []corev1.EnvFromSource{{Prefix: "LD_"}} }, Inconclusive},
		"with another mount":             {func(p *corev1.Pod) { verify(p).VolumeMounts[0].SubPath = "good" }, Inconclusive},
		"with one more mount": {func(p *corev1.Pod) {
			verify(p).VolumeMounts = append(verify(p).VolumeMounts, corev1.VolumeMount{Name: "x", MountPath: "/snapshot/x"})
		}, Inconclusive},
		"with another volume": {func(p *corev1.Pod) {
			p.Spec.Volumes[0] = corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
		}, Inconclusive},
		"without the volume":                    {func(p *corev1.Pod) { p.Spec.Volumes = nil }, Inconclusive},
		"with the container under another name": {func(p *corev1.Pod) { verify(p).Name = "other" }, Inconclusive},
		"with an init container on the data": {func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "x", VolumeMounts: []corev1.VolumeMount{data}}}
		}, Inconclusive},
		"with an init container that admission added": {func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{{Name: "x"}} }, Verified},
		"with a sidecar on the data": {func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "x", VolumeMounts: []corev1.VolumeMount{data}})
		}, Inconclusive},
		"with resources that admission has set":  {func(p *corev1.Pod) { verify(p).Resources.Limits = nil }, Verified},
		"with a volume that admission has added": {func(p *corev1.Pod) { p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "x"}) }, Verified},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podOf(drillJob(), endedAs(container, 0, "Completed", ""))
			tc.change(&pod)
			now := drillJob()
			if tc.want == Inconclusive {
				now = jobWith(batchv1.JobComplete, "", "")
			}
			if v := (Drill{Job: drillJob(), Now: now, Pods: []corev1.Pod{pod}}).Outcome(); v.Result != tc.want {
				t.Errorf("got %+v, want %d", v, tc.want)
			}
			own, want := podOf(drillJob(), endedAs(container, 1, "Error", "")), Inconclusive
			if tc.want == Running {
				want = Failed // it does not count at all
			}
			if v := (Drill{Job: drillJob(), Now: now, Pods: []corev1.Pod{pod, own}}).Outcome(); v.Result != want {
				t.Errorf("beside one that failed: %+v, want %d", v, want)
			}
		})
	}
}

// Contract: VER-7.
func TestOutcomeOfASnapshotThatTheStorageCannotRestore(t *testing.T) {
	event := func(minute int, by, code string) corev1.Event {
		return corev1.Event{
			Type: corev1.EventTypeWarning, Reason: "ProvisioningFailed", Source: corev1.EventSource{Component: by},
			Message:       `failed to provision volume with StorageClass "fast": rpc error: code = ` + code + " desc = gzip: invalid data",
			LastTimestamp: metav1.NewTime(noon.Add(time.Duration(minute) * time.Minute)),
		}
	}
	const driver = "csi.example.com"
	const process = driver + "_node-1_42"
	events := func(all ...corev1.Event) []corev1.Event { return all }
	deadline := jobWith(batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded, "Job was active longer")
	for name, tc := range map[string]struct {
		now      *batchv1.Job
		volume   Volume
		want     Result
		ifOthers bool
	}{
		"refused for good":                       {deadline, Volume{Claim: "c", Provisioner: driver, Events: events(event(40, process, "DataLoss"))}, Failed, false},
		"refused by a driver of one process":     {deadline, Volume{Claim: "c", Provisioner: driver, Events: events(event(40, driver, "NotFound"))}, Failed, false},
		"refused, the reason unclear":            {deadline, Volume{Claim: "c", Provisioner: driver, Events: events(event(40, process, "Internal"))}, Inconclusive, true},
		"refused, both":                          {deadline, Volume{Claim: "c", Provisioner: driver, Events: events(event(40, process, "Unknown"), event(50, process, "NotFound"))}, Inconclusive, true},
		"refused in the first half only":         {deadline, Volume{Claim: "c", Provisioner: driver, Events: events(event(29, process, "DataLoss"))}, Inconclusive, false},
		"busy at first, then refused":            {deadline, Volume{Claim: "c", Provisioner: driver, Events: events(event(5, process, "Unavailable"), event(40, process, "DataLoss"))}, Failed, false},
		"busy in the second half, too":           {deadline, Volume{Claim: "c", Provisioner: driver, Events: events(event(40, process, "DataLoss"), event(45, process, "Aborted"))}, Inconclusive, false},
		"an event of somebody else":              {deadline, Volume{Claim: "c", Provisioner: driver, Events: events(event(40, "other.example.com_x", "DataLoss"))}, Inconclusive, false},
		"an event of a name that begins so":      {deadline, Volume{Claim: "c", Provisioner: driver, Events: events(event(40, driver+".evil", "DataLoss"))}, Inconclusive, false},
		"an error without a code":                {deadline, Volume{Claim: "c", Provisioner: driver, Events: events(event(40, process, "Strange"))}, Inconclusive, false},
		"a StorageClass that may not be read":    {deadline, Volume{Claim: "c", Events: events(event(40, "", "DataLoss"))}, Inconclusive, false},
		"a volume came after all":                {deadline, Volume{Claim: "c", Bound: true, Provisioner: driver, Events: events(event(40, process, "DataLoss"))}, Inconclusive, false},
		"the Job failed for another reason":      {jobWith(batchv1.JobFailed, "BackoffLimitExceeded", ""), Volume{Claim: "c", Provisioner: driver, Events: events(event(40, process, "DataLoss"))}, Inconclusive, false},
		"the Job was deleted":                    {nil, Volume{Claim: "c", Provisioner: driver, Events: events(event(40, process, "DataLoss"))}, Inconclusive, false},
		"refused, and the deadline has not come": {drillJob(), Volume{Claim: "c", Provisioner: driver, Events: events(event(1, process, "Internal"))}, Running, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := Drill{Job: drillJob(), Now: tc.now, Volume: tc.volume}.Outcome()
			if v.Result != tc.want || v.FailedIfOthers != tc.ifOthers {
				t.Errorf("got %+v, want %d %t", v, tc.want, tc.ifOthers)
			}
			if tc.now != nil && !tc.volume.Bound && !strings.Contains(v.Reason, "gzip: invalid data") {
				t.Errorf("%q does not have the words of the driver", v.Reason)
			}
		})
	}
}

// Contract: VER-7.
func TestOtherRestored(t *testing.T) {
	snapshot := func(uid types.UID, class, verifiedAt string) snapshotv1.VolumeSnapshot {
		v := snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{UID: uid, Annotations: map[string]string{v1alpha1.AnnotationVerifiedAt: verifiedAt}}}
		if class != "" {
			v.Spec.VolumeSnapshotClassName = ptr.To(class)
		}
		return v
	}
	at := func(minute int) string { return noon.Add(time.Duration(minute) * time.Minute).Format(time.RFC3339) }
	lost := snapshot("lost", "fast", "")
	for name, tc := range map[string]struct {
		v, other snapshotv1.VolumeSnapshot
		restored bool
		want     bool
	}{
		"restored by this command":            {lost, snapshot("other", "fast", ""), true, true},
		"restored, of another class":          {lost, snapshot("other", "slow", ""), true, false},
		"verified meanwhile":                  {lost, snapshot("other", "fast", at(30)), false, true},
		"verified before":                     {lost, snapshot("other", "fast", at(-1)), false, false},
		"verified in the future":              {lost, snapshot("other", "fast", at(61)), false, false},
		"neither":                             {lost, snapshot("other", "fast", ""), false, false},
		"verified itself, by somebody else":   {lost, snapshot("lost", "fast", at(30)), false, false},
		"of no class, which are not the same": {snapshot("lost", "", ""), snapshot("other", "", at(30)), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			restored := map[types.UID]bool{"lost": false, "other": tc.restored}
			if got := OtherRestored(&tc.v, []snapshotv1.VolumeSnapshot{tc.v, tc.other}, restored, drillJob()); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestOutcome(t *testing.T) {
	ended := func(code int32, reason, message string) corev1.Pod {
		return corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message},
		}}}}}
	}
	waiting := corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"},
	}}}}}
	unschedulable := corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available"},
	}}}
	evicted := ended(1, "Error", "")
	evicted.Status.Reason = "Evicted"
	deleted := ended(1, "Error", "")
	deleted.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	failed := &batchv1.Job{Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{
		{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "DeadlineExceeded", Message: "Job was active longer than specified deadline"},
	}}}
	running := &batchv1.Job{}
	for name, tc := range map[string]struct {
		job    *batchv1.Job
		pods   []corev1.Pod
		own    bool // a command of the user's own
		want   Result
		reason string
	}{
		"no pod yet":                      {running, nil, false, Running, "no pod yet"},
		"no node":                         {running, []corev1.Pod{unschedulable}, false, Running, "0/3 nodes"},
		"no image":                        {running, []corev1.Pod{waiting}, false, Running, "ImagePullBackOff no such image"},
		"no image until the deadline":     {failed, []corev1.Pod{waiting}, false, Inconclusive, "DeadlineExceeded"},
		"refused by a quota":              {failed, nil, false, Inconclusive, "DeadlineExceeded"},
		"read":                            {running, []corev1.Pod{ended(0, "Completed", "")}, false, Verified, ""},
		"read, and the Job is gone":       {nil, []corev1.Pod{ended(0, "Completed", "")}, false, Verified, ""},
		"damaged":                         {running, []corev1.Pod{ended(1, "Error", "a\nread /snapshot/x: input/output error\n")}, false, Failed, "exit code 1: read /snapshot/x"},
		"not allowed to read":             {failed, []corev1.Pod{ended(3, "Error", "permission denied")}, false, Inconclusive, "permission denied"},
		"the same code of a user's":       {running, []corev1.Pod{ended(3, "Error", "bad page")}, true, Failed, "bad page"},
		"out of memory":                   {failed, []corev1.Pod{ended(137, "OOMKilled", "")}, true, Inconclusive, "OOMKilled"},
		"killed at the deadline":          {failed, []corev1.Pod{ended(143, "Error", "")}, true, Inconclusive, "exit code 143"},
		"a command that does not exist":   {failed, []corev1.Pod{ended(128, "StartError", "no such file")}, true, Inconclusive, "StartError"},
		"evicted":                         {failed, []corev1.Pod{evicted}, true, Inconclusive, "Evicted"},
		"deleted by somebody":             {failed, []corev1.Pod{deleted}, true, Inconclusive, "it was ended"},
		"the Job was deleted by somebody": {nil, nil, false, Inconclusive, "deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			got, reason := Outcome(tc.job, tc.pods, !tc.own)
			if got != tc.want || !strings.Contains(reason, tc.reason) {
				t.Errorf("got %d, %q, want %d, %q", got, reason, tc.want, tc.reason)
			}
		})
	}
}

func TestJobIsRestrictedAndRunsAsTheUserOfTheData(t *testing.T) {
	v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: strings.Repeat("data.", 40), UID: "v"}}
	claim := &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}}}
	user := &corev1.Pod{Spec: corev1.PodSpec{
		NodeSelector:    map[string]string{"disk": "fast"},
		SecurityContext: &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](0), FSGroup: ptr.To[int64](70)},
		Containers:      []corev1.Container{{SecurityContext: &corev1.SecurityContext{RunAsUser: ptr.To[int64](999)}}},
	}}
	for name, tc := range map[string]struct {
		user       *corev1.Pod
		o          Options
		uid, group int64
	}{
		"of no pod":          {nil, Options{}, 65532, 65532},
		"of a pod":           {user, Options{}, 999, 70},
		"that somebody says": {user, Options{RunAsUser: ptr.To[int64](5), FSGroup: ptr.To[int64](6)}, 5, 6},
	} {
		t.Run(name, func(t *testing.T) {
			tc.o.Timeout = time.Hour
			job := Job(v, claim, tc.user, tc.o)
			pod := job.Spec.Template.Spec
			if s := pod.SecurityContext; *s.RunAsUser != tc.uid || *s.FSGroup != tc.group || !*s.RunAsNonRoot {
				t.Errorf("security context %+v, want user %d and group %d", s, tc.uid, tc.group)
			}
			if (tc.user != nil) != (pod.NodeSelector["disk"] == "fast") {
				t.Errorf("node selector %v", pod.NodeSelector)
			}
			if n := len(job.GenerateName); n > 50 || *job.Spec.ActiveDeadlineSeconds != 3600 || *pod.AutomountServiceAccountToken {
				t.Errorf("name of %d bytes, deadline %d, token %t", n, *job.Spec.ActiveDeadlineSeconds, *pod.AutomountServiceAccountToken)
			}
		})
	}
	claim.Spec.VolumeMode = ptr.To(corev1.PersistentVolumeBlock)
	if c := Job(v, claim, nil, Options{}).Spec.Template.Spec.Containers[0]; len(c.VolumeDevices) != 1 || len(c.VolumeMounts) != 0 {
		t.Errorf("of a block volume: %+v", c)
	}
}

func TestReadData(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := ReadData(dir); err == nil || !strings.Contains(err.Error(), "has no data") {
		t.Errorf("of nothing: %v", err)
	}
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode)); err != nil {
			t.Fatal(err)
		}
	}
	write("a/b", "12345", 0o600)
	write("c", "678", 0o600)
	if err := os.Symlink("/does/not/exist", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if files, n, err := ReadData(dir); files != 2 || n != 8 || err != nil {
		t.Errorf("got %d files with %d bytes, %v", files, n, err)
	}
	if files, n, err := ReadData(filepath.Join(dir, "c")); files != 1 || n != 3 || err != nil {
		t.Errorf("of a device: %d, %d, %v", files, n, err)
	}
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	write("a/secret", "x", 0o000)
	if _, _, err := ReadData(dir); !errors.Is(err, ErrDenied) {
		t.Errorf("of what may not be read: %v", err)
	}
}

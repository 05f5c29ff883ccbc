// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Contract: VER-8.
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
		uid, group *int64
	}{
		"of no pod, which the namespace's rules choose": {nil, Options{}, nil, nil},
		"of a pod":                          {user, Options{}, ptr.To[int64](999), ptr.To[int64](70)},
		"of a pod that runs as root":        {&corev1.Pod{Spec: corev1.PodSpec{NodeSelector: user.Spec.NodeSelector}}, Options{}, ptr.To[int64](65532), ptr.To[int64](65532)},
		"that somebody says":                {user, Options{RunAsUser: ptr.To[int64](5), FSGroup: ptr.To[int64](6)}, ptr.To[int64](5), ptr.To[int64](6)},
		"that somebody says, without a pod": {nil, Options{RunAsUser: ptr.To[int64](5)}, ptr.To[int64](5), nil},
	} {
		t.Run(name, func(t *testing.T) {
			tc.o.Timeout = time.Hour
			job := Job(v, claim, tc.user, tc.o)
			pod := job.Spec.Template.Spec
			if s := pod.SecurityContext; !ptr.Equal(s.RunAsUser, tc.uid) || !ptr.Equal(s.FSGroup, tc.group) || !*s.RunAsNonRoot {
				t.Errorf("security context %+v, want user %v and group %v", s, tc.uid, tc.group)
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

// kubelet expands $(VAR) and $$ in commands and in the values of variables.
//
// Contract: VER-8.
func TestCommandReachesTheContainerUnchanged(t *testing.T) {
	v := &snapshotv1.VolumeSnapshot{Spec: snapshotv1.VolumeSnapshotSpec{Source: snapshotv1.VolumeSnapshotSource{
		PersistentVolumeClaimName: ptr.To("$(SNAPSHOT)"),
	}}}
	command := []string{"bash", "-c", "echo $$ $(PVC) $PVC $$(date) 100$"}
	c := Job(v, &corev1.PersistentVolumeClaim{}, nil, Options{Command: command}).Spec.Template.Spec.Containers[0]
	for i, text := range c.Command {
		if got := expand(text); got != command[i] {
			t.Errorf("got %q, want %q", got, command[i])
		}
	}
	if got := expand(c.Env[1].Value); got != "$(SNAPSHOT)" {
		t.Errorf("PVC=%q", got)
	}
}

// expand does what kubelet does.
func expand(text string) string {
	return regexp.MustCompile(`\$\$|\$\((\w+)\)`).ReplaceAllStringFunc(text, func(match string) string {
		return cmp.Or(map[string]string{"$$": "$", "$(PVC)": "data", "$(SNAPSHOT)": "data-1"}[match], match)
	})
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

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

func TestWaitNamesTenPVCs(t *testing.T) {
	const names = "a, b, c, d, e, f, g, h, i, j"
	for given, want := range map[string]string{
		"a":              "Waiting for 1 of 12 PVCs: a\n",
		names:            "Waiting for 10 of 12 PVCs: " + names + "\n",
		names + ", k, l": "Waiting for 12 of 12 PVCs: " + names + " and 2 more\n",
	} {
		var b bytes.Buffer
		f := &term.Factory{IOStreams: genericiooptions.IOStreams{ErrOut: &b}}
		waitingFor(f, strings.Split(given, ", "), 12)
		if b.String() != want {
			t.Errorf("have %q, want %q", &b, want)
		}
	}
}

func TestWaitPrintsEachLineOnce(t *testing.T) {
	var b bytes.Buffer
	lines := Printed{}
	for _, line := range []string{"one", "two", "one"} {
		lines.Once(&b, line)
	}
	if b.String() != "one\ntwo\n" {
		t.Errorf("have %q", &b)
	}
}

// The API server ends each watch when a wait should say what it waits for: soon, and later also why.
//
// Contract: CLI-55.
func TestWaitThatComesNoFurtherSaysWhatItWaitsFor(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(clitest.Start)
	watches := 0
	c := fake.NewClientBuilder().WithScheme(term.Scheme).WithObjects(clitest.Claim("data", nil)).WithInterceptorFuncs(interceptor.Funcs{
		Watch: func(_ context.Context, _ client.WithWatch, _ client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			seconds := []int64{3, 12, 60}[watches]
			watches++
			if all := (&client.ListOptions{}).ApplyOptions(opts); *all.Raw.TimeoutSeconds != seconds || all.Namespace != "shop" {
				t.Errorf("watch with %+v", all)
			}
			clock.SetTime(clock.Now().Add(time.Duration(seconds) * time.Second))
			ended := watch.NewFake()
			ended.Stop()
			return ended, nil
		},
	}).Build()
	var b bytes.Buffer
	f := &term.Factory{IOStreams: genericiooptions.IOStreams{ErrOut: &b}, Clock: clock, Client: c}
	left, seen, explained := []string{"data"}, 0, 0
	err := Follow(t.Context(), f, &corev1.PersistentVolumeClaimList{}, Follower{
		See:  func(context.Context, client.Object, bool) bool { seen++; return false },
		Left: func() []string { return left },
		Explain: func(context.Context) error {
			if explained++; explained == 2 {
				left = nil
			}
			return nil
		},
	}, client.InNamespace("shop"))
	if err != nil || watches != 3 || seen != 3 || b.String() != strings.Repeat("Waiting for 1 of 1 PVC: data\n", 3) {
		t.Errorf("%d watches, %d objects seen, printed %q, %v", watches, seen, &b, err)
	}
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func claim(version string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", ResourceVersion: version}}
}

// streams is a client whose watches deliver some events each and then end. It keeps the resource versions
// that they start at.
func streams(from *[]string, all ...[]watch.Event) client.WithWatch {
	return fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Watch: func(_ context.Context, _ client.WithWatch, _ client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
			o := (&client.ListOptions{}).ApplyOptions(options)
			*from = append(*from, o.Raw.ResourceVersion+" "+o.Namespace)
			if len(*from) > len(all) {
				return nil, apierrors.NewInternalError(context.DeadlineExceeded)
			}
			events := all[len(*from)-1]
			w := watch.NewFakeWithChanSize(len(events), false)
			for _, e := range events {
				w.Action(e.Type, e.Object)
			}
			w.Stop()
			return w, nil
		},
	}).Build()
}

func TestFollowResumesWhereAWatchEnded(t *testing.T) {
	var from, seen []string
	c := streams(&from,
		[]watch.Event{{Type: watch.Added, Object: claim("7")}},
		[]watch.Event{{Type: watch.Modified, Object: claim("8")}, {Type: watch.Bookmark, Object: claim("9")}},
	)
	wait, err := Follow(t.Context(), c, &corev1.PersistentVolumeClaimList{}, func(e watch.EventType, o client.Object) {
		seen = append(seen, string(e)+" "+o.GetResourceVersion())
	}, client.InNamespace("n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := wait(); !apierrors.IsInternalError(err) {
		t.Errorf("got %v", err)
	}
	if want := []string{" n", "7 n", "9 n"}; !slices.Equal(from, want) {
		t.Errorf("started at %q, want %q", from, want)
	}
	if want := []string{"ADDED 7", "MODIFIED 8"}; !slices.Equal(seen, want) {
		t.Errorf("saw %q, want %q", seen, want)
	}
}

func TestFollowReturnsTheErrorOfAWatch(t *testing.T) {
	var from []string
	gone := apierrors.NewResourceExpired("too old").Status()
	c := streams(&from, []watch.Event{{Type: watch.Error, Object: &gone}})
	wait, err := Follow(t.Context(), c, &corev1.PersistentVolumeClaimList{}, func(watch.EventType, client.Object) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := wait(); !apierrors.IsResourceExpired(err) {
		t.Errorf("got %v", err)
	}
}

func TestFollowEndsWithItsContext(t *testing.T) {
	var from []string
	ctx, cancel := context.WithCancel(t.Context())
	c := streams(&from, []watch.Event{{Type: watch.Added, Object: claim("7")}})
	wait, err := Follow(ctx, c, &corev1.PersistentVolumeClaimList{}, func(watch.EventType, client.Object) { cancel() })
	if err != nil {
		t.Fatal(err)
	}
	if err := wait(); err != nil {
		t.Error(err)
	}
}

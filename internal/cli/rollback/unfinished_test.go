// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/rollback/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// Contract: BACK-7.
func TestUnfinishedRollbacksAreReadWithTheRightsThatThereAre(t *testing.T) {
	now := clitest.Start.Add(3 * time.Hour)
	lock := core.Lock{ID: "0123abcd", Time: metav1.NewTime(clitest.Start), Began: metav1.NewTime(clitest.Start), Claims: []core.Goal{{Name: "data", Snapshot: "a", SnapshotUID: "a"}}}
	text := func(of any) string {
		text, err := json.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	noted := func(id string) map[string]string {
		l := lock
		l.ID = id
		return map[string]string{v1alpha1.AnnotationRollback: text(&l)}
	}
	recorded := func(name, in, record string) *corev1.PersistentVolume {
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{v1alpha1.AnnotationRollbackPrefix + lock.ID: record}}}
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: in, Name: "data"}
		return v
	}
	record := func(in string) string {
		r := &core.Record{Lock: &lock}
		r.Claim.Namespace, r.Claim.Name = in, "data"
		return text(r)
	}
	meta := func(namespace, name string, annotations map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: annotations}
	}
	objects := []client.Object{
		&appsv1.Deployment{ObjectMeta: meta("a", "web", noted("00000001"))}, &appsv1.Deployment{ObjectMeta: meta("a", "odd", map[string]string{v1alpha1.AnnotationRollback: "{"})},
		&appsv1.StatefulSet{ObjectMeta: meta("b", "db", noted("00000002"))},
		recorded("v", "c", record("c")), recorded("malformed", "a", "{"), recorded("given-away", "a", record("c")),
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta("a", "single", noted("00000003"))}
	const web, set, single, volume = "00000001 -n a deployment/web", "00000002 -n b statefulset/db", "00000003 -n a --pvc single", "0123abcd -n c --pvc data"
	for name, tc := range map[string]struct {
		namespace, denied, fails string
		want                     string
	}{
		"everywhere":                {"", "", "", web + "; " + single + "; " + set + "; " + volume},
		"of one namespace":          {"a", "", "", web + "; " + single},
		"of one without a PVC":      {"c", "", "", volume},
		"no right to workloads":     {"a", "deployments statefulsets", "", single},
		"no right to volumes":       {"", "persistentvolumes", "", web + "; " + single + "; " + set},
		"the API server has failed": {"", "", "statefulsets", web + "; " + single + "; " + volume + "; warned"},
	} {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
					kind := strings.ToLower(strings.TrimSuffix(cmp.Or(list.GetObjectKind().GroupVersionKind().Kind, fmt.Sprintf("%T", list)[len("*v1."):]), "List")) + "s"
					switch {
					case strings.Contains(tc.denied, kind):
						return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, "", nil)
					case tc.fails == kind:
						return apierrors.NewInternalError(context.DeadlineExceeded)
					}
					return c.List(ctx, list, opts...)
				},
			}).Build()
			streams, _, _, warnings := genericiooptions.NewTestIOStreams()
			f := &term.Factory{IOStreams: streams, Client: c}
			claims := map[string][]client.Object{"a": {claim}}
			if tc.namespace == "c" {
				claims = nil
			}
			all, unread, err := Unfinished(t.Context(), f, tc.namespace, claims, now)
			if (unread != nil) != (tc.denied+tc.fails != "") || apierrors.IsForbidden(unread) != (tc.denied != "") {
				t.Errorf("unread: %v", unread)
			}
			var words []string
			for _, r := range all {
				_, command, _ := strings.Cut(r.Remedy, "kubectl snapsched rollback ")
				words = append(words, r.ID+" "+strings.TrimSuffix(command, " --undo"))
			}
			got := strings.Join(words, "; ")
			if warnings.Len() > 0 {
				got += "; warned"
			}
			if got != tc.want {
				t.Errorf("got %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}

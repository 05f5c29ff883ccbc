// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/report/reporttest"
)

// nasty is what a tenant writes wherever the API server lets it.
const nasty = reporttest.Nasty

// hostileObjects has nasty text in all fields whose content the API server does not check.
func hostileObjects(now time.Time) []client.Object {
	app := map[string]string{"app": "db"}
	hostileMeta := func(o client.Object) {
		o.SetAnnotations(map[string]string{
			nasty: nasty, v1alpha1.AnnotationRequestedAt: nasty, v1alpha1.AnnotationConfirmGeneration: nasty,
			"volume.kubernetes.io/storage-provisioner": nasty,
		})
	}
	tiers := clitest.Schedule("tiers", v1alpha1.SnapshotScheduleSpec{
		SnapshotInterval: "6h", SnapshotTTL: "5d", Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}},
	})
	invalid := clitest.Schedule("invalid", v1alpha1.SnapshotScheduleSpec{Schedule: nasty, TimeZone: nasty})
	for _, s := range []*v1alpha1.SnapshotSchedule{tiers, invalid} {
		hostileMeta(s)
		s.Spec.SnapshotTemplate.Metadata.Annotations = map[string]string{"note": nasty}
		for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionRetentionPaused} {
			status := map[string]metav1.ConditionStatus{v1alpha1.ConditionReady: metav1.ConditionFalse}[kind]
			if status == "" {
				status = metav1.ConditionTrue
			}
			s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: nasty, Message: nasty})
		}
		s.Status.Problems = []v1alpha1.Problem{
			{PersistentVolumeClaim: "db-0", Reason: v1alpha1.ReasonCreateFailed, Message: nasty}, {Reason: nasty, Message: nasty},
		}
	}
	all := []client.Object{tiers, invalid}
	for i, name := range []string{"db-0", "db-1", "db-2"} {
		c := clitest.Claim(name, app)
		hostileMeta(c)
		c.Spec.StorageClassName = ptr.To(nasty)
		if i == 2 {
			delete(c.Annotations, "volume.kubernetes.io/storage-provisioner")
		}
		all = append(all, c)
		for age, status := range map[int]*snapshotv1.VolumeSnapshotStatus{
			1: {Error: &snapshotv1.VolumeSnapshotError{Message: ptr.To(nasty)}},
			2: {ReadyToUse: ptr.To(true), CreationTime: ptr.To(metav1.NewTime(now.AddDate(0, 0, -2))), BoundVolumeSnapshotContentName: ptr.To(nasty)},
		} {
			v := clitest.Snapshot(tiers, c, now.AddDate(0, 0, -age).Truncate(time.Second))
			v.Annotations[v1alpha1.AnnotationHold] = nasty
			v.Spec.VolumeSnapshotClassName = ptr.To(nasty)
			v.Status = status
			all = append(all, v)
		}
	}
	// A series of a PVC whose name nothing checks, and snapshots of snapscheduler.
	gone := clitest.Snapshot(tiers, clitest.Claim("gone", nil), now.AddDate(0, 0, -1).Truncate(time.Second))
	gone.Spec.Source.PersistentVolumeClaimName = ptr.To(nasty)
	peers := gone.DeepCopy()
	peers.Name, peers.UID, peers.OwnerReferences = "of-peer", "of-peer", []metav1.OwnerReference{{APIVersion: "v1", Kind: nasty, Name: nasty, UID: "x", Controller: ptr.To(true)}}
	peers.Labels = map[string]string{"snapscheduler.backube/schedule": "peer", "snapscheduler.backube/when": nasty}
	stray := gone.DeepCopy()
	stray.Name, stray.UID, stray.Labels = "stray", "stray", map[string]string{"snapscheduler.backube/schedule": nasty}
	leftover := gone.DeepCopy()
	leftover.Name, leftover.UID = "leftover", "leftover"
	leftover.Labels = map[string]string{v1alpha1.LabelSchedule: nasty, v1alpha1.LabelMapKey: nasty}
	all = append(all, gone, peers, stray, leftover)
	for _, name := range []string{"peer", "broken"} {
		peer := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"schedule": "@daily", "snapshotTemplate": map[string]any{"labels": map[string]any{nasty: nasty}, "snapshotClassName": nasty},
		}}}
		if name == "broken" {
			peer.Object["spec"] = map[string]any{"schedule": nasty, "retention": map[string]any{"expires": nasty}}
		}
		peer.SetGroupVersionKind(schema.GroupVersionKind{Group: "snapscheduler.backube", Version: "v1", Kind: "SnapshotSchedule"})
		peer.SetNamespace("shop")
		peer.SetName(name)
		hostileMeta(peer)
		all = append(all, peer)
	}
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "e"}, Type: nasty, Reason: nasty, Message: nasty,
	}
	return append(all, event,
		&snapshotv1.VolumeSnapshotClass{ObjectMeta: metav1.ObjectMeta{Name: nasty}, Driver: nasty},
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: nasty}, Provisioner: nasty},
		&snapshotv1.VolumeSnapshotContent{
			ObjectMeta: metav1.ObjectMeta{Name: nasty}, Spec: snapshotv1.VolumeSnapshotContentSpec{Driver: nasty},
		})
}

// hostileCluster runs commands in a cluster with hostile objects.
type hostileCluster struct {
	t       *testing.T
	now     time.Time
	refuses bool // every request with nasty text
	server  string
	objects client.WithWatch
}

func newHostileCluster(t *testing.T, refuses bool) *hostileCluster {
	t.Helper()
	log.SetLogger(logr.Discard())
	now := clitest.Start.AddDate(0, 0, 30)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", now.Format(http.TimeFormat))
	}))
	t.Cleanup(server.Close)
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	return &hostileCluster{t: t, now: now, refuses: refuses, server: server.URL}
}

func (h *hostileCluster) newClient() client.WithWatch {
	refuse := func() error {
		if !h.refuses {
			return nil
		}
		return apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("snapshotschedules").GroupResource(), nasty, errors.New(nasty))
	}
	b := fake.NewClientBuilder().WithScheme(term.NewScheme()).
		WithObjects(hostileObjects(h.now)...).
		WithIndex(&corev1.Event{}, "involvedObject.uid", func(client.Object) []string { return []string{""} }).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				return errors.Join(refuse(), c.Get(ctx, key, o, opts...))
			},
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				return errors.Join(refuse(), c.List(ctx, list, opts...))
			},
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if review, asks := o.(*authorizationv1.SelfSubjectAccessReview); asks {
					review.Status.Allowed = true // else a command does not begin
					return nil
				}
				return c.Create(ctx, o, opts...)
			},
		})
	return b.Build()
}

// run returns what a command prints.
func (h *hostileCluster) run(args ...string) string {
	h.t.Helper()
	var printed bytes.Buffer
	f := &term.Factory{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &printed, ErrOut: &printed},
		Config:    genericclioptions.NewConfigFlags(true), Clock: clocktesting.NewFakePassiveClock(h.now), Client: h.objects,
	}
	f.Config.APIServer, f.Config.Namespace = &h.server, ptr.To("shop")
	term.Execute(context.Background(), newRoot(f), args)
	return printed.String()
}

// checkPrinted finds fault with what is printed beyond our own lines of visible text.
func checkPrinted(t *testing.T, args []string, printed string) {
	t.Helper()
	if why := reporttest.Unsafe(strings.NewReplacer("\n", "", "\t", "").Replace(printed)); why != "" {
		t.Errorf("%q: %s: %q", args, why, printed)
	}
	inError := false
	for line := range strings.Lines(printed) {
		inError = inError || strings.HasPrefix(line, "error: ") || strings.HasPrefix(line, "Error from server ")
		follows := strings.HasPrefix(strings.TrimSpace(line), `\u000d`) // the line break
		if follows && (!inError || !strings.HasPrefix(line, "  ")) {
			t.Errorf("%q: the text makes a line of its own: %q", args, printed)
		}
	}
}

// No text that a tenant, a driver, a webhook or a file contains controls the terminal of
// whoever runs a command.
//
// Contract: CLI-1.
func TestCommandsPrintHostileTextEscaped(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const header = "apiVersion: snapshots.mapcontroller.dev/v1alpha1\nkind: SnapshotSchedule\nmetadata: {name: tiers, annotations: {a: \"\\e[31m\"}}\nspec: "
	ofDB0 := "db-0-" + clitest.Start.AddDate(0, 0, 28).Format("20060102150405")
	failed := "db-0-" + clitest.Start.AddDate(0, 0, 29).Format("20060102150405")
	ofGone := "gone-" + clitest.Start.AddDate(0, 0, 29).Format("20060102150405")
	// Commands whose shown is set must show nasty text in at least one of their runs, or
	// the objects are not hostile to them.
	commands := map[string]struct {
		shown bool
		runs  [][]string
	}{
		"status":   {true, [][]string{{}, {"tiers"}, {"-A", "-o", "wide"}, {"-o", "json"}, {"-o", "yaml"}, {"-o", "name"}, {"-l", nasty}, {nasty}}},
		"coverage": {true, [][]string{{}, {"-A"}, {"-o", "json"}, {"-o", "yaml"}, {"-o", "name"}}},
		"report":   {true, [][]string{{}, {"-A"}, {"-A", "-o", "json"}, {"--contexts", nasty}}},
		"timeline": {true, [][]string{{"tiers"}, {"invalid"}, {"tiers", "-o", "yaml"}, {"tiers", "--pvc", nasty}, {nasty}}},
		"why":      {true, [][]string{{ofDB0}, {failed}, {ofGone}, {"leftover"}, {"stray"}, {ofGone, "-o", "json"}, {ofGone, "-o", "yaml"}}},
		"preview": {true, [][]string{
			{"tiers"}, {"tiers", "-o", "wide"}, {"invalid"}, {"--delete", "tiers"}, {"tiers", "-o", "json"}, {"tiers", "-o", "yaml"}, {"tiers", "-o", "name"},
			{"-f", write("a.yaml", header+`{snapshotInterval: 1h, snapshotTTL: 1d, selector: {matchLabels: {app: "\e[31m\n\a"}}}`)},
			{"-f", write("b.yaml", header+`{"\e[31m": 1}`)}, {"-f", write("c.yaml", header+`{snapshotInterval: "\e[31m"}`)},
			{"-f", write("d.yaml", nasty)}, {"-f", filepath.Join(dir, "\x1b[31m")},
		}},
		"snapshot": {true, [][]string{{"tiers", "--wait", "--timeout", "1s"}, {"invalid"}, {"--pvc", "db-0"}, {"--pvc", "db-2", "--wait", "--timeout", "1s"}}},
		"restore": {true, [][]string{
			{ofDB0}, {failed}, {ofGone}, {"--pvc", "db-1"}, {"--pvc", nasty}, {"--pvc", "db-2", "--wait", "--timeout", "1s"}, {"--schedule", "tiers"},
			{"--schedule", "tiers", "--allow-incomplete", "--to", "{pvc}-r"}, {"--pvc", "db-0", "--dry-run=client", "-o", "yaml"},
			{"--pvc", "db-0", "--dry-run=client", "-o", "json"}, {ofDB0, "--storage-class", nasty}, {ofDB0, "--to", nasty}, {ofDB0, "--access-mode", nasty},
			{"--pvc", "db-1", "--as-of", nasty}, {ofDB0, "--size", nasty},
		}},
		"verify": {true, [][]string{ // without a dry run it waits for a Job
			{"--pvc", "db-0", "--image", nasty, "--allow-retain", "--dry-run=client"}, {ofDB0, "--image", "x", "--storage-class", nasty},
			{nasty, "--image", "x"}, {"--schedule", "tiers", "--image", "x"}, {"--pvc", "db-0", "--image", "x", "--dry-run=" + nasty},
		}},
		"read-data":  {false, [][]string{{nasty}, {dir}}},
		"prove-data": {false, [][]string{{nasty, nasty, nasty}, {"read", nasty, nasty}, {"read", "abcde", dir}, {"fill", nasty, filepath.Join(dir, nasty)}}},
		"rollback": {false, [][]string{
			{"--pvc", "db-0", "--as-of", clitest.Start.AddDate(0, 0, 29).Format(time.RFC3339), "--yes"}, {"--pvc", "db-0", "--snapshot", ofDB0, "--yes"},
			{nasty, "--undo"}, {"--pvc", nasty, "--as-of", nasty}, {"--pvc", nasty, "--undo", "--dry-run"},
		}},
		"doctor": {true, [][]string{
			{}, {"-A"}, {"-A", "-o", "json"}, {"-o", "yaml"}, {"--prove", "--image", nasty}, {"--prove", "--storage-class", nasty, "--image", nasty},
			{"--prove", "--storage-class", nasty, "--yes", "--timeout", nasty},
		}},
		"list": {true, [][]string{{}, {"tiers"}, {"-A", "-o", "wide"}, {"-o", "json"}, {"-o", "yaml"}, {"-o", "name"}, {"-l", nasty}, {"--pvc", nasty}, {"--as-of", nasty}, {nasty}}},
		"simulate": {false, [][]string{
			{"-f", write("e.yaml", header+`{snapshotInterval: 6h, snapshotTTL: 1d, selector: {matchLabels: {app: "\e[31m\n\a"}}}`), "--for", "5d"},
			{"-f", write("f.yaml", header+`{"\e[31m": 1}`)}, {"-f", write("g.yaml", header+`{snapshotInterval: "\e[31m"}`)}, {"-f", write("h.yaml", nasty)},
			{"-f", write("i.yaml", header+`{snapshotInterval: 6h}`), "--gone", nasty}, {"-f", filepath.Join(dir, "i.yaml"), "--driver", nasty},
		}},
		"hold":    {false, [][]string{{ofDB0, "--reason", nasty}, {ofDB0, "--until", nasty}, {nasty}}},
		"confirm": {false, [][]string{{"tiers"}, {"invalid"}, {nasty}, {"--cluster-schedule", nasty}}},
		"suspend": {false, [][]string{{"tiers", "-o", "yaml"}, {"invalid"}, {nasty}, {"--cluster-schedule", nasty}}},
		"resume":  {false, [][]string{{"paused"}, {"invalid"}, {nasty}, {"--cluster-schedule", nasty}}},
		"unhold":  {false, [][]string{{ofDB0}, {nasty}}},
		"release": {false, [][]string{{ofDB0}, {"of-peer"}, {nasty}}},
		"migrate": {true, [][]string{{"snapscheduler"}, {"snapscheduler", "--dry-run"}, {"snapscheduler", "--yes"}, {"snapscheduler", "--time-zone", nasty}}},
	}
	for _, refuses := range []bool{false, true} {
		h := newHostileCluster(t, refuses)
		for name, command := range commands {
			shown := false
			h.objects = h.newClient() // commands change it
			for _, args := range command.runs {
				args = append([]string{name}, args...)
				printed := h.run(args...)
				checkPrinted(t, args, printed)
				shown = shown || strings.Contains(printed, `\u001b[31;8m`)
			}
			if asks := name != "simulate" && name != "doctor"; !shown && (command.shown && !refuses || refuses && asks) { // or says only what may not be read
				t.Errorf("%s shows no hostile text", name)
			}
		}
		for _, args := range [][]string{
			{"status", "--" + nasty}, {nasty}, {"status", "--context", nasty}, {"__complete", "restore", "--pvc", ""}, {"__complete", "why", nasty}, {"--help"},
		} {
			checkPrinted(t, args, h.run(args...))
		}
	}
	for _, c := range newRoot(&term.Factory{Config: genericclioptions.NewConfigFlags(true)}).Commands() {
		if _, tried := commands[c.Name()]; !tried && !slices.Contains([]string{"help", "completion", "version"}, c.Name()) {
			t.Errorf("%s is not tried", c.Name())
		}
	}
}

// kubectl reads what was written, whatever it is.
//
// Contract: CLI-1.
func TestStructuredOutputKeepsItsMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(reporttest.Hostile(), rapid.StringOf(rapid.SampledFrom([]rune{'a', ' ', '\n', '\u0085', '\u2028'}))).Draw(t, "text")
		written := strings.ToValidUTF8(text[:min(len(text), 500)], "?")
		for _, format := range []string{term.JSON, term.YAML} {
			var b bytes.Buffer
			if err := (&term.Output{Format: format}).PrintStructured(term.Terminal{Writer: &b}, map[string]string{"text": written}); err != nil {
				t.Fatal(err)
			}
			var read map[string]string
			if err := yaml.NewYAMLOrJSONDecoder(strings.NewReader(b.String()), 4096).Decode(&read); err != nil || read["text"] != written {
				t.Fatalf("%q was read as %q: %v", written, read["text"], err)
			}
			if why := reporttest.Unsafe(strings.ReplaceAll(b.String(), "\n", "")); why != "" {
				t.Fatalf("%s: %s: %q", format, why, b.String())
			}
		}
	})
}

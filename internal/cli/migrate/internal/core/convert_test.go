// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// peer is a schedule of snapscheduler in namespace shop, with a spec in YAML.
func peer(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte("spec: "+spec), &o.Object); err != nil {
		t.Fatal(err)
	}
	o.SetGroupVersionKind(PeerKind)
	o.SetNamespace("shop")
	o.SetName("hourly")
	o.SetResourceVersion("7")
	return o
}

const (
	noteZone = "timeZone: the cron line is in UTC; snapscheduler used the time zone of its operator's pod: " +
		"if that is not UTC, name it with --time-zone"
	noteMinReady = "retention.minReady: 1, new: the newest ready snapshot of each PVC stays, however old it is"
	noteMaxCount = "retention.maxCount: only ready snapshots count; snapscheduler counted all"
)

func TestConvert(t *testing.T) {
	for name, c := range map[string]struct {
		spec  string
		zone  string
		edit  func(*unstructured.Unstructured)
		want  string // the spec
		notes []string
	}{
		"everything that has an equivalent": {
			spec: `{claimSelector: {matchLabels: {app: db}, matchExpressions: [{key: tier, operator: Exists}]}, schedule: "30 2 * * *",
				disabled: true, retention: {expires: 168h, maxCount: 10},
				snapshotTemplate: {labels: {team: shop}, snapshotClassName: fast}}`,
			zone: "Europe/Oslo",
			want: `{selector: {matchLabels: {app: db}, matchExpressions: [{key: tier, operator: Exists}]}, schedule: "30 2 * * *",
				timeZone: Europe/Oslo, suspend: true, snapshotTTL: 168h, retention: {maxCount: 10}, deletionPolicy: Orphan,
				snapshotTemplate: {metadata: {labels: {team: shop}}, spec: {volumeSnapshotClassName: fast}}}`,
			notes: []string{noteMaxCount, noteMinReady},
		},
		"nothing but a cron line": {
			spec: `{schedule: "@annually"}`, want: `{schedule: "@yearly", deletionPolicy: Orphan}`, notes: []string{noteZone},
		},
		"an empty template and an empty class": {
			spec: `{schedule: "@hourly", snapshotTemplate: {snapshotClassName: ""}}`, zone: "UTC",
			want: `{schedule: "@hourly", timeZone: UTC, deletionPolicy: Orphan}`,
		},
		"an age of zero": {
			spec: `{schedule: "@midnight", retention: {expires: 0h}}`, zone: "UTC",
			want: `{schedule: "@daily", timeZone: UTC, deletionPolicy: Orphan}`,
			notes: []string{`retention.expires: no equivalent, so snapshots never expire by age: duration "0h": must be longer than zero; ` +
				`write for example 90s, 6h, 10d or 1d12h (units y w d h m s, largest first)`},
		},
		"labels that must not be on snapshots": {
			spec: `{schedule: "@daily", snapshotTemplate: {labels: {app.kubernetes.io/instance: a, argocd.argoproj.io/x: b,
				snapscheduler.backube/schedule: c, snapshots.mapcontroller.dev/schedule: d, ok: e}}}`, zone: "UTC",
			want: `{schedule: "@daily", timeZone: UTC, deletionPolicy: Orphan, snapshotTemplate: {metadata: {labels: {ok: e}}}}`,
			notes: []string{
				"snapshotTemplate.labels[app.kubernetes.io/instance]: left out: a GitOps tool would prune the snapshots",
				"snapshotTemplate.labels[argocd.argoproj.io/x]: left out: a GitOps tool would prune the snapshots",
				"snapshotTemplate.labels[snapscheduler.backube/schedule]: left out: snapscheduler would expire the snapshots",
				"snapshotTemplate.labels[snapshots.mapcontroller.dev/schedule]: left out: the prefix is reserved",
			},
		},
		"fields and metadata that this program does not know": {
			spec: `{schedule: "@daily", paused: false, retention: {weekly: 3}, snapshotTemplate: {annotations: {a: b}}}`, zone: "UTC",
			edit: func(o *unstructured.Unstructured) {
				o.SetLabels(map[string]string{"b": "1", "a": "1"})
				o.SetFinalizers([]string{"x/y"})
			},
			want: `{schedule: "@daily", timeZone: UTC, deletionPolicy: Orphan}`,
			notes: []string{
				"paused: no equivalent", "retention.weekly: no equivalent", "snapshotTemplate.annotations: no equivalent",
				"metadata.labels: left out: a, b", "metadata: ownerReferences and finalizers are left out",
			},
		},
		"one that a migration has disabled is not suspended": {
			spec: `{schedule: "@daily", disabled: true}`, zone: "UTC",
			edit: func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{annotationWasEnabled: "true"}) },
			want: `{schedule: "@daily", timeZone: UTC, deletionPolicy: Orphan}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := peer(t, c.spec)
			if c.edit != nil {
				c.edit(o)
			}
			got, err := Convert(o, c.zone)
			if err != nil {
				t.Fatal(err)
			}
			if s := got.Schedule; s.Namespace != "shop" || s.Name != "hourly" || len(s.Labels)+len(s.Annotations)+len(s.Finalizers) > 0 {
				t.Errorf("got metadata %+v", s.ObjectMeta)
			}
			var want map[string]any
			if err := yaml.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			expectYAML(t, got.Schedule.Spec, want)
			if g, w := strings.Join(got.Notes, "\n"), strings.Join(c.notes, "\n"); g != w {
				t.Errorf("got notes\n%s\nwant\n%s", g, w)
			}
		})
	}
}

func expectYAML(t *testing.T, got, want any) {
	t.Helper()
	var text [2]string
	for i, v := range []any{got, want} {
		// Through maps, so that fields are in one order.
		raw, err := yaml.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := yaml.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		raw, _ = yaml.Marshal(m)
		text[i] = string(raw)
	}
	if text[0] != text[1] {
		t.Errorf("got\n%s\nwant\n%s", text[0], text[1])
	}
}

func TestConvertRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		spec, zone string
		edit       func(*unstructured.Unstructured)
		want       string
	}{
		"a cron line that never fires": {spec: `{schedule: "0 0 30 2 *"}`, want: "spec.schedule: "},
		"a missing cron line":          {spec: `{}`, want: "set exactly one of snapshotInterval and schedule"},
		"an unknown zone":              {spec: `{schedule: "@daily"}`, zone: "Mars/Base", want: `unknown time zone "Mars/Base"`},
		"a selector that is none": {
			spec: `{schedule: "@daily", claimSelector: {matchExpressions: [{key: a, operator: Near}]}}`, want: "spec.selector: ",
		},
		"a spec of other types": {spec: `{schedule: 5}`, want: "read spec: "},
		"a name that is no label value": {
			spec: `{schedule: "@daily"}`, edit: func(o *unstructured.Unstructured) { o.SetName(strings.Repeat("a", 64)) },
			want: "its name has more than 63 characters",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := peer(t, c.spec)
			if c.edit != nil {
				c.edit(o)
			}
			got, err := Convert(o, c.zone)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %+v, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestDisable(t *testing.T) {
	enabled := peer(t, `{schedule: "@daily"}`)
	if got, want := string(Disable(enabled)), `{"metadata":{"annotations":{"snapshots.mapcontroller.dev/disabled-by-migration":"true"},`+
		`"resourceVersion":"7"},"spec":{"disabled":true}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := Disable(peer(t, `{schedule: "@daily", disabled: true}`)); got != nil {
		t.Errorf("got %s, want none", got)
	}
}

func TestNotesNameNoOwnerReferencesThatAreNotThere(t *testing.T) {
	o := peer(t, `{schedule: "@daily"}`)
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: "1"}})
	got, err := Convert(o, "UTC")
	if err != nil || len(got.Notes) != 1 {
		t.Errorf("got %v, %v, want one note", got.Notes, err)
	}
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Contract: CLASS-6.
func TestDriverOf(t *testing.T) {
	long := strings.Repeat("a", 63)
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        driver
	}{
		"the annotation":         {map[string]string{annotationProvisioner: "a"}, "a"},
		"the older one":          {map[string]string{annotationBetaProvisioner: "b"}, "b"},
		"both":                   {map[string]string{annotationProvisioner: "a", annotationBetaProvisioner: "b"}, "a"},
		"none":                   {nil, ""},
		"empty":                  {map[string]string{annotationProvisioner: ""}, ""},
		"provisioned by hand":    {map[string]string{annotationProvisioner: noProvisioner, annotationBetaProvisioner: noProvisioner}, ""},
		"in-tree":                {map[string]string{annotationProvisioner: "kubernetes.io/aws-ebs"}, "kubernetes.io/aws-ebs"},
		"in-tree, too long":      {map[string]string{annotationProvisioner: "kubernetes.io/" + long + "a"}, inTree},
		"another's annotation":   {map[string]string{"example.com/storage-provisioner": "a"}, ""},
		"all characters":         {map[string]string{annotationProvisioner: "0.A_b-Z"}, "0.A_b-Z"},
		"63 characters":          {map[string]string{annotationProvisioner: long}, driver(long)},
		"64 characters":          {map[string]string{annotationProvisioner: long + "a"}, ""},
		"40 kB":                  {map[string]string{annotationProvisioner: strings.Repeat("a", 40_000)}, ""},
		"a slash":                {map[string]string{annotationProvisioner: "example.com/nfs"}, ""},
		"a dash first":           {map[string]string{annotationProvisioner: "-a"}, ""},
		"a dot last":             {map[string]string{annotationProvisioner: "a."}, ""},
		"a line feed":            {map[string]string{annotationProvisioner: "a\n"}, ""},
		"an escape":              {map[string]string{annotationProvisioner: "a\x1b[2J"}, ""},
		"not UTF-8":              {map[string]string{annotationProvisioner: "a\xff"}, ""},
		"not ASCII":              {map[string]string{annotationProvisioner: "größe"}, ""},
		"malformed and an older": {map[string]string{annotationProvisioner: "a b", annotationBetaProvisioner: "b"}, "b"},
	} {
		c := claim("data").with(func(c *corev1.PersistentVolumeClaim) { c.Annotations = tc.annotations }).PersistentVolumeClaim
		if got := driverOf(c); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
		cached := strip(t, stripClaim, c.DeepCopy())
		if got := driverOf(cached); got != tc.want {
			t.Errorf("%s: in the cache %q, want %q", name, got, tc.want)
		}
		if tc.want == "" && len(cached.Annotations) > 0 {
			t.Errorf("%s: cached %v", name, cached.Annotations)
		}
	}
}

// Whatever people write into the annotations, it is shown in a few printable characters.
//
// Contract: CLASS-6.
func TestNamesOfDriversAreHarmless(t *testing.T) {
	anyName := rapid.OneOf(rapid.String(), rapid.StringN(0, 100, 100_000), rapid.StringMatching(`(kubernetes\.io/)?[A-Za-z0-9._-]{0,70}`),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return inTree + string(b) }))
	rapid.Check(t, func(t *rapid.T) {
		name := anyName.Draw(t, "name")
		c := claim("data").of(name).PersistentVolumeClaim
		d := driverOf(c)
		for _, text := range []string{string(d), d.String()} {
			if len(text) > len(inTree)+63 || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
				t.Fatalf("%q is shown as %q", name, text)
			}
		}
		if strings.HasPrefix(name, inTree) != d.inTree() && name != noProvisioner {
			t.Fatalf("%q: in-tree is %v", name, d.inTree())
		}
		if why := (Classes{Known: true}).notSnapshottable(c); len(why) > 200 || (why == "") != (d == "") {
			t.Fatalf("%q: %q", name, why)
		}
	})
}

// Contract: FLIGHT-1, FLIGHT-6.
func TestDriverThatLimits(t *testing.T) {
	all := []client.Object{class("fast", testDriver), class("other", "other.example.com"), class("odd", "example.com/odd")}
	named := func(name string) v1alpha1.SnapshotTemplateSpec {
		return v1alpha1.SnapshotTemplateSpec{VolumeSnapshotClassName: &name}
	}
	listed := v1alpha1.SnapshotTemplateSpec{VolumeSnapshotClassNames: []v1alpha1.SnapshotClassName{"none", "fast"}}
	for name, tc := range map[string]struct {
		driver   string
		template v1alpha1.SnapshotTemplateSpec
		class    *string // of the snapshot
		unknown  bool    // classes are
		want     driver
	}{
		"no class named":                           {driver: testDriver, want: testDriver},
		"no class named, the default filled in":    {driver: testDriver, class: ptr.To("fast"), want: testDriver},
		"no driver, no class named":                {},
		"no driver, the default filled in":         {class: ptr.To("fast")},
		"no driver, class named":                   {template: named("fast"), class: ptr.To("fast"), want: testDriver},
		"no driver, class named that is gone":      {template: named("gone"), class: ptr.To("gone")},
		"no driver, named before an edit":          {template: named("other"), class: ptr.To("fast"), want: testDriver},
		"no driver, none named before an edit":     {template: named("other")},
		"class named that is gone":                 {driver: testDriver, template: named("gone"), class: ptr.To("gone"), want: testDriver},
		"the class wins":                           {driver: testDriver, template: named("other"), class: ptr.To("other"), want: "other.example.com"},
		"chosen from a list":                       {driver: testDriver, template: listed, class: ptr.To("fast"), want: testDriver},
		"made up":                                  {driver: "made.up"},
		"a class of a malformed driver":            {template: named("odd"), class: ptr.To("odd")},
		"classes unknown, class named":             {driver: testDriver, template: named("fast"), class: ptr.To("fast"), unknown: true, want: "fast"},
		"classes unknown, no class named":          {driver: testDriver, unknown: true},
		"classes unknown, the default filled in":   {driver: testDriver, class: ptr.To("fast"), unknown: true},
		"classes unknown, named after it was made": {driver: testDriver, template: named("fast"), unknown: true},
	} {
		classes := Classes{Known: !tc.unknown, All: all}
		if tc.unknown {
			classes.All = nil
		}
		c := claim("data").of(tc.driver).PersistentVolumeClaim
		if got := classes.limitedBy(wantedBy(&tc.template, nil), driverOf(c), tc.class); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
		if tc.class != nil && tc.template.VolumeSnapshotClassName == nil && len(tc.template.VolumeSnapshotClassNames) == 0 {
			continue
		}
		// What a pass asks for is what the cache shows of the snapshot later.
		s := every("6h")
		s.Spec.SnapshotTemplate.Spec = tc.template
		says := classes.limitedBy(wantedOf(&s.Spec, nil), driverOf(c), tc.class)
		if got, _ := classes.limitOf(says, nil, c.CreationTimestamp.Time); got != tc.want {
			t.Errorf("%s: asked for %q, want %q", name, got, tc.want)
		}
	}
}

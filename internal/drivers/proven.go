// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package drivers

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Proof is what a proof on the user's own storage has shown, as the annotation of a VolumeSnapshotClass says it.
type Proof struct {
	At time.Time
	// Version is that of the driver, or UnknownVersion.
	Version string
	// Facts are those that were shown, or refuted. What was not tried is missing.
	Facts map[string]bool
}

// The facts of a proof: two contents may share a handle, and a group is cut at one instant.
const (
	FactCopies = "copies"
	FactGroups = "groups"
)

// UnknownVersion is the version of a driver that does not say one.
const UnknownVersion = "unknown"

// maxProof bounds the annotation, in bytes.
const maxProof = 512

var plainVersion = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,62}$`)

// VersionOf returns the version that a CSIDriver has as a label, as charts write it. Nothing else in the API has one.
func VersionOf(d *storagev1.CSIDriver) string {
	if d != nil && plainVersion.MatchString(d.Labels["app.kubernetes.io/version"]) {
		return d.Labels["app.kubernetes.io/version"]
	}
	return UnknownVersion
}

// Proven returns what a class says was proven; not ok if it says nothing, or is malformed, or of the future.
func Proven(class client.Object, now time.Time) (p Proof, ok bool) {
	text := class.GetAnnotations()[v1alpha1.AnnotationProven]
	words := strings.Split(text, " ")
	if len(text) > maxProof || len(words) < 3 || !plainVersion.MatchString(words[1]) {
		return Proof{}, false
	}
	at, err := time.Parse(time.RFC3339, words[0])
	if err != nil || at.After(now) {
		return Proof{}, false
	}
	p = Proof{At: at, Version: words[1], Facts: map[string]bool{}}
	for _, word := range words[2:] {
		fact, is, found := strings.Cut(word, "=")
		if _, twice := p.Facts[fact]; !found || twice || is != "yes" && is != "no" {
			return Proof{}, false
		}
		p.Facts[fact] = is == "yes"
	}
	return p, true
}

// Holds returns whether a proof has shown a fact of a driver that now has a version. Another version was not tried; where one of both
// is unknown, nothing says that it is another one.
func (p Proof) Holds(fact, version string) bool {
	same := p.Version == version || p.Version == UnknownVersion || version == UnknownVersion
	return same && p.Facts[fact]
}

// String is the value of the annotation.
func (p Proof) String() string {
	words := []string{p.At.UTC().Format(time.RFC3339), p.Version}
	for _, fact := range slices.Sorted(maps.Keys(p.Facts)) {
		words = append(words, fact+"="+map[bool]string{true: "yes", false: "no"}[p.Facts[fact]])
	}
	return strings.Join(words, " ")
}

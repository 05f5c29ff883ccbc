// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"strconv"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/drivers"
)

const (
	// most is how many snapshots are taken of one volume, and limitsFor how long.
	most      = 40
	limitsFor = 10 * time.Minute
	// waitsOut is how long a refusal may last until it is that of a number, and not of a rate.
	waitsOut = 2 * time.Minute
)

// taken is how far the search for limits has come.
type taken struct {
	// created is when the newest snapshot was created, as seen from the start of the step, and refused when its refusal was seen.
	n                int
	created, refused time.Duration
	words            string
	// spacing is the longest time between two snapshots of which the second was refused at first.
	spacing time.Duration
	busy    bool
	// takes is how many a volume takes; zero: it is unknown.
	takes int
}

// takesMany takes one snapshot of a volume after the other, until one is refused for long.
func takesMany(p *Proof, s *Seen) Verdict {
	const claim = "limits"
	if v := p.writes(s, "write-"+claim, claim); v.State != OK {
		return v
	}
	l := &p.limits
	create := func() Verdict {
		l.n, l.created, l.refused, l.busy = l.n+1, s.Since, 0, false
		return Verdict{Do: []change.Change{{Create: p.newSnapshot(limitName(l.n), claim)}}}
	}
	if l.n == 0 {
		return create()
	}
	newest := s.Snapshots[limitName(l.n)]
	switch {
	case newest == nil:
		return Verdict{Do: []change.Change{{Create: p.newSnapshot(limitName(l.n), claim)}}}
	case backup.Uncut(newest):
		return l.uncut(newest, l.pending(s), s.Since)
	case l.refused > 0 && !l.busy:
		l.spacing, l.busy = max(l.spacing, s.Since-l.created), true
	}
	switch {
	case l.n >= most || s.Since > limitsFor:
		words := fmt.Sprintf("%s in %s, none was refused", term.Plural(l.n, "snapshot"), term.Span(s.Since))
		if l.spacing > 0 {
			words = fmt.Sprintf("%s in %s, refused for up to %s after one another: %s", term.Plural(l.n, "snapshot"), term.Span(s.Since),
				term.Span(l.spacing), l.words)
		}
		return Verdict{State: OK, Words: words}
	case p.Pending > 0 && l.pending(s) >= p.Pending:
		return Verdict{Words: fmt.Sprintf("%d snapshots are in progress, as many as max-pending says", p.Pending)}
	}
	return create()
}

// pending returns how many snapshots are not ready yet.
func (l *taken) pending(s *Seen) (n int) {
	for i := 1; i <= l.n; i++ {
		if v := s.Snapshots[limitName(i)]; v == nil || !backup.Ready(v) {
			n++
		}
	}
	return n
}

// uncut waits for the newest snapshot, or says that the volume takes no more.
func (l *taken) uncut(newest *snapshotv1.VolumeSnapshot, inProgress int, since time.Duration) Verdict {
	if words := backup.DriverError(newest); words != "" && l.refused == 0 {
		l.refused, l.words = max(since, 1), words
	}
	switch {
	case l.refused > 0 && since-l.refused > waitsOut:
		// A driver that could not try, or whose snapshots are in progress, may take more.
		if code, _, answered := drivers.Answer(l.words); answered && !drivers.Transient(code) && inProgress == 1 {
			l.takes = l.n - 1
		}
		words := fmt.Sprintf("%s, then refused for %s: %s", term.Plural(l.n-1, "snapshot"), term.Span(waitsOut), l.words)
		return Verdict{State: OK, Words: words}
	case since-l.created > patience:
		return Verdict{State: Unknown, Words: fmt.Sprintf("snapshot %d was not cut within %s", l.n, term.Span(patience))}
	}
	return Verdict{Words: fmt.Sprintf("snapshot %d of %d is not cut yet", l.n, most)}
}

// Suggested are the annotations that state the limits which were found.
func (p *Proof) Suggested() map[string]string {
	all := map[string]string{}
	if p.limits.spacing > 0 {
		all[v1alpha1.AnnotationMinSpacing] = term.Span(max(p.limits.spacing, time.Second))
	}
	if p.limits.takes > 1 { // the refusal of a second one may be that of a longer spacing
		all[v1alpha1.AnnotationMaxPerVolume] = strconv.Itoa(p.limits.takes)
	}
	return all
}

func limitName(i int) string { return fmt.Sprintf("limit-%02d", i) }

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package holders decides what the hold of a snapshot becomes when one of those who hold it comes or goes. Each holder has
// an entry in the annotation holders, and the annotation hold is the longest of them. Nothing else is decided by the entries:
// what keeps a snapshot is hold. The package reads and writes nothing.
package holders

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// Forever is the end of a hold that has none.
var Forever = retention.Forever

const (
	// For is how long a rollback or a copy holds a snapshot at first.
	For = 24 * time.Hour
	// RenewWithin is how soon a hold ends that a rollback or a copy renews.
	RenewWithin = 12 * time.Hour

	// Nobody is the name of a hold that was set without a reason.
	Nobody = "no reason given"
	// unreadable is the name under which a hold goes on whose entries cannot be read: nobody ends it as his own.
	unreadable = "(unreadable holders)"

	// CopyPrefix begins the name of each copy as a holder.
	CopyPrefix = "snapsched-copy-"

	rollbackPrefix = "rollback "
	foreverPrefix  = "forever: "

	maxName = 256
	// maxHolders is how many entries people have at most, and how many rollbacks and copies have beside them.
	maxHolders = 64
	// maxText is more than all of these take with names of maxName bytes.
	maxText = 96 << 10
	// expiredFor is how long ago a hold must have ended, by the clock of whoever adds one, before its entry goes.
	expiredFor = time.Hour
)

// OfRollback is the name of a rollback as a holder.
func OfRollback(id string) string { return rollbackPrefix + id }

// IsRollback returns whether a name is that of a rollback.
func IsRollback(name string) bool { return strings.HasPrefix(name, rollbackPrefix) }

// IsOwn returns whether a name is that of a rollback or of a copy. The plugin gives these, and people may not.
func IsOwn(name string) bool { return IsRollback(name) || strings.HasPrefix(name, CopyPrefix) }

// Reason returns the reason that the annotation hold gives; empty if it gives none. It may be a time.
func Reason(hold string) string {
	if reason := strings.TrimPrefix(hold, foreverPrefix); reason != Nobody {
		return reason
	}
	return ""
}

// Holders are who holds a snapshot, and until when. They are not changed.
type Holders struct{ ends map[string]time.Time }

// Of returns the holders of a snapshot. Without the annotation hold there are none, whatever the entries say: who took it
// off with kubectl has ended all of them. A hold that no entry explains is one of its own, under its own text.
func Of(v client.Object) Holders {
	text, held := backup.HoldText(v)
	if !held {
		return Holders{}
	}
	end, _ := backup.HeldUntil(v)
	ends, err := read(v.GetAnnotations()[v1alpha1.AnnotationHolders])
	if err != nil {
		return Holders{map[string]time.Time{unreadable: end}}
	}
	name := text
	if end.Equal(Forever) {
		name = strings.TrimPrefix(text, foreverPrefix)
		if other, found := ends[bounded(name)]; found && other.Equal(Forever) {
			return Holders{ends}
		}
	} else if slices.ContainsFunc(slices.Collect(maps.Values(ends)), end.Equal) {
		return Holders{ends}
	}
	name = bounded(name)
	ends[name] = later(ends[name], end)
	return Holders{ends}
}

// read reads entries. What is no time holds forever, as in the annotation hold.
func read(text string) (map[string]time.Time, error) {
	ends := map[string]time.Time{}
	if text == "" {
		return ends, nil
	}
	if len(text) > maxText {
		return nil, fmt.Errorf("it has %d bytes", len(text))
	}
	var entries map[string]any
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		return nil, err
	}
	for name, value := range entries {
		end := Forever
		if text, ok := value.(string); ok {
			if at, err := time.Parse(time.RFC3339, text); err == nil && at.Before(Forever) {
				end = at.UTC()
			}
		}
		name = bounded(name)
		ends[name] = later(ends[name], end)
	}
	return ends, nil
}

// bounded returns a name that fits: one line of at most maxName bytes.
func bounded(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, name)
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "")
	}
	if name == "" {
		return Nobody
	}
	return name
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Until returns when the hold of a holder ends. It is zero if there is none.
func (h Holders) Until(name string) time.Time { return h.ends[bounded(name)] }

// Names returns the names of the holders, sorted.
func (h Holders) Names() []string { return slices.Sorted(maps.Keys(h.ends)) }

// Longest returns until when the snapshot is held. It is zero if nobody holds it.
func (h Holders) Longest() (end time.Time) {
	for _, other := range h.ends {
		end = later(end, other)
	}
	return end
}

// With returns the holders with one that holds until a time, or for longer if it does already. Entries that ended long
// before now go.
func (h Holders) With(name string, end, now time.Time) (Holders, error) {
	return h.set(name, later(end, h.Until(name)), now)
}

// Shortened returns the holders with one that holds until a time, although it may hold for longer at present.
func (h Holders) Shortened(name string, end, now time.Time) (Holders, error) {
	return h.set(name, end, now)
}

func (h Holders) set(name string, end, now time.Time) (Holders, error) {
	if name == "" || name != bounded(name) {
		return h, fmt.Errorf("a reason is one line of at most %d bytes", maxName)
	}
	ends := maps.Clone(h.ends)
	if ends == nil {
		ends = map[string]time.Time{}
	}
	maps.DeleteFunc(ends, func(_ string, end time.Time) bool { return now.Sub(end) > expiredFor })
	if _, found := ends[name]; !found {
		if err := makePlace(ends, name); err != nil {
			return h, err
		}
	}
	if end.After(Forever) {
		end = Forever
	}
	ends[name] = end.UTC()
	return Holders{ends}, nil
}

// makePlace makes place for another entry. Whoever may patch a snapshot can fill the list. So people's entries leave those of rollbacks
// and copies their places, and a rollback never stops for want of one: if it finds only such entries, the first to end goes. An entry of
// people goes for no other one.
func makePlace(ends map[string]time.Time, name string) error {
	var others []string
	for other := range ends {
		if IsOwn(other) == IsOwn(name) {
			others = append(others, other)
		}
	}
	slices.SortFunc(others, func(a, b string) int { return cmp.Or(ends[a].Compare(ends[b]), strings.Compare(a, b)) })
	excess := len(others) - maxHolders + 1
	switch {
	case excess <= 0:
	case !IsOwn(name):
		return fmt.Errorf("it is held for %d reasons, and cannot be for another one: end one that is not needed any more, such as %q, "+
			"with kubectl snapsched unhold and its --reason", len(others), others[0])
	default:
		for _, other := range others[:excess] {
			delete(ends, other)
		}
	}
	return nil
}

// Without returns the holders without one.
func (h Holders) Without(name string) Holders {
	return h.only(func(other string) bool { return other != bounded(name) })
}

// Rollbacks returns the rollbacks among the holders.
func (h Holders) Rollbacks() Holders { return h.only(IsRollback) }

func (h Holders) only(keep func(name string) bool) Holders {
	ends := maps.Clone(h.ends)
	maps.DeleteFunc(ends, func(name string, _ time.Time) bool { return !keep(name) })
	return Holders{ends}
}

// Hold returns the annotations by which a name holds a snapshot until a time; nil if it holds it for longer than another time already.
// Who has set another hold with kubectl meanwhile has replaced the one that counts.
func Hold(v client.Object, name string, longerThan, end, now time.Time) (_ map[string]any, err error) {
	held := Of(v)
	if !held.Until(name).After(longerThan) {
		held, err = held.With(name, end, now)
	}
	return held.Changes(v), err
}

// Changes returns the annotations of a merge patch that makes these the holders of a snapshot; nil if they are. Both belong
// into one patch, with the resourceVersion of the snapshot that they were read from.
func (h Holders) Changes(v client.Object) map[string]any {
	changes := map[string]any{v1alpha1.AnnotationHold: nil, v1alpha1.AnnotationHolders: nil}
	if len(h.ends) > 0 {
		changes[v1alpha1.AnnotationHold], changes[v1alpha1.AnnotationHolders] = h.hold(), h.text()
	}
	for key, value := range changes {
		if now, found := v.GetAnnotations()[key]; found != (value != nil) || found && now != value {
			return changes
		}
	}
	return nil
}

// hold is the annotation hold: the longest of the entries.
func (h Holders) hold() string {
	end := h.Longest()
	if !end.Equal(Forever) {
		return end.Format(time.RFC3339Nano)
	}
	for _, name := range h.Names() {
		if h.ends[name].Equal(Forever) {
			return foreverPrefix + name
		}
	}
	panic("unreachable: one of them is the longest")
}

// text is the annotation holders.
func (h Holders) text() string {
	entries := map[string]string{}
	for name, end := range h.ends {
		entries[name] = ""
		if !end.Equal(Forever) {
			entries[name] = end.Format(time.RFC3339Nano)
		}
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // a name stays as short as it is
	if err := encoder.Encode(entries); err != nil {
		panic(err) // texts only
	}
	return strings.TrimSuffix(text.String(), "\n")
}

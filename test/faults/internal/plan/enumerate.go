// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Reference is what is known of a workload from its run without faults.
type Reference struct {
	Workload string
	Trace    Trace
	// Deletes tells that retention deletes something, so that clocks matter.
	Deletes bool
	// Uncut tells that an uncut snapshot is there at the start.
	Uncut bool
}

var (
	crashes    = []Deed{CrashBefore, CrashAfter}
	errorDeeds = []Deed{Conflict, TooMany, Internal, Unavailable, TimedOut, Lost, Quota, Terminating}
	listDeeds  = []Deed{Internal, Gone, Stale, Empty, Truncated}
	// liveDeeds leave out what no API server does: a list that fills no cache is
	// never old, and lacks nothing.
	liveDeeds  = []Deed{Internal, Gone}
	getDeeds   = []Deed{Internal, Gone, Stale}
	pathDeeds  = []Deed{Internal, Unavailable}
	eventDeeds = []Deed{Drop, DropGone, Delay, Duplicate}
	ages       = []string{"one-change-back", "half-way-back", "before-anything"}
)

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// Lies are the clocks that a guard must not trust.
var Lies = []Lie{
	{Name: "+1h", By: time.Hour}, {Name: "-1h", By: -time.Hour},
	{Name: "+1d", By: day}, {Name: "-1d", By: -day},
	{Name: "+10y", By: 10 * year}, {Name: "-10y", By: -10 * year},
	{Name: "1970", At: time.Unix(0, 0)},
	{Name: "no-date", None: true}, {Name: "no-time", Garbage: true},
}

// pairsPerWorkload is the share of pairs that is tried: all of them would be
// the square of all plans.
const pairsPerWorkload = 8

// Enumerate lists every plan for some workloads, by class. Pairs alone are drawn,
// from a seed.
func Enumerate(references []Reference, seed uint64, idle time.Duration) []Plan {
	var all []Plan
	for i, r := range references {
		all = append(all, r.crashPlans()...)
		all = append(all, r.errorPlans()...)
		all = append(all, r.readPlans(i == 0)...)
		all = append(all, r.watchPlans()...)
		all = append(all, r.travelPlans()...)
		all = append(all, r.managerPlans()...)
		all = append(all, r.clockPlans()...)
		all = append(all, r.pairPlans(seed)...)
		all = append(all, Plan{ID: id(Idle, r.Workload, idle.String()), Class: Idle, Workload: r.Workload, IdleFor: idle})
	}
	return all
}

func id(class Class, workload string, parts ...string) string {
	return strings.Join(append([]string{string(class), workload}, parts...), ":")
}

func (f Fault) String() string {
	if f.Do == Stale || f.Do == Travel {
		return fmt.Sprintf("%s:%s-%s", f.At, f.Do, ages[f.Age])
	}
	return fmt.Sprintf("%s:%s", f.At, f.Do)
}

func (r Reference) single(class Class, f Fault) Plan {
	return Plan{ID: id(class, r.Workload, f.String()), Class: class, Workload: r.Workload, Faults: []Fault{f}}
}

func (r Reference) each(class Class, at Trace, deeds []Deed) []Plan {
	var all []Plan
	for _, p := range at {
		for _, d := range deeds {
			if d == Stale {
				for age := range ages {
					all = append(all, r.single(class, Fault{At: p, Do: d, Age: age}))
				}
				continue
			}
			all = append(all, r.single(class, Fault{At: p, Do: d}))
		}
	}
	return all
}

func (r Reference) crashPlans() []Plan { return r.each(Crash, r.Trace.where(Point.Write), crashes) }

func (r Reference) errorPlans() []Plan {
	return r.each(APIErrors, r.Trace.where(Point.Write), errorDeeds)
}

// readPlans have faults at discovery for the first workload only: it is the same
// for all.
func (r Reference) readPlans(first bool) []Plan {
	all := r.each(Reads, r.Trace.where(Point.List), listDeeds)
	all = append(all, r.each(Reads, r.Trace.where(Point.LiveList), liveDeeds)...)
	all = append(all, r.each(Reads, r.Trace.where(Point.Get), getDeeds)...)
	if first {
		all = append(all, r.each(Reads, r.Trace.where(Point.Discovery), pathDeeds)...)
	}
	return all
}

func (r Reference) watchPlans() []Plan {
	return r.each(Watches, r.Trace.where(Point.Event), eventDeeds)
}

// travelPlans begin in the past, and go back to it at each write, by another age each
// time, so that every age meets every kind of write.
func (r Reference) travelPlans() []Plan {
	var all []Plan
	for age, name := range ages {
		all = append(all, Plan{
			ID: id(TimeTravel, r.Workload, "start", name), Class: TimeTravel, Workload: r.Workload, From: &age, HidesUncut: r.Uncut,
		})
	}
	for i, p := range r.Trace.where(Point.Write) {
		for age := range 2 {
			all = append(all, r.single(TimeTravel, Fault{At: p, Do: Travel, Age: (i + age) % len(ages)}))
		}
	}
	return all
}

func (r Reference) managerPlans() []Plan {
	var all []Plan
	for _, how := range []Interleaving{BothFree, LateView, LateWrites} {
		all = append(all, Plan{ID: id(Managers, r.Workload, string(how)), Class: Managers, Workload: r.Workload, Two: how})
	}
	return all
}

func (r Reference) clockPlans() []Plan {
	if !r.Deletes {
		return nil
	}
	var all []Plan
	for _, lie := range Lies {
		all = append(all, Plan{ID: id(Clock, r.Workload, lie.Name), Class: Clock, Workload: r.Workload, Lie: &lie})
	}
	return all
}

// pairPlans put a second fault after a first one.
func (r Reference) pairPlans(seed uint64) []Plan {
	writes, events := r.Trace.where(Point.Write), r.Trace.where(Point.Event)
	if len(writes) < 2 || len(events) == 0 {
		return nil
	}
	draw := rand.New(rand.NewPCG(seed, uint64(len(r.Trace))))
	seen := map[string]bool{}
	var all []Plan
	for tries := 0; len(all) < pairsPerWorkload && tries < 10*pairsPerWorkload; tries++ {
		i := draw.IntN(len(writes) - 1)
		first := Fault{At: writes[i], Do: pick(draw, slices.Concat(errorDeeds, crashes))}
		second := Fault{At: writes[i+1+draw.IntN(len(writes)-i-1)], Do: pick(draw, slices.Concat(errorDeeds, crashes))}
		if tries%2 == 1 {
			second = Fault{At: events[draw.IntN(len(events))], Do: pick(draw, eventDeeds)}
		}
		p := Plan{
			ID:    id(Pairs, r.Workload, first.String()+"+"+second.String()),
			Class: Pairs, Workload: r.Workload, Faults: []Fault{first, second},
		}
		if !seen[p.ID] {
			seen[p.ID] = true
			all = append(all, p)
		}
	}
	return all
}

func pick(draw *rand.Rand, deeds []Deed) Deed { return deeds[draw.IntN(len(deeds))] }

// Choose keeps the plans of some classes and IDs, of each class as many as limit says
// and those spread evenly over all of it. What is empty or 0 chooses everything. An ID
// that ends in * stands for all that begin so.
func Choose(all []Plan, classes []Class, ids []string, limit func(Class) int) []Plan {
	var kept []Plan
	for _, class := range Classes {
		if len(classes) > 0 && !slices.Contains(classes, class) {
			continue
		}
		var of []Plan
		for _, p := range all {
			if p.Class == class && named(p.ID, ids) {
				of = append(of, p)
			}
		}
		kept = append(kept, spread(of, limit(class))...)
	}
	return kept
}

func named(id string, ids []string) bool {
	return len(ids) == 0 || slices.ContainsFunc(ids, func(want string) bool {
		begin, some := strings.CutSuffix(want, "*")
		return id == want || some && strings.HasPrefix(id, begin)
	})
}

func spread(of []Plan, limit int) []Plan {
	if limit <= 0 || len(of) <= limit {
		return of
	}
	kept := make([]Plan, limit)
	for i := range kept {
		kept[i] = of[i*len(of)/limit]
	}
	return kept
}

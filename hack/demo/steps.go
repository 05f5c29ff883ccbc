// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"time"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

const interval, ttl = 5 * time.Second, 20 * time.Second // as in schedule.yaml

var showSnapshots = []string{"kubectl get volumesnapshots -o go-template-file=hack/demo/snapshots.tmpl"}
var showSchedule = []string{"kubectl get snapsched -o go-template-file=hack/demo/schedule.tmpl"}

var story = []step{{
	title: "A cluster, the operator, two volumes",
	text: `The API server, the CSI driver and the operator run on this machine as plain
processes. Lines with $ are real commands.`,
	run: []string{
		"kubectl apply -f config/crd/bases",
		"kubectl wait crd --for=condition=Established --all",
		"kubectl create namespace demo",
		"kubectl config set-context --current --namespace=demo",
	},
}, {
	text:    `One PVC, db, is labeled app=my-app. The other, web, has no label yet.`,
	prepare: func(d *demo) error { return d.operator.start() },
	run: []string{
		"kubectl apply -f hack/demo/pvcs.yaml",
		"kubectl wait pvc db web --for=jsonpath='{.status.phase}'=Bound --timeout=90s",
	},
}, {
	title: "One schedule for every PVC labeled app=my-app",
	text: `A snapshot every 5 seconds, kept for 20 seconds (a real schedule says 6h and
10d, or has a cron line). The first one is taken at once.`,
	run:     []string{`cat hack/demo/schedule.yaml`, `kubectl apply -f hack/demo/schedule.yaml`},
	until:   "db has its first snapshot, ready to restore from",
	reached: func(d *demo) bool { return d.now.ready("db", time.Time{}) > 0 },
	show:    showSnapshots,
}, {
	title:   "A label is all it takes",
	text:    `Label the second PVC, and it has a snapshot at once as well.`,
	run:     []string{`kubectl label pvc web app=my-app`},
	until:   "web has its first snapshot",
	reached: func(d *demo) bool { return d.now.ready("web", time.Time{}) > 0 },
	show:    []string{"kubectl snapsched status my-app"},
}, {
	title: "Snapshots are taken and expire",
	text: `Now watch: one more for each PVC every 5 seconds, and whatever is older than
20 seconds is deleted.`,
	until: "four snapshots have expired, both PVCs still have three or more",
	reached: func(d *demo) bool {
		return len(d.deleted) >= 4 && d.now.ready("db", time.Time{}) >= 3 && d.now.ready("web", time.Time{}) >= 3
	},
	show: []string{"COLUMNS=76 kubectl snapsched timeline my-app"},
}, {
	title:   "The operator is killed",
	text:    `With SIGKILL, and it stays down until a snapshot is overdue.`,
	prepare: func(d *demo) error { d.operator.ended = nil; return nil }, // it may end
	run:     []string{`kill -9 {pid}`},
	until:   "the next slot has passed, and no snapshot was taken",
	reached: func(d *demo) bool {
		db := d.now.of("db")
		d.slot = db[len(db)-1].slot.Add(interval)
		return d.now.time.After(d.slot.Add(time.Second))
	},
}, {
	text: `It is started again. It has no state to lose: from the API server it sees
which slot was missed, and takes it late. A snapshot's name is computed from
schedule, PVC and slot, so no crash can make it take one twice.`,
	prepare: func(d *demo) error { return d.operator.start() },
	until:   "the missed slot has its snapshots",
	reached: func(d *demo) bool { return d.now.ready("db", d.slot) > 0 && d.now.ready("web", d.slot) > 0 },
	show:    showSnapshots,
}, {
	title: "A hold",
	text: `One of db's snapshots is needed for an audit. A hold, an annotation, keeps it
however old it gets.`,
	prepare: func(d *demo) error {
		held := d.now.of("db")[1] // the oldest might expire before it is annotated
		d.held, d.slot = held.name, held.slot
		return nil
	},
	run:   []string{"kubectl snapsched hold {held}"},
	until: "a younger snapshot of db has expired, the held one is there",
	reached: func(d *demo) bool {
		younger := func(s snapshot) bool { return s.pvc == "db" && s.slot.After(d.slot) }
		return slices.ContainsFunc(d.deleted, younger) && d.now.has(d.held)
	},
	show: []string{"kubectl snapsched why {held}"},
}, {
	title: "A mistake deletes nothing",
	text: `A jitter longer than the interval makes no sense. The operator says so and
stops: while a spec is invalid, nothing is taken and nothing is deleted.`,
	run:     []string{`kubectl patch snapsched my-app --type=merge -p '{"spec":{"jitter":"1h"}}'`},
	until:   "the spec is invalid, and snapshots 10s past their TTL are still there",
	reached: func(d *demo) bool { return d.now.reason() == v1alpha1.ReasonInvalidSpec && hasExpired(d) },
	show:    showSchedule,
}, {
	text:    `Fixed, it goes on where it stopped.`,
	run:     []string{`kubectl patch snapsched my-app --type=merge -p '{"spec":{"jitter":null}}'`},
	until:   "the spec is valid, and the expired snapshots are deleted",
	reached: func(d *demo) bool { return d.now.reason() == v1alpha1.ReasonScheduled && !hasExpired(d) },
}, {
	title: "A snapshot on request",
	text: `Before a risky upgrade: suspend the schedule, and ask for one snapshot of each
PVC now. Old ones still expire, but never the newest that is ready.`,
	run: []string{
		`kubectl patch snapsched my-app --type=merge -p '{"spec":{"suspend":true}}'`,
		"kubectl annotate snapsched my-app \\\n        snapshots.mapcontroller.dev/requested-at=$(date -u +%FT%TZ)",
	},
	until: "db and web have the snapshot that was requested",
	reached: func(d *demo) bool {
		requested, err := time.Parse(time.RFC3339, d.now.schedule.Annotations[v1alpha1.AnnotationRequestedAt])
		return err == nil && d.now.ready("db", requested) > 0 && d.now.ready("web", requested) > 0
	},
}, {
	title: "A PVC is deleted",
	text: `By accident. Its snapshots stay, for they are now the only copy. They count as
detached, and this schedule keeps those for an hour.`,
	run:   []string{`kubectl delete pvc web`},
	until: "web is gone, its snapshots are detached",
	reached: func(d *demo) bool {
		detached, left := d.now.schedule.Status.Detached, len(d.now.of("web"))
		return left > 0 && detached != nil && int(detached.VolumeSnapshots) == left
	},
	show: slices.Concat(showSchedule, showSnapshots),
}, {
	title: "The schedule is deleted, its snapshots stay",
	text: `Usually they are deleted with the schedule that owns them. The plugin says what
a deletion would take along. With deletionPolicy Orphan it owns them by their
labels alone, and nothing that deletes it takes them along.`,
	run: []string{`kubectl snapsched preview --delete my-app`, `kubectl patch snapsched my-app --type=merge \
        -p '{"spec":{"deletionPolicy":"Orphan"}}'`},
	until:   "no snapshot has an owner any more",
	reached: func(d *demo) bool { return d.now.reason() == v1alpha1.ReasonSuspended && d.now.owned() == 0 },
}, {
	run:     []string{`kubectl delete snapsched my-app`},
	until:   "the schedule is gone, its snapshots are there",
	reached: func(d *demo) bool { return d.now.schedule.Name == "" && d.now.has(d.held) && len(d.now.of("web")) > 0 },
	show:    showSnapshots,
}, {
	text:    `Created again under its name, the schedule takes them back and goes on.`,
	run:     []string{`kubectl apply -f hack/demo/schedule.yaml`},
	until:   "every snapshot has an owner again",
	reached: func(d *demo) bool { return d.now.owned() > 0 && d.now.owned() == len(d.now.snapshots) },
	show:    showSchedule,
}, {
	title: "One object for every namespace",
	text: `A ClusterSnapshotSchedule protects every namespace with a label: one that is
created now, and its two PVCs, need no schedule of their own.`,
	run: []string{
		`cat hack/demo/fleet.yaml`, `kubectl apply -f hack/demo/fleet.yaml`,
		`kubectl create namespace shop`, `kubectl label namespace shop backup=gold`,
		`kubectl apply --namespace=shop -f hack/demo/pvcs.yaml`,
		"kubectl wait csnapsched gold --for=jsonpath='{.status.volumeSnapshots.ready}'=2 --timeout=90s",
		"kubectl get csnapsched",
		"kubectl get volumesnapshots --namespace=shop -o go-template-file=hack/demo/snapshots.tmpl",
	},
}, {
	text: `The whole spec of its SnapshotSchedules is the template's. Whoever weakens one
does so for a moment.`,
	run: []string{
		`kubectl patch snapsched gold --namespace=shop --type=merge -p '{"spec":{"snapshotTTL":"1h"}}'`,
		"kubectl wait snapsched gold --namespace=shop --for=jsonpath='{.spec.snapshotTTL}'=10d --timeout=90s",
	},
}, {
	text: `Without the label, the namespace keeps what it has: its schedule is suspended,
and stays until its last snapshot has expired.`,
	run: []string{
		`kubectl label namespace shop backup-`,
		`kubectl wait snapsched gold --namespace=shop --timeout=90s \
        --for=jsonpath='{.status.conditions[?(@.type=="Ready")].reason}'=Suspended`,
		"kubectl get snapsched --namespace=shop -o go-template-file=hack/demo/schedule.tmpl",
		"kubectl get volumesnapshots --namespace=shop -o go-template-file=hack/demo/snapshots.tmpl",
	},
}}

// hasExpired returns whether a snapshot without a hold is 10 seconds older than its TTL.
func hasExpired(d *demo) bool {
	return len(d.now.list(func(s snapshot) bool { return s.name != d.held && d.now.time.After(s.created.Add(ttl+10*time.Second)) })) > 0
}

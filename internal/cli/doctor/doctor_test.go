// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/protection"
	"mapcontroller.dev/snapshotschedule/internal/drivers"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

func TestMain(m *testing.M) { clitest.Main(m) }

// read reads a file of the repository.
func read(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile("../../../config/" + file)
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// serves returns a definition of another project that serves some versions.
func serves(versions ...string) *customResource {
	o := &customResource{}
	for _, v := range versions {
		o.Spec.Versions = append(o.Spec.Versions, customVersion{Name: v, Served: true})
	}
	return o
}

// definitionsNow are those of this repository, and those of the snapshots.
func definitionsNow(t *testing.T) map[string]*customResource {
	t.Helper()
	all := map[string]*customResource{}
	for _, d := range definitions {
		all[d.name] = serves("v1")
		if plural, _, _ := strings.Cut(d.name, "."); d.ours != nil {
			all[d.name] = &customResource{}
			read(t, "crd/bases/snapshots.mapcontroller.dev_"+plural+".yaml", all[d.name])
		}
	}
	return all
}

// fields returns the properties below a path of the schema of a definition.
func fields(o *customResource, path ...string) map[string]properties {
	all := o.Spec.Versions[0].Schema.Root
	for _, name := range path {
		all = all.Properties[name]
	}
	return all.Properties
}

// Contract: CLI-46.
func TestDefinitions(t *testing.T) {
	const ours = "snapshotschedules.snapshots.mapcontroller.dev"
	withGroups := clitest.Schedule("db", v1alpha1.SnapshotScheduleSpec{Group: &v1alpha1.Group{}})
	for name, test := range map[string]struct {
		change func(all map[string]*customResource)
		groups bool
		want   []string // problems
	}{
		"as they are": {change: func(map[string]*customResource) {}, groups: true},
		"none of snapshots": {
			change: func(all map[string]*customResource) {
				delete(all, "volumesnapshots.snapshot.storage.k8s.io")
			},
			want: []string{"volumesnapshots.snapshot.storage.k8s.io is not installed"},
		},
		"snapshots of 2019": {
			change: func(all map[string]*customResource) {
				all["volumesnapshotclasses.snapshot.storage.k8s.io"] = serves("v1alpha1", "v1beta1")
			},
			want: []string{"volumesnapshotclasses.snapshot.storage.k8s.io serves v1alpha1, v1beta1, and not v1"},
		},
		"no groups, and no schedule with any": {
			change: func(all map[string]*customResource) {
				delete(all, "volumegroupsnapshots.groupsnapshot.storage.k8s.io")
			},
		},
		"no groups, and a schedule with some": {
			change: func(all map[string]*customResource) {
				delete(all, "volumegroupsnapshots.groupsnapshot.storage.k8s.io")
			},
			groups: true, want: []string{"volumegroupsnapshots.groupsnapshot.storage.k8s.io is not installed"},
		},
		"groups in a beta": {
			change: func(all map[string]*customResource) {
				all["volumegroupsnapshots.groupsnapshot.storage.k8s.io"] = serves("v1beta2")
			},
			groups: true, want: []string{"volumegroupsnapshots.groupsnapshot.storage.k8s.io serves v1beta2, and not v1"},
		},
		"older": {
			change: func(all map[string]*customResource) {
				delete(fields(all[ours], "spec", "retention"), "minVerified")
				delete(fields(all[ours], "spec"), "group")
			},
			want: []string{ours + " is older than this plugin: it has no field spec.group, spec.group.byLabel, spec.group.volumeGroupSnapshotClassName, spec.retention.minVerified; "},
		},
		"newer": {
			change: func(all map[string]*customResource) {
				fields(all[ours], "spec", "retention")["ofTomorrow"] = properties{}
			},
			want: []string{ours + " is newer than this plugin, which knows no field spec.retention.ofTomorrow: "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &seen{definitions: definitionsNow(t)}
			if test.groups {
				s.schedules = append(s.schedules, withGroups)
			}
			test.change(s.definitions)
			var problems []string
			for _, p := range checkDefinitions(s) {
				if p.State == Problem {
					problems = append(problems, p.Message)
				}
			}
			if !slices.EqualFunc(problems, test.want, strings.HasPrefix) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(problems, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// Longhorn has snapshots, snapscheduler has SnapshotSchedules.
//
// Contract: CLI-46.
func TestNames(t *testing.T) {
	s := &seen{resources: []*metav1.APIResourceList{
		{GroupVersion: "snapshots.mapcontroller.dev/v1alpha1", APIResources: []metav1.APIResource{
			{Name: "snapshotschedules", SingularName: "snapshotschedule", ShortNames: []string{"snapsched"}},
		}},
		{GroupVersion: "snapshot.storage.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "volumesnapshots", SingularName: "volumesnapshot", ShortNames: []string{"vs"}}}},
		{GroupVersion: "longhorn.io/v1beta2", APIResources: []metav1.APIResource{{Name: "snapshots", SingularName: "snapshot"}}},
	}}
	if all := checkNames(s); len(all) != 1 || all[0].State != OK {
		t.Errorf("%+v", all)
	}
	s.resources = append(s.resources, &metav1.APIResourceList{GroupVersion: "networking.istio.io/v1", APIResources: []metav1.APIResource{
		{Name: "virtualservices", SingularName: "virtualservice", ShortNames: []string{"vs"}},
	}})
	if all := checkNames(s); len(all) != 1 || all[0].State != Problem || all[0].Fix != "kubectl get vs.snapshot.storage.k8s.io" ||
		!strings.HasPrefix(all[0].Message, "vs is a name of virtualservices.networking.istio.io too") {
		t.Errorf("%+v", all)
	}
}

// One object alone may wait, and a controller that is dead has reacted before.
func TestReaction(t *testing.T) {
	for name, test := range map[string]struct {
		objects string // the minutes ago at which objects were created, and ! for those that were answered
		none    bool
	}{
		"nothing":                      {objects: ""},
		"one that is young":            {objects: "1"},
		"one that is old":              {objects: "3", none: true},
		"an old one beside later ones": {objects: "9 2!"},
		"those since it died":          {objects: "9! 5 4", none: true},
		"also if one always waited":    {objects: "90 9! 5 4", none: true},
		"created at once":              {objects: "5! 5"},
	} {
		t.Run(name, func(t *testing.T) {
			var r reaction
			for text := range strings.FieldsSeq(test.objects) {
				minutes, answered := strings.CutSuffix(text, "!")
				age, err := time.ParseDuration(minutes + "m")
				if err != nil {
					t.Fatal(err)
				}
				r.add(&snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(clitest.Start.Add(-age))}}, answered, clitest.Start)
			}
			if r.none() != test.none {
				t.Errorf("got %v", r.none())
			}
		})
	}
}

// hostile is what would run something if a shell did not take it as a word.
const hostile = `x'; echo run; "$(echo run)" ` + "`echo run`"

// shows returns the points of a check as their states, with a text of the message and the command of each that is wanted.
func shows(t *testing.T, all found, want ...point) {
	t.Helper()
	if !slices.EqualFunc(all, want, func(got, want point) bool {
		return got.State == want.State && strings.Contains(got.Message, want.Message) && got.Fix == want.Fix
	}) {
		t.Errorf("got %+v\nwant %+v", all, want)
	}
}

// An upload may take hours, and a schedule says how long a driver may take to cut a snapshot.
//
// Contract: CLI-46.
func TestOnlySnapshotsThatFailAreProblems(t *testing.T) {
	slow := clitest.Schedule("slow", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "24h", ReadyDeadline: "4h"})
	usual := clitest.Schedule("usual", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "24h"})
	type stage = func(*snapshotv1.VolumeSnapshotStatus)
	uncut := func(v *snapshotv1.VolumeSnapshotStatus) { v.CreationTime = nil }
	cut := func(*snapshotv1.VolumeSnapshotStatus) {}
	erring := func(of stage) stage {
		return func(v *snapshotv1.VolumeSnapshotStatus) {
			of(v)
			v.Error = &snapshotv1.VolumeSnapshotError{Message: new("quota exceeded")}
		}
	}
	const quota, none = ": quota exceeded", ": no error is known"
	for name, test := range map[string]struct {
		of    *v1alpha1.SnapshotSchedule
		age   time.Duration
		stage stage
		group bool // it is a member of a group snapshot of the schedule
		want  string
	}{
		"not cut":                          {of: usual, age: 2 * time.Hour, stage: uncut, want: none},
		"not cut yet":                      {of: usual, age: 50 * time.Minute, stage: uncut},
		"not cut, within readyDeadline":    {of: slow, age: 2 * time.Hour, stage: uncut},
		"a member, within readyDeadline":   {of: slow, age: 2 * time.Hour, stage: uncut, group: true},
		"not cut, after readyDeadline":     {of: slow, age: 5 * time.Hour, stage: uncut, want: none},
		"not cut, with an error":           {of: slow, age: 2 * time.Hour, stage: erring(uncut), want: quota},
		"not cut, with a young error":      {of: slow, age: 30 * time.Minute, stage: erring(uncut)},
		"uploads":                          {of: usual, age: 20 * time.Hour, stage: cut},
		"uploads for more than a day":      {of: usual, age: 25 * time.Hour, stage: cut, want: none},
		"uploads, of no schedule that is":  {of: clitest.Schedule("gone", v1alpha1.SnapshotScheduleSpec{}), age: 20 * time.Hour, stage: cut},
		"not cut, of no schedule that is":  {of: clitest.Schedule("gone", v1alpha1.SnapshotScheduleSpec{}), age: 2 * time.Hour, stage: uncut, want: none},
		"cut, with an error":               {of: usual, age: 2 * time.Hour, stage: erring(cut), want: quota},
		"cut, with an error for a while":   {of: usual, age: 30 * time.Minute, stage: erring(cut)},
		"cut, erring within readyDeadline": {of: slow, age: 2 * time.Hour, stage: erring(cut), want: quota},
		"ready, with an error from before": {of: usual, age: 2 * time.Hour, stage: erring(func(v *snapshotv1.VolumeSnapshotStatus) { v.ReadyToUse = new(true) })},
	} {
		t.Run(name, func(t *testing.T) {
			v := clitest.Snapshot(test.of, clitest.Claim("data", nil), clitest.Start.Add(-test.age))
			v.Status.ReadyToUse = new(false)
			test.stage(v.Status)
			s := &seen{now: clitest.Start, unread: map[string]error{}, schedules: []*v1alpha1.SnapshotSchedule{slow, usual}, inventory: &view.Inventory{}}
			if test.group {
				g := &groupv1.VolumeGroupSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "g", Labels: v.Labels}}
				g.CreationTimestamp = metav1.NewTime(clitest.Start)
				s.inventory.Groups = map[string][]client.Object{"shop": {g}}
				v.Labels, v.Status.VolumeGroupSnapshotName = map[string]string{v1alpha1.LabelGroupSnapshot: "g"}, new("g")
			}
			s.inventory.Snapshots = map[string][]client.Object{"shop": {v}}
			if test.want == "" {
				shows(t, checkSnapshots(s), point{State: OK, Message: "none fails"})
				return
			}
			shows(t, checkSnapshots(s), point{State: Problem, Message: test.want, Fix: "kubectl describe -n shop volumesnapshot.snapshot.storage.k8s.io " + v.Name})
		})
	}
}

// A snapshot goes when its content is being deleted, and some drivers take minutes for that.
//
// Contract: CLI-46.
func TestOnlyContentsThatStayAreLeftBehind(t *testing.T) {
	of := func(name string, deleted time.Duration) snapshotv1.VolumeSnapshotContent {
		c := snapshotv1.VolumeSnapshotContent{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(clitest.Start.Add(-24 * time.Hour))}}
		if deleted > 0 {
			c.DeletionTimestamp = new(metav1.NewTime(clitest.Start.Add(-deleted)))
		}
		return c
	}
	s := &seen{now: clitest.Start, anywhere: map[client.ObjectKey]string{}, contents: snapshotv1.VolumeSnapshotContentList{
		Items: []snapshotv1.VolumeSnapshotContent{of("goes", 20*time.Minute), of("stuck", 2*time.Hour), of("stays", 0)},
	}}
	var all found
	s.checkContents(&all)
	left := func(name string) point {
		return point{State: Problem, Message: name, Fix: "kubectl describe volumesnapshotcontent " + name}
	}
	shows(t, all, left("stuck"), left("stays"))
}

// Whoever may write a snapshot of a schedule can give it the label of safety snapshots.
//
// Contract: CLI-46.
func TestOnlySafetySnapshotsAreLeftOfRollbacks(t *testing.T) {
	snapshot := func(name, rollback, key string, age time.Duration) client.Object {
		v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, CreationTimestamp: metav1.NewTime(clitest.Start.Add(-age)), Labels: map[string]string{v1alpha1.LabelRollback: rollback},
		}}
		if key != "" {
			v.Labels[v1alpha1.LabelMapKey] = key
		}
		return v
	}
	const day = 24 * time.Hour
	left := func() *seen {
		return &seen{now: clitest.Start, unread: map[string]error{}, inventory: &view.Inventory{Snapshots: map[string][]client.Object{"shop": {
			snapshot("labeled", "x", "data-uid", 10*day), snapshot("needed", "f00", "", 10*day), snapshot("old", "bad", "", 10*day), snapshot("young", "cad", "", day),
		}}}}
	}
	s := left()
	s.rollbacks = []protection.Rollback{{Namespace: "shop", ID: "f00", Claims: []string{"data"}, Remedy: "undo it: kubectl snapsched rollback --undo"}}
	shows(t, checkLeftovers(s),
		point{State: Problem, Message: "is unfinished", Fix: "kubectl snapsched rollback --undo"},
		point{State: Problem, Message: "shop/old (of unknown size) is the safety snapshot of rollback bad", Fix: "kubectl describe -n shop volumesnapshot old"},
		point{State: OK, Message: "shop/young"})
	s = left()
	s.note(unfinished, apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, "", nil))
	shows(t, checkLeftovers(s), point{State: Unknown, Message: "unfinished rollbacks may be missing, and what the others have left is not named: "})
}

// A class that no schedule uses may be one of a backup tool that needs Retain.
//
// Contract: CLI-46.
func TestOnlyClassesThatSchedulesUseAreToDelete(t *testing.T) {
	const driver = "csi.example.com"
	single := func(name string, annotations map[string]string) client.Object {
		return &snapshotv1.VolumeSnapshotClass{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}, Driver: driver, DeletionPolicy: snapshotv1.VolumeSnapshotContentRetain,
		}
	}
	group := &groupv1.VolumeGroupSnapshotClass{ObjectMeta: metav1.ObjectMeta{Name: "group"}, Driver: driver, DeletionPolicy: "Retain"}
	usual, named := single("usual", map[string]string{"snapshot.storage.kubernetes.io/is-default-class": "true"}), single("named", nil)
	classes := []client.Object{usual, named, single("velero", nil), group}
	s := &seen{inventory: &view.Inventory{Classes: snapshots.Classes{Known: true, All: classes}}}
	names := v1alpha1.SnapshotScheduleSpec{}
	names.SnapshotTemplate.Spec.VolumeSnapshotClassName = new("named")
	check := func() (all found) {
		s.checkRetained(&all, driver, classes)
		return all
	}
	patch := func(name string) point {
		return point{State: Problem, Message: name, Fix: "kubectl patch volumesnapshotclass " + name + ` --type=merge -p '{"deletionPolicy":"Delete"}'`}
	}
	other := func(name string) point {
		return point{State: OK, Message: name + " has the deletionPolicy Retain, and no schedule"}
	}
	shows(t, check(), patch("usual"), other("named"), other("velero"), other("group"))
	s.schedules = append(s.schedules, clitest.Schedule("names", names),
		clitest.Schedule("groups", v1alpha1.SnapshotScheduleSpec{Group: &v1alpha1.Group{VolumeGroupSnapshotClassName: new("group")}}))
	shows(t, check(), patch("usual"), patch("named"), other("velero"), point{
		State: Problem, Message: "group.json keeps the class as it is", Fix: "kubectl get volumegroupsnapshotclass group -o json > group.json " +
			`&& sed 's/"deletionPolicy": "Retain"/"deletionPolicy": "Delete"/' group.json | kubectl replace --force -f -`,
	})
}

// A driver that no node has may come back, and its classes with their parameters would be gone.
//
// Contract: CLI-46.
func TestNoClassOfADriverThatIsDownIsDeleted(t *testing.T) {
	s := &seen{inventory: &view.Inventory{Classes: snapshots.Classes{Known: true, All: []client.Object{
		&snapshotv1.VolumeSnapshotClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Driver: "csi.example.com"},
	}}}}
	shows(t, checkDrivers(s), point{State: Problem, Message: "csi.example.com, which is down, or not installed", Fix: "kubectl get csidrivers,csinodes"})
}

// Names come from the cluster, and users paste the commands.
func TestCommandsQuoteNames(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte("#!/bin/sh\nprintf '<%s>' \"$@\"\n/bin/cat\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var all found
	(&seen{inventory: &view.Inventory{}}).checkDefault(&all, &drivers.Driver{}, hostile, 0)
	inJSON, _ := json.Marshal(hostile)
	for line, want := range map[string]string{
		command("kubectl get %s -n %s", hostile, "shop") + "</dev/null": "<get><" + hostile + "><-n><shop>",
		all[0].Fix: `<create><-f><->{"kind":"VolumeSnapshotClass","apiVersion":"snapshot.storage.k8s.io/v1","metadata":{"name":` + string(inJSON) +
			`,"annotations":{"snapshot.storage.kubernetes.io/is-default-class":"true"}},"driver":` + string(inJSON) + `,"deletionPolicy":"Delete"}`,
	} {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", line)
		cmd.Env = []string{"PATH=" + dir}
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%v:\n%s\nwant\n%s", err, out, want)
		}
	}
}

// What doctor asks for is what the operator's roles grant.
func TestRightsAreThoseOfTheRole(t *testing.T) {
	want, got := map[string]bool{}, map[string]bool{}
	for _, file := range []string{"rbac/role.yaml", "rbac/fleet_role.yaml"} {
		role := &rbacv1.ClusterRole{}
		read(t, file, role)
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						want[verb+" "+group+"/"+resource] = true
					}
				}
			}
		}
	}
	for _, r := range rights {
		for verb := range strings.FieldsSeq(r.verbs) {
			got[verb+" "+r.group+"/"+r.resource] = true
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("got\n%v, the roles have\n%v", got, want)
	}
}

func TestTagOf(t *testing.T) {
	for image, want := range map[string]string{
		"registry.example.com:5000/operator:v1.2.3":                "v1.2.3",
		"registry.example.com:5000/operator:v1.2.3@sha256:0123456": "v1.2.3",
		"registry.example.com:5000/operator":                       "",
		"registry.example.com/operator@sha256:0123456":             "",
	} {
		if got := tagOf(image); got != want {
			t.Errorf("%s: got %s, want %s", image, got, want)
		}
	}
}

func TestPrint(t *testing.T) {
	r := &report{}
	for i, state := range []State{OK, Problem, Unknown, Problem} {
		r.Points = append(r.Points, point{Check: []string{"Drivers", "Operator"}[i/2], State: state, Message: fmt.Sprintf("point %d", i)})
	}
	r.Points[1].Fix = "kubectl get csidrivers\nkubectl get csinodes"
	clitest.Golden(t, func(b *bytes.Buffer) error {
		r.print(b)
		return nil
	}, `
Drivers
  ok      point 0
  problem point 1
          kubectl get csidrivers
          kubectl get csinodes

Operator
  unknown point 2
  problem point 3

2 problems, 1 unknown, 1 ok.
`)
}

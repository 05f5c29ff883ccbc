// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

const (
	goldChild = "snapshotschedules/gold"
	goldFleet = "clustersnapshotschedules/gold"
	shop      = "namespaces/" + namespace
)

type childSchedule = v1alpha1.SnapshotSchedule

// gold is a ClusterSnapshotSchedule that selects namespaces labeled gold.
func gold() *v1alpha1.ClusterSnapshotSchedule {
	f := &v1alpha1.ClusterSnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: "gold", UID: "fleet-gold", Generation: 1}}
	f.Spec.NamespaceSelector.MatchLabels = map[string]v1alpha1.LabelValue{"backup": "gold"}
	f.Spec.Template.Metadata.Labels = map[string]v1alpha1.LabelValue{"tier": "gold"}
	f.Spec.Template.Spec = newSchedule("gold").Spec
	return f
}

func shopNamespace(change ...func(*corev1.Namespace)) *corev1.Namespace {
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, UID: "namespace", Labels: map[string]string{"backup": "gold"}}}
	for _, c := range change {
		c(n)
	}
	return n
}

func deselect(n *corev1.Namespace) { n.Labels = nil }

// goldsChild is the child of gold in namespace shop.
func goldsChild(changes ...func(*childSchedule)) *childSchedule {
	s := newSchedule("gold")
	s.Labels = map[string]string{v1alpha1.LabelMapKey: namespace, v1alpha1.LabelClusterSchedule: "gold", "tier": "gold"}
	s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(gold(), v1alpha1.GroupVersion.WithKind("ClusterSnapshotSchedule"))}
	s.Status.ObservedGeneration = 1
	for _, change := range changes {
		change(s)
	}
	return s
}

func suspend(s *childSchedule)    { s.Spec.Suspend = true }
func orphaned(s *childSchedule)   { s.OwnerReferences = nil }
func untagged(s *childSchedule)   { delete(s.Labels, v1alpha1.LabelMapKey) }
func theirsOnly(s *childSchedule) { s.OwnerReferences, s.Labels = nil, nil }
func unobserved(s *childSchedule) { s.Status.ObservedGeneration = 0 }
func renamed(s *childSchedule)    { s.Name = "copy" }
func weakened(s *childSchedule)   { s.Spec.SnapshotTTL = "1s" }
func confirmed(s *childSchedule) {
	s.Annotations = map[string]string{v1alpha1.AnnotationConfirmGeneration: "1"}
}
func bronze(s *childSchedule)       { s.Labels["tier"] = "bronze" }
func ownerlessTag(s *childSchedule) { s.Labels["team"] = "other" }

// createsChild is a create of a SnapshotSchedule by the operator.
func createsChild(changes ...func(*childSchedule)) func(*script) {
	return func(s *script) {
		o := goldsChild(changes...)
		s.request("create", "snapshotschedules", o.Name)
		s.commit(key(o), o, len(s.Requests)-1)
	}
}

func deletesChild(s *script) {
	s.request("delete", "snapshotschedules", "gold")
	s.commit(goldChild, nil, len(s.Requests)-1)
}

// changesChild is an update by the operator.
func changesChild(changes ...func(*childSchedule)) func(*script) {
	return func(s *script) {
		patches(s, goldChild, func(o *childSchedule) {
			for _, change := range changes {
				change(o)
			}
		})
	}
}

func restored(o *childSchedule) {
	fresh := goldsChild()
	o.Spec, o.OwnerReferences = fresh.Spec, fresh.OwnerReferences
	maps.Copy(o.Labels, fresh.Labels)
}

func TestFleet(t *testing.T) {
	fleet := func(n *corev1.Namespace, more ...client.Object) given { return append(given{gold(), n}, more...) }
	selected, unselected := shopNamespace(), shopNamespace(deselect)
	left := ready("left", day)
	left.OwnerReferences = []metav1.OwnerReference{{Kind: "SnapshotSchedule", Name: "gold", UID: goldsChild().UID}}
	labeled := ready("labeled", day)
	labeled.OwnerReferences = nil
	labeled.Labels[v1alpha1.LabelSchedule] = "gold"
	relabel := func(s *script) { edit(s, shop, deselect) }
	confirmFleet := func(s *script) {
		edit(s, goldFleet, func(f *v1alpha1.ClusterSnapshotSchedule) {
			f.Annotations = map[string]string{v1alpha1.AnnotationConfirmGeneration: "1"}
		})
	}
	judge(t, Fleet, []testCase{
		{"creates a child", fleet(selected).when(createsChild()), ""},
		{"creates a child after the namespace was relabeled", fleet(selected).when(func(s *script) {
			relabel(s)
			createsChild()(s)
		}), ""},
		{"creates a child in a namespace that was never selected", fleet(unselected).when(createsChild()), "is not the child"},
		{"creates a child in an excluded namespace", fleet(shopNamespace(func(n *corev1.Namespace) {
			n.Annotations = map[string]string{v1alpha1.AnnotationExclude: ""}
		})).when(createsChild()), "is not the child"},
		{"creates a child with another spec", fleet(selected).when(createsChild(weakened)), "is not the child"},
		{"creates a child with another name", fleet(selected).when(createsChild(renamed)), "is not the child"},
		{"creates a child without a map key", fleet(selected).when(createsChild(untagged)), "is not the child"},
		{"puts a spec back", fleet(selected, goldsChild(weakened, bronze)).when(changesChild(restored)), ""},
		{"suspends a child", fleet(unselected, goldsChild()).when(changesChild(suspend)), ""},
		{"suspends the child of a selected namespace", fleet(selected, goldsChild()).when(changesChild(suspend)), "not the template's"},
		{"keeps what a tenant added", fleet(selected, goldsChild(weakened)).when(changesChild(suspend)), "not the template's"},
		{"changes a tenant's label", fleet(selected, goldsChild()).when(changesChild(ownerlessTag)), "labels or annotations"},
		{"confirms what was confirmed", fleet(selected, goldsChild()).when(func(s *script) {
			confirmFleet(s)
			changesChild(confirmed)(s)
		}), ""},
		{"confirms what nobody confirmed", fleet(selected, goldsChild()).when(changesChild(confirmed)), "confirmed"},
		{"confirms another spec", fleet(selected, goldsChild(weakened)).when(func(s *script) {
			confirmFleet(s)
			changesChild(restored, confirmed)(s)
		}), "confirmed"},
		{"adopts an orphan", fleet(selected, goldsChild(orphaned, weakened)).when(changesChild(func(o *childSchedule) {
			o.OwnerReferences = goldsChild().OwnerReferences
		})), ""},
		{"adopts an orphan without a map key", fleet(selected, goldsChild(orphaned, untagged)).when(changesChild(func(o *childSchedule) {
			o.OwnerReferences = goldsChild().OwnerReferences
		})), "was adopted without"},
		{"changes an orphan as it adopts it", fleet(selected, goldsChild(orphaned, weakened)).when(changesChild(restored)), "was adopted without"},
		{"changes somebody else's", fleet(selected, goldsChild(theirsOnly)).when(changesChild(suspend)), "no ClusterSnapshotSchedule controls it"},
		{"releases a child", fleet(selected, goldsChild(untagged)).when(changesChild(orphaned)), ""},
		{"undoes an adoption", fleet(selected, goldsChild(orphaned)).when(func(s *script) {
			changesChild(func(o *childSchedule) { o.OwnerReferences = goldsChild().OwnerReferences })(s)
			s.wait(time.Second)
			changesChild(orphaned)(s)
		}), ""},
		{"releases a child that has its labels", fleet(selected, goldsChild()).when(changesChild(orphaned)), "was released"},
		{"writes a status", fleet(selected, goldsChild(theirsOnly)).when(changesChild(func(o *childSchedule) { o.Status.ObservedGeneration = 2 })), ""},
		{"deletes a child", fleet(unselected, goldsChild(suspend)).when(deletesChild), ""},
		{"deletes a child whose namespace was selected again a moment ago", fleet(unselected, goldsChild(suspend)).when(func(s *script) {
			edit(s, shop, func(n *corev1.Namespace) { n.Labels = shopNamespace().Labels })
			deletesChild(s)
		}), ""},
		{"deletes a child whose namespace was selected again long ago", fleet(unselected, goldsChild(suspend)).when(func(s *script) {
			edit(s, shop, func(n *corev1.Namespace) { n.Labels = shopNamespace().Labels })
			s.wait(time.Minute)
			deletesChild(s)
		}), "was selected"},
		{"deletes the child of a selected namespace", fleet(selected, goldsChild(suspend)).when(deletesChild), "was selected"},
		{"deletes a child that is not suspended", fleet(unselected, goldsChild()).when(deletesChild), "was selected or it was not suspended"},
		{"deletes a child that has not observed it", fleet(unselected, goldsChild(suspend, unobserved)).when(deletesChild), "before it had observed"},
		{"deletes a child while a snapshot refers to it", fleet(unselected, goldsChild(suspend), left).when(deletesChild), "snapshots of it were left"},
		{"deletes a child while a snapshot has its labels", fleet(unselected, goldsChild(suspend), labeled).when(deletesChild), "snapshots of it were left"},
		{"deletes a child whose last snapshot is gone", fleet(unselected, goldsChild(suspend), ready("left", day)).when(func(s *script) {
			s.gone("volumesnapshots/left")
			deletesChild(s)
		}), ""},
		{"deletes somebody else's", fleet(unselected, goldsChild(suspend, orphaned)).when(deletesChild), "is not the child"},
		{"somebody else deletes a child", fleet(selected, goldsChild()).when(func(s *script) { s.gone(goldChild) }), ""},
		{"without a ClusterSnapshotSchedule", given{selected}.when(createsChild()), ""},
	})
}

func TestS1LeavesChildrenToFleet(t *testing.T) {
	judge(t, S1, []testCase{
		{"creates a child", given{gold(), shopNamespace()}.when(createsChild()), ""},
		{"creates another schedule", given{gold(), shopNamespace()}.when(createsChild(orphaned)), "the operator created it"},
		{"changes a ClusterSnapshotSchedule", given{gold()}.when(func(s *script) {
			patches(s, goldFleet, func(f *v1alpha1.ClusterSnapshotSchedule) { f.Spec.Template.Spec.Suspend = true })
		}), "more of it than its status"},
		{"writes the status of a ClusterSnapshotSchedule", given{gold()}.when(func(s *script) {
			patches(s, goldFleet, func(f *v1alpha1.ClusterSnapshotSchedule) { f.Status.ObservedGeneration = 1 })
		}), ""},
		{"changes a namespace", given{shopNamespace()}.when(func(s *script) { patches(s, shop, deselect) }), "was changed by the operator"},
	})
}

// settledGold is gold with the status that it has for one child without PVCs.
func settledGold(change ...func(*v1alpha1.ClusterSnapshotScheduleStatus)) *v1alpha1.ClusterSnapshotSchedule {
	f := gold()
	st := stateOf([]client.Object{f, shopNamespace(), goldsChild()})
	f.Status = st.wantFleetStatus(f)
	f.Status.ObservedGeneration = 1
	for _, c := range change {
		c(&f.Status)
	}
	return f
}

func TestEndStateOfAFleet(t *testing.T) {
	left := ready("left", day)
	left.OwnerReferences = []metav1.OwnerReference{{Kind: "SnapshotSchedule", Name: "gold", UID: goldsChild().UID}}
	detached := func(s *v1alpha1.ClusterSnapshotScheduleStatus) {
		s.Inputs.Namespaces.Total, s.Detached.SnapshotSchedules = 0, 1
	}
	for name, test := range map[string]struct {
		objects []client.Object
		want    string
	}{
		"as it should be":     {[]client.Object{settledGold(), shopNamespace(), goldsChild()}, ""},
		"no child":            {[]client.Object{settledGold(), shopNamespace()}, "has no child"},
		"another spec":        {[]client.Object{settledGold(), shopNamespace(), goldsChild(weakened)}, "not the template's"},
		"another label":       {[]client.Object{settledGold(), shopNamespace(), goldsChild(bronze)}, "lacks a label"},
		"not adopted":         {[]client.Object{settledGold(), shopNamespace(), goldsChild(orphaned)}, "should be adopted"},
		"not suspended":       {[]client.Object{settledGold(detached), shopNamespace(deselect), goldsChild()}, "not the template's"},
		"suspended":           {[]client.Object{settledGold(detached), shopNamespace(deselect), goldsChild(suspend), left}, ""},
		"not deleted":         {[]client.Object{settledGold(detached), shopNamespace(deselect), goldsChild(suspend)}, "should be deleted"},
		"a wrong count":       {[]client.Object{settledGold(detached), shopNamespace(), goldsChild()}, "status counts"},
		"an older generation": {[]client.Object{gold(), shopNamespace(), goldsChild()}, "is of generation 0"},
		"a wrong time": {[]client.Object{settledGold(func(s *v1alpha1.ClusterSnapshotScheduleStatus) {
			s.OldestRecoveryPointTime = &metav1.Time{Time: noon}
		}), shopNamespace(), goldsChild()}, "oldestRecoveryPointTime"},
	} {
		t.Run(name, func(t *testing.T) {
			st := stateOf(test.objects)
			wrong := strings.Join(st.fleetErrors(st.fleets["gold"]), "; ")
			if test.want == "" && wrong != "" || !strings.Contains(wrong, test.want) {
				t.Errorf("got %q, want %q", wrong, test.want)
			}
		})
	}
}

func TestL1ComparesFleets(t *testing.T) {
	state := func(reason string) EndState {
		f := settledGold(func(s *v1alpha1.ClusterSnapshotScheduleStatus) {
			s.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: reason}}
		})
		e := TakeEndState([]client.Object{f, shopNamespace(), goldsChild()})
		e.Wrong = nil // the status of the child
		return e
	}
	if found := L1(state("Scheduled"), state("Scheduled")); len(found) > 0 {
		t.Error(found[0].Message)
	}
	if found := L1(state("Scheduled"), state("NoMatchingNamespaces")); len(found) != 2 || !strings.Contains(found[0].Message, "ClusterSnapshotSchedule gold") {
		t.Errorf("%v", found)
	}
}

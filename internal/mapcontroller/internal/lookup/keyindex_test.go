// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// byLabel is a parent whose inputs with a value of a label share a key. It counts how many inputs it is asked about.
func byLabel(label string, asked *int) plan.Parent {
	parent := compiled()
	parent.Program.Key = func(input client.Object) string {
		*asked++
		if value, ok := input.GetLabels()[label]; ok {
			return "k-" + value
		}
		return string(input.GetUID())
	}
	parent.Program.KeyIndex = &plan.KeyIndex{
		Name: label,
		Value: func(input client.Object) string {
			if value, ok := input.GetLabels()[label]; ok {
				return "k-" + value
			}
			return ""
		},
		Of: func(mapKey string) string { return mapKey },
	}
	return parent
}

func of(name, label, value string) *corev1.Secret {
	s := input(name)
	s.Labels[label] = value
	return s
}

// Contract: ONE-9.
func TestAPassOverASharedKeyAsksAboutNoOtherInputs(t *testing.T) {
	const group = 3
	var all []client.Object
	for i := range 3_000 {
		all = append(all, of(fmt.Sprint("in-", i), "team", fmt.Sprint(i/group)))
	}
	o, asked := newTestObjects(t, false, all...), 0
	parent := byLabel("team", &asked)
	for range 2 {
		asked = 0
		selected, rest := o.Inputs(parent, "k-7", nil)
		if len(selected) != group || len(rest) > 0 {
			t.Errorf("selected %v, and not %v", fixture.Names(selected), fixture.Names(rest))
		}
		if asked > 3*group { // by lookup, and by what tells the selected from the others
			t.Errorf("asks about %d inputs for a key of %d", asked, group)
		}
	}
}

// An index of a program is added while the stores change, for programs that come and go.
//
// Contract: ONE-9.
func TestInputsBySharedKeyAreThoseOfAScan(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		labels, values := rapid.SampledFrom([]string{"team", "app", "x"}), rapid.SampledFrom([]string{"a", "b", "c"})
		o := newTestObjects(t, false)
		store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc,
			toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
		o.stores.Add(&corev1.Secret{}, store)
		add := func(i int) {
			s := of(fmt.Sprint("in-", i), labels.Draw(rt, "label"), values.Draw(rt, "value"))
			s.Namespace = rapid.SampledFrom([]string{"ns", "other"}).Draw(rt, "namespace")
			if err := store.Add(s); err != nil {
				rt.Fatal(err)
			}
		}
		for i := range 6 {
			add(i)
		}
		for i := range 8 {
			asked := 0
			parent, key := byLabel(labels.Draw(rt, "by"), &asked), "k-"+values.Draw(rt, "key")
			scan := parent
			program := *parent.Program
			program.KeyIndex, scan.Program = nil, &program
			selected, rest := o.Inputs(parent, key, nil)
			wantSelected, wantRest := o.Inputs(scan, key, nil)
			if !slices.Equal(fixture.Names(selected), fixture.Names(wantSelected)) || !slices.Equal(fixture.Names(rest), fixture.Names(wantRest)) {
				rt.Fatalf("%s: selected %v, others %v; a scan: %v, %v", key,
					fixture.Names(selected), fixture.Names(rest), fixture.Names(wantSelected), fixture.Names(wantRest))
			}
			add(i % 7)
		}
	})
}

// Whoever writes specs makes up the names of indexes, so they are bounded. Programs beyond find their inputs all the same.
//
// Contract: ONE-9.
func TestIndexesOfProgramsAreBounded(t *testing.T) {
	var all []client.Object
	for i := range 2 * maxKeyIndexes {
		all = append(all, of(fmt.Sprint("in-", i), fmt.Sprint("label-", i), "a"))
	}
	o, asked := newTestObjects(t, false, all...), 0
	for i := range 2 * maxKeyIndexes {
		selected, _ := o.Inputs(byLabel(fmt.Sprint("label-", i), &asked), "k-a", nil)
		if want := []string{fmt.Sprint("in-", i)}; !slices.Equal(fixture.Names(selected), want) {
			t.Errorf("selected %v, want %v", fixture.Names(selected), want)
		}
	}
	if n := len(o.byKeyOf.known); n != maxKeyIndexesOfScope {
		t.Errorf("%d indexes of one namespace", n)
	}
	in := func(namespace, label string) {
		parent := byLabel(label, &asked)
		parent.Object.SetNamespace(namespace)
		o.Inputs(parent, "k-a", nil)
	}
	for i := range maxKeyIndexes {
		namespace := fmt.Sprint("ns-", i)
		in(namespace, "label-0")                       // has an index, and is not the namespace's own
		in(namespace, fmt.Sprint("label-of-", i))      // its first
		in(namespace, fmt.Sprint("label-more-of-", i)) // its second
		if _, has := o.byKeyOf.known[fmt.Sprint("label-more-of-", i)]; has != (2*i+2+maxKeyIndexesOfScope <= maxKeyIndexes) {
			t.Errorf("namespace %d has its indexes: %v", i, has)
		}
	}
	if n := len(o.byKeyOf.known); n != maxKeyIndexes {
		t.Errorf("%d indexes", n)
	}
}

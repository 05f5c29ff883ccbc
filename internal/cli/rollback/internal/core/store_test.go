// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestMain sets how many cases each property tries. A command line overrides it.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.checks": "60", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	flag.Parse()
	os.Exit(m.Run())
}

// store is an API server in memory, a thousand times faster than controller-runtime's: it has resourceVersions,
// finalizers and merge patches.
type store struct {
	objects map[string]client.Object
	version int
}

func keyOfObject(o client.Object) string { return fmt.Sprintf("%T/%s", o, o.GetName()) }

func notFound(o client.Object) error {
	return apierrors.NewNotFound(schema.GroupResource{}, o.GetName())
}

func (s *store) put(o client.Object) {
	s.version++
	o.SetResourceVersion(strconv.Itoa(s.version))
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
		delete(s.objects, keyOfObject(o))
		return
	}
	s.objects[keyOfObject(o)] = o.DeepCopyObject().(client.Object)
}

// get returns a copy of an object as it is now; nil if it is gone.
func (s *store) get(o client.Object) client.Object {
	if found := s.objects[keyOfObject(o)]; found != nil {
		return found.DeepCopyObject().(client.Object)
	}
	return nil
}

func (s *store) update(o client.Object) error {
	live := s.get(o)
	switch {
	case live == nil:
		return notFound(o)
	case live.GetResourceVersion() != o.GetResourceVersion():
		return apierrors.NewConflict(schema.GroupResource{}, o.GetName(), nil)
	}
	s.put(o)
	return nil
}

func (s *store) delete(o client.Object) error {
	live := s.get(o)
	if live == nil || live.GetUID() != o.GetUID() {
		return notFound(o)
	}
	if live.GetDeletionTimestamp() == nil {
		live.SetDeletionTimestamp(&metav1.Time{Time: noon})
		s.put(live)
	}
	return nil
}

func (s *store) patch(o client.Object, patch []byte) error {
	live := s.get(o)
	if live == nil {
		return notFound(o)
	}
	var fields, changes map[string]any
	text, err := json.Marshal(live)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err == nil {
		err = json.Unmarshal(patch, &changes)
	}
	if err == nil {
		merge(fields, changes)
		text, err = json.Marshal(fields)
	}
	patched := reflect.New(reflect.TypeOf(o).Elem()).Interface().(client.Object)
	if err == nil {
		err = json.Unmarshal(text, patched)
	}
	if err != nil {
		return err
	}
	return s.update(patched)
}

// merge applies a merge patch.
func merge(fields, changes map[string]any) {
	for key, value := range changes {
		change, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(fields, key)
		case isMap:
			below, ok := fields[key].(map[string]any)
			if !ok {
				below = map[string]any{}
			}
			merge(below, change)
			fields[key] = below
		default:
			fields[key] = value
		}
	}
}

// all returns copies of all objects of a type, by name.
func all[T client.Object](s *store) (found []T) {
	for _, o := range s.objects {
		if o, ok := o.(T); ok {
			found = append(found, o.DeepCopyObject().(T))
		}
	}
	slices.SortFunc(found, func(a, b T) int {
		return slices.Compare([]byte(a.GetName()), []byte(b.GetName()))
	})
	return found
}

func byName[T client.Object](s *store) map[string]T {
	found := map[string]T{}
	for _, o := range all[T](s) {
		found[o.GetName()] = o
	}
	return found
}

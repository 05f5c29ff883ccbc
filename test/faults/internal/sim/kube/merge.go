// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Merge applies a JSON merge patch (RFC 7386) to an object.
func Merge(o client.Object, patch []byte) error {
	var changes map[string]any
	if err := json.Unmarshal(patch, &changes); err != nil {
		return fmt.Errorf("merge patch: %w", err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return err
	}
	content = merge(content, changes)
	fresh := reflect.New(reflect.TypeOf(o).Elem())
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, fresh.Interface()); err != nil {
		return fmt.Errorf("merge patch: %w", err)
	}
	reflect.ValueOf(o).Elem().Set(fresh.Elem())
	return nil
}

func merge(into, changes map[string]any) map[string]any {
	if into == nil {
		into = map[string]any{}
	}
	for key, value := range changes {
		switch value := value.(type) {
		case nil:
			delete(into, key)
		case map[string]any:
			inner, _ := into[key].(map[string]any)
			into[key] = merge(inner, value)
		default:
			into[key] = value
		}
	}
	return into
}

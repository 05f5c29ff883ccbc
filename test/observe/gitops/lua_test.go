// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"testing"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	luajson "layeh.com/gopher-json"
)

// health is what a script returns.
type health struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

// runLua runs a health check as Argo CD does: without the standard libraries except base, package and table, and with the object as the
// global obj.
func runLua(t *testing.T, script string, object *unstructured.Unstructured) health {
	t.Helper()
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}} {
		must(t, l.CallByParam(lua.P{Fn: l.NewFunction(library.open), Protect: true}, lua.LString(library.name)))
	}
	text, err := object.MarshalJSON()
	must(t, err)
	value, err := luajson.Decode(l, text)
	must(t, err)
	l.SetGlobal("obj", value)
	must(t, l.DoString(script))
	result, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script returned a %s, want a table", l.Get(-1).Type())
	}
	return health{Status: result.RawGetString("status").String(), Message: result.RawGetString("message").String()}
}

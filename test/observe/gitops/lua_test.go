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

// runLua runs a health check.
func runLua(t *testing.T, script string, object *unstructured.Unstructured) health {
	t.Helper()
	result, err := execute(t, script, object)
	must(t, err)
	return health{Status: result.RawGetString("status").String(), Message: result.RawGetString("message").String()}
}

// execute runs a script as Argo CD does, health checks and actions alike: with no standard libraries but base, package and table, with
// date and time of os for who requires it, and with the object as the global obj.
func execute(t *testing.T, script string, object *unstructured.Unstructured) (*lua.LTable, error) {
	t.Helper()
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}} {
		must(t, l.CallByParam(lua.P{Fn: l.NewFunction(library.open), Protect: true}, lua.LString(library.name)))
	}
	l.PreloadModule(lua.OsLibName, safeOS)
	text, err := object.MarshalJSON()
	must(t, err)
	value, err := luajson.Decode(l, text)
	must(t, err)
	l.SetGlobal("obj", value)
	if err := l.DoString(script); err != nil {
		return nil, err
	}
	result, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script returned a %s, want a table", l.Get(-1).Type())
	}
	return result, nil
}

// safeOS is what Argo CD has of the library os (util/lua/oslib_safe.go there).
func safeOS(l *lua.LState) int {
	whole := lua.NewState()
	defer whole.Close()
	module := l.NewTable()
	for _, name := range []string{"date", "time"} {
		function := whole.GetField(whole.GetGlobal(lua.OsLibName), name).(*lua.LFunction)
		module.RawSetString(name, l.NewFunction(function.GFunction))
	}
	l.Push(module)
	return 1
}

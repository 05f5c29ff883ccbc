// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestIdentify(t *testing.T) {
	stamped := func(version, modified string) *debug.BuildInfo {
		return &debug.BuildInfo{
			Main:     debug.Module{Version: version},
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123abc"}, {Key: "vcs.modified", Value: modified}},
		}
	}
	for name, tc := range map[string]struct {
		build             *debug.BuildInfo
		version, revision string // set by the linker
		want              Info
	}{
		"a release":                               {&debug.BuildInfo{}, "v1.2.3", "0123abc", Info{Version: "v1.2.3", Revision: "0123abc"}},
		"the linker's values win":                 {stamped("v0.0.1", "true"), "v1.2.3", "fedc", Info{Version: "v1.2.3", Revision: "fedc"}},
		"a checkout":                              {stamped("v0.0.0-2026-0123abc", "false"), "", "", Info{Version: "v0.0.0-2026-0123abc", Revision: "0123abc"}},
		"a checkout with changes":                 {stamped("v0.0.1+dirty", "true"), "", "", Info{Version: "v0.0.1+dirty", Revision: "0123abc-dirty"}},
		"go install of a tag":                     {&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "", "", Info{Version: "v1.2.3", Revision: "unknown"}},
		"a build without version control":         {&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "", "", Info{Version: "devel", Revision: "unknown"}},
		"a program without any build information": {&debug.BuildInfo{}, "", "", Info{Version: "devel", Revision: "unknown"}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.want.GoVersion, tc.want.Platform = runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH
			if got := identify(tc.build, tc.version, tc.revision); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestString(t *testing.T) {
	i := Info{Version: "v1.2.3", Revision: "0123abc-dirty", GoVersion: "go1.26.8", Platform: "linux/arm64"}
	if got, want := i.String(), "v1.2.3 (revision 0123abc-dirty, go1.26.8, linux/arm64)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

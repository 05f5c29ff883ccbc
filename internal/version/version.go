// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version says which version of the project a program was built from.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// A release sets these with -ldflags, because its build has no version control
// information: the Dockerfile does not copy .git, and 'make image' does not stamp. See
// GO_BUILD in the Makefile.
var version, revision, image string

// Info identifies a build.
type Info struct {
	// Version is a release such as v0.1.0, a pseudo-version of Go such as
	// v0.1.1-0.20261122035410-0123456789ab, or devel.
	Version string
	// Revision is the commit, with the suffix -dirty if files had changed, or unknown.
	Revision string
	// GoVersion is the version of Go that compiled the program.
	GoVersion string
	// Platform is the operating system and the architecture.
	Platform string
}

// Get returns the build of the running program.
func Get() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{}
	}
	return identify(build, version, revision)
}

// Image returns the container image that was released with the program; empty for a development build.
func Image() string { return image }

// identify prefers what the release has set to what Go has recorded.
func identify(build *debug.BuildInfo, version, revision string) Info {
	i := Info{
		Version:   version,
		Revision:  revision,
		GoVersion: runtime.Version(),
		Platform:  runtime.GOOS + "/" + runtime.GOARCH,
	}
	if i.Version == "" {
		i.Version = build.Main.Version
	}
	if i.Version == "" || i.Version == "(devel)" {
		i.Version = "devel"
	}
	if i.Revision == "" {
		i.Revision = recorded(build)
	}
	return i
}

// recorded returns the commit that Go has recorded.
func recorded(build *debug.BuildInfo) string {
	revision, dirty := "unknown", ""
	for _, s := range build.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	return revision + dirty
}

// String returns the text of the flag --version.
func (i Info) String() string {
	return fmt.Sprintf("%s (revision %s, %s, %s)", i.Version, i.Revision, i.GoVersion, i.Platform)
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Command olm generates the bundle for the Operator Lifecycle Manager, in the format registry+v1, from the output
// of kustomize. It reads the objects of config/manifests from standard input.
//
// operator-sdk's "generate bundle" does the same, but its module cannot be had from a
// module proxy, and everybody who builds a release would have to install the program.
// 'make lint' checks the bundle with operator-framework's own validator.
//
//	main.go    flags, reading and writing
//	bundle.go  the bundle's files, one of which is the ClusterServiceVersion
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"testing/fstest"

	"k8s.io/cli-runtime/pkg/resource"
)

func main() {
	out := flag.String("out", "dist/bundle", "Folder of the bundle, which should be empty.")
	var r release
	flag.StringVar(&r.version, "version", "", "Version of the bundle, a semantic version without v.")
	flag.StringVar(&r.image, "image", "", "Image of the manager.")
	flag.StringVar(&r.repository, "repository", "", "URL of the repository.")
	flag.Parse()
	if err := run(*out, r); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(out string, r release) error {
	objects, err := read(os.Stdin)
	if err != nil {
		return err
	}
	files, err := build(objects, r)
	if err != nil {
		return err
	}
	all := fstest.MapFS{}
	for name, text := range files {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return os.CopyFS(out, all)
}

// read reads objects from a stream of YAML documents.
func read(from io.Reader) (all []object, err error) {
	infos, err := resource.NewLocalBuilder().Unstructured().Stream(from, "standard input").Do().Infos()
	for _, info := range infos {
		all = append(all, info.Object.(object))
	}
	return all, err
}

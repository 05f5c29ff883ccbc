// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// The image that is installed, the one for the upgrade, and the image of the program inpod.
const (
	repository = "localhost/snapshotschedule"
	firstTag   = "one"
	secondTag  = "two"
	inpodImage = "localhost/inpod:test"
)

// buildImages builds the images without a container engine and loads them into the node.
func buildImages(ctx context.Context) {
	GinkgoHelper()
	buildImage(ctx, root, firstTag)
	buildImage(ctx, root, secondTag)
	dir := GinkgoT().TempDir()
	program, archive := filepath.Join(dir, "inpod"), filepath.Join(dir, "inpod.tar")
	run(ctx, nil, "env", "CGO_ENABLED=0", "go", "build", "-o", program, "./test/deploy/inpod")
	run(ctx, nil, "bin/cluster", "image", "--name", inpodImage, "--out", archive, program)
	load(ctx, archive)
}

// buildImage builds the operator's image from a checkout and loads it into the node.
func buildImage(ctx context.Context, tree, tag string) {
	GinkgoHelper()
	tree = suite.Must(filepath.Abs(tree))
	archive := filepath.Join(GinkgoT().TempDir(), tag+".tar")
	run(ctx, nil, "make", "--no-print-directory", "-C", tree, "image", "IMG="+repository+":"+tag, "VERSION=v0.0.0-"+tag,
		"IMAGE_ARCHIVE="+archive)
	load(ctx, archive)
}

func load(ctx context.Context, archive string) {
	GinkgoHelper()
	run(ctx, nil, "bin/cluster", "load", "--dir", cluster.State.Dir, archive)
}

// kustomize builds config/crd and config/default of a checkout as users do, with an overlay that sets the image.
func kustomize(ctx context.Context, tree, tag string) []byte {
	GinkgoHelper()
	return overlay(ctx, "", tag, filepath.Join(tree, "config", "crd"), filepath.Join(tree, "config", "default"))
}

// overlay builds folders, with the namespace and the image of an overlay.
func overlay(ctx context.Context, namespace, tag string, folders ...string) []byte {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	resources := make([]string, len(folders))
	for i, folder := range folders {
		resources[i] = suite.Must(filepath.Rel(dir, suite.Must(filepath.Abs(folder))))
	}
	text := `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: "` + namespace + `"
resources: [` + strings.Join(resources, ", ") + `]
images: [{name: controller, newName: ` + repository + `, newTag: ` + tag + `}]
`
	Expect(os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600)).To(Succeed())
	return []byte(run(ctx, nil, "go", "tool", "-modfile=hack/tools/kustomize.mod", "kustomize", "build", dir))
}

var _ = Describe("the image", func() {
	It("has the programs, the build flags, the user and the entrypoint of the Dockerfile", func(ctx context.Context) {
		text := suite.Must(os.ReadFile(filepath.Join(root, "Dockerfile")))
		dockerfile := strings.TrimSpace(string(text))
		line := regexp.MustCompile(`CGO_ENABLED=(\d) .*go build (.*) -o \S*?(manager|kubectl-snapsched)"? ([\w./]+)`)
		theirs := line.FindAllStringSubmatch(dockerfile, -1)
		Expect(theirs).To(HaveLen(2), dockerfile)
		recipe := run(ctx, nil, "make", "--no-print-directory", "-n", "image", "IMG=a:b", "IMAGE_ARCHIVE=c.tar",
			"VERSION=$${VERSION}", "REVISION=$${REVISION}")
		ours := line.FindAllStringSubmatch(recipe, -1)
		Expect(ours).To(HaveLen(2), recipe)
		for i := range ours {
			Expect(ours[i][1:]).To(Equal(theirs[i][1:]))
		}

		user := regexp.MustCompile(`(?m)^USER (.*)$`).FindStringSubmatch(dockerfile)
		Expect(user).To(HaveLen(2), dockerfile)
		help := run(ctx, nil, "bin/cluster", "image", "--help")
		Expect(help).To(ContainSubstring(`(default "` + user[1] + `")`))
		Expect(dockerfile).To(HaveSuffix(`ENTRYPOINT ["/manager"]`))
	})
})

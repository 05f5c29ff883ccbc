// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd tests validation, defaults, printer columns and manifests against a real API server.
package crd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

const (
	namespace = "default"
	schedule  = "SnapshotSchedule"
	fleet     = "ClusterSnapshotSchedule"
)

var (
	ctx = context.Background()

	root    = filepath.Join("..", "..")
	crdsDir = filepath.Join(root, "config", "crd", "bases")

	config *rest.Config
	// api rejects unknown fields, as kubectl does.
	api client.Client
)

func TestCRD(t *testing.T) {
	suite.Run(t, "CustomResourceDefinition")
}

var _ = BeforeSuite(func() {
	config = suite.Start(&envtest.Environment{CRDDirectoryPaths: []string{crdsDir}})
	api = client.WithFieldValidation(suite.Must(client.New(config, client.Options{})), metav1.FieldValidationStrict)
})

func parseYAML(text string) map[string]any {
	GinkgoHelper()
	var content map[string]any
	Expect(yaml.Unmarshal([]byte(text), &content)).To(Succeed(), text)
	return content
}

// newObject returns a schedule of a kind with content given in YAML, without the zero values that Go types would add.
func newObject(kind, name, content string) *unstructured.Unstructured {
	GinkgoHelper()
	object := &unstructured.Unstructured{Object: parseYAML(content)}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	if kind == schedule {
		object.SetNamespace(namespace)
	}
	object.SetName(name)
	return object
}

func newSchedule(name, spec string) *unstructured.Unstructured {
	GinkgoHelper()
	object := newObject(schedule, name, "{}")
	object.Object["spec"] = parseYAML(spec)
	return object
}

// testdata returns a file of testdata: the smallest valid object of a kind, or a spec.
func testdata(name string) string {
	GinkgoHelper()
	return string(suite.Must(os.ReadFile(filepath.Join("testdata", name+".yaml"))))
}

// create stores a SnapshotSchedule until the end of the spec.
func create(name, spec string) *unstructured.Unstructured {
	GinkgoHelper()
	object := newSchedule(name, spec)
	Expect(api.Create(ctx, object)).To(Succeed())
	DeferCleanup(func() { Expect(client.IgnoreNotFound(api.Delete(ctx, object))).To(Succeed()) })
	return object
}

// dryRun has the API server validate and default an object without storing it.
func dryRun(object client.Object) error { return api.Create(ctx, object, client.DryRunAll) }

// patchStatus writes the status of a stored object, which then has the object's new content.
func patchStatus(object *unstructured.Unstructured, status map[string]any, options ...client.SubResourcePatchOption) error {
	patch := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	patch.SetGroupVersionKind(object.GroupVersionKind())
	text, err := patch.MarshalJSON()
	if err != nil {
		return err
	}
	return api.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, text), options...)
}

// cause is one reason why the API server rejected an object.
type cause struct{ Field, Message string }

// skippedCauses are parts of the causes that are no rules of ours: that the API server skipped the CEL rules because of other errors, and,
// of newer API servers, that a number does not fit its format.
var skippedCauses = []string{
	"some validation rules were not checked because the object was invalid",
	"Checked value must be of type integer with format int32",
}

// longString is the message of older API servers for a string that exceeds its bound.
var longString = regexp.MustCompile(`may not be longer than (\d+)$`)

// causesOf returns the causes of an Invalid error, in the words of the newest API server.
func causesOf(err error) []cause {
	GinkgoHelper()
	Expect(err).To(HaveOccurred(), "the API server should reject it")
	var status apierrors.APIStatus
	Expect(apierrors.IsInvalid(err) && errors.As(err, &status)).To(BeTrue(), "want an Invalid error, got %v", err)
	var causes []cause
	for _, c := range status.Status().Details.Causes {
		if !slices.ContainsFunc(skippedCauses, func(part string) bool { return strings.Contains(c.Message, part) }) {
			causes = append(causes, cause{c.Field, longString.ReplaceAllString(c.Message, "may not be more than $1 bytes")})
		}
	}
	return causes
}

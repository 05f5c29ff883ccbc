// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reporttest has hostile texts for tests, and what shown ones must be like.
package reporttest

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/client-go/tools/events"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Nasty contains something of each kind that must not be shown as it is.
const Nasty = "a\x1b[31;8m\n\r\t\x07\x7f\xff\xc3\u009b1A\u202eb\u2066\u200b\u2028\u2029\ufeff\U000e0041å😀"

// Hostile draws texts as their authors may write them: any bytes, and longer than any
// message may be.
func Hostile() *rapid.Generator[string] {
	pieces := rapid.OneOf(
		rapid.SampledFrom([]string{
			"a", "å", "😀", "\n", "\t", "\x1b[31m", "\xff", "\xc3", "\u009b", "\u202e", "\u200b", "\u2028", "\U000e0041", Nasty,
		}),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 8), func(b []byte) string { return string(b) }),
	)
	return rapid.Custom(func(t *rapid.T) string {
		text := strings.Join(rapid.SliceOfN(pieces, 0, 10).Draw(t, "pieces"), "")
		if len(text) > 0 && rapid.IntRange(0, 3).Draw(t, "long") == 0 {
			text = strings.Repeat(text, 3_000/len(text)+1)
		}
		return text
	})
}

// Unsafe returns why a text is not safe to show; empty if it is.
func Unsafe(text string) string {
	if !utf8.ValidString(text) {
		return "it is not UTF-8"
	}
	for _, r := range text {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return fmt.Sprintf("it contains %U", r)
		}
	}
	return ""
}

// Schema is a part of the schema of a CRD.
type Schema = apiextensionsv1.JSONSchemaProps

// StatusSchema returns the schema of the status that a CRD's manifest has.
func StatusSchema(file string) (*Schema, error) {
	content, err := os.ReadFile(file) //nolint:gosec // a manifest of this repository
	if err != nil {
		return nil, err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(content, &crd); err != nil {
		return nil, err
	}
	status := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"]
	return &status, nil
}

// WrongStatus returns what is wrong with a status: what its schema forbids, as far as
// text decides about it, and text that is not safe.
func WrongStatus(status any, schema *Schema) ([]string, error) {
	// Encoding replaces what is not UTF-8.
	var wrong []string
	text, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	check("status", value, schema, func(path, why string) { wrong = append(wrong, path+": "+why) })
	return wrong, nil
}

func check(path string, value any, schema *Schema, wrong func(path, why string)) {
	switch value := value.(type) {
	case string:
		checkText(path, value, schema, wrong)
	case []any:
		if schema.MaxItems != nil && len(value) > int(*schema.MaxItems) {
			wrong(path, fmt.Sprintf("has %d items", len(value)))
		}
		for i, item := range value {
			check(fmt.Sprintf("%s[%d]", path, i), item, schema.Items.Schema, wrong)
		}
	case map[string]any:
		for _, name := range schema.Required {
			if _, ok := value[name]; !ok {
				wrong(path, "lacks "+name)
			}
		}
		for name, of := range value {
			property, ok := schema.Properties[name]
			if !ok {
				wrong(path, "has an unknown field "+name)
				continue
			}
			check(path+"."+name, of, &property, wrong)
		}
	}
}

func checkText(path, text string, schema *Schema, wrong func(path, why string)) {
	n := int64(utf8.RuneCountInString(text))
	if schema.MaxLength != nil && n > *schema.MaxLength || schema.MinLength != nil && n < *schema.MinLength {
		wrong(path, fmt.Sprintf("has %d characters", n))
	}
	if schema.Pattern != "" && !regexp.MustCompile(schema.Pattern).MatchString(text) {
		wrong(path, "does not match "+schema.Pattern)
	}
	if len(text) > 1024 {
		wrong(path, fmt.Sprintf("has %d bytes", len(text)))
	}
	if strings.ContainsRune(text, utf8.RuneError) {
		return // the encoder may have put it there: WrongMessages checks the original
	}
	if why := Unsafe(text); why != "" {
		wrong(path, why)
	}
}

// WrongMessages returns what is wrong with messages.
func WrongMessages(messages ...string) (wrong []string) {
	for _, message := range messages {
		if why := Unsafe(message); why != "" || len(message) > 1024 {
			wrong = append(wrong, fmt.Sprintf("%d bytes, %s: %q", len(message), why, message))
		}
	}
	return wrong
}

// MessagesOf returns the messages of conditions.
func MessagesOf(conditions []metav1.Condition) (messages []string) {
	for _, c := range conditions {
		messages = append(messages, c.Message)
	}
	return messages
}

// Recorder keeps the notes of events.
type Recorder struct {
	events.EventRecorder

	Notes []string
}

// Eventf implements events.EventRecorder.
func (r *Recorder) Eventf(_, _ runtime.Object, _, _, _, note string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(note, args...))
}

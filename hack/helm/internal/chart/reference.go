// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"go.yaml.in/yaml/v3"
)

// longest is the number of characters of the longest default that the list of values shows.
const longest = 60

// reference is made of the comments in values.yaml: a list of the values for people, and the schema with the same texts.
type reference struct {
	list        strings.Builder
	schema      map[string]any
	definitions map[string]any
}

func newReference(values, schema string) (*reference, error) {
	r := &reference{}
	var document yaml.Node
	if err := errors.Join(yaml.Unmarshal([]byte(values), &document), json.Unmarshal([]byte(schema), &r.schema)); err != nil {
		return nil, err
	}
	r.definitions, _ = r.schema["definitions"].(map[string]any)
	delete(r.schema, "definitions")
	return r, r.describe("", document.Content[0], r.schema)
}

// describe describes the values of a mapping, whose schema lists them.
func (r *reference) describe(path string, mapping *yaml.Node, schema map[string]any) error {
	properties, _ := schema["properties"].(map[string]any)
	for i := 0; i < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		name := strings.TrimPrefix(path+"."+key.Value, ".")
		property, ok := properties[key.Value].(map[string]any)
		if !ok {
			return fmt.Errorf("values.schema.json lacks %s", name)
		}
		property = r.resolved(property)
		properties[key.Value] = property
		paragraphs := strings.Split(strings.ReplaceAll(key.HeadComment, "# ", ""), "\n\n") // before the first value, there is one on the file
		text := strings.Join(strings.Fields(paragraphs[len(paragraphs)-1]), " ")
		if text != "" {
			property["description"] = text
		}
		isGroup := property["additionalProperties"] == false && len(value.Content) > 0
		shown := ""
		if !isGroup {
			shown = " (" + defaultOf(value) + ")"
		}
		fmt.Fprintf(&r.list, "%s- `%s`%s", strings.Repeat("  ", strings.Count(name, ".")), name, shown)
		if text != "" {
			r.list.WriteString(": " + text)
		}
		r.list.WriteString("\n")
		if isGroup {
			if err := r.describe(name, value, property); err != nil {
				return err
			}
		}
	}
	return nil
}

// resolved returns a schema of its own for a property, so that it can have a description.
func (r *reference) resolved(property map[string]any) map[string]any {
	if name, ok := property["$ref"].(string); ok {
		text, _ := json.Marshal(r.definitions[strings.TrimPrefix(name, "#/definitions/")])
		property = map[string]any{}
		_ = json.Unmarshal(text, &property)
	}
	for name, of := range maps.Clone(property) {
		if inner, ok := of.(map[string]any); ok {
			property[name] = r.resolved(inner)
		}
	}
	return property
}

// defaultOf returns a default as the list shows it.
func defaultOf(value *yaml.Node) string {
	var decoded any
	_ = value.Decode(&decoded)
	text, _ := json.Marshal(decoded)
	if len(text) > longest {
		return "see values.yaml"
	}
	return "`" + string(text) + "`"
}

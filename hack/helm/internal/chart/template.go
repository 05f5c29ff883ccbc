// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// template is an object that is converted into the text of a Helm template. An object
// cannot contain template actions, so placeholders stand for them until it is text.
type template struct {
	object   map[string]any
	snippets []snippet
}

// snippet is the text that replaces a placeholder. A block consists of whole lines.
type snippet struct {
	text  string
	block bool
}

// In the text of a block, these stand for the block's indentation in columns.
const (
	indent      = "INDENT"
	indentByTwo = "INDENT+2"
)

func (t *template) placeholder(s snippet) string {
	t.snippets = append(t.snippets, s)
	return fmt.Sprintf("placeholder-%03d", len(t.snippets)-1)
}

// inline returns a placeholder for a string value or for a part of one.
func (t *template) inline(text string) string { return t.placeholder(snippet{text: text}) }

// block returns a placeholder for a value that consists of lines.
func (t *template) block(lines ...string) string {
	return t.placeholder(snippet{text: strings.Join(lines, "\n"), block: true})
}

// optional adds a key that is rendered only if the Helm value is not empty.
func (t *template) optional(to map[string]any, key, value string) {
	to[t.block("{{- with "+value+" }}", key+":", "  {{- toYaml . | nindent "+indentByTwo+" }}", "{{- end }}")] = nil
}

var (
	anywhere = regexp.MustCompile(`placeholder-(\d{3})`)
	// A placeholder as the value of a key, possibly in a list, and as a key.
	asValue = regexp.MustCompile(`^( *)((?:- )?)([^\s:]+:) placeholder-(\d{3})$`)
	asKey   = regexp.MustCompile(`^( *)placeholder-(\d{3}): null$`)
)

// text returns the text of the Helm template.
func (t *template) text() (string, error) {
	plain, err := yaml.Marshal(t.object)
	if err != nil {
		return "", err
	}
	var out []string
	// Actions in the object itself, such as those of alerts, must not be rendered.
	escaped := strings.ReplaceAll(string(plain), "{{", `{{ "{{" }}`)
	for line := range strings.Lines(escaped) {
		line = strings.TrimSuffix(line, "\n")
		if m := asKey.FindStringSubmatch(line); m != nil {
			out = append(out, t.snippet(m[2]).lines(m[1])...)
			continue
		}
		if m := asValue.FindStringSubmatch(line); m != nil && t.snippet(m[4]).block {
			out = append(out, m[1]+m[2]+m[3])
			out = append(out, t.snippet(m[4]).lines(m[1]+strings.Repeat(" ", len(m[2]))+"  ")...)
			continue
		}
		out = append(out, anywhere.ReplaceAllStringFunc(line, func(match string) string {
			s := t.snippet(anywhere.FindStringSubmatch(match)[1])
			if s.block {
				err = fmt.Errorf("a block is not the whole value of a key: %s", line)
			}
			return s.text
		}))
	}
	return strings.Join(out, "\n") + "\n", err
}

func (t *template) snippet(number string) snippet {
	i, _ := strconv.Atoi(number) // The expressions match digits only.
	return t.snippets[i]
}

// lines returns the lines of a block, indented.
func (s snippet) lines(indentation string) []string {
	columns := len(indentation)
	text := strings.NewReplacer(indentByTwo, strconv.Itoa(columns+2), indent, strconv.Itoa(columns)).Replace(s.text)
	return strings.Split(indentation+strings.ReplaceAll(text, "\n", "\n"+indentation), "\n")
}

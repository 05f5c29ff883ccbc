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

// draft is an object on its way to a template. Pieces of template can't be put into an
// object, which is no text; so tokens are put there, and replaced once it is text.
type draft struct {
	object map[string]any
	pieces []piece
}

// piece is what takes the place of a token.
type piece struct {
	text  string
	block bool
}

// indent stands in a block for the columns that it is indented by.
const indent = "INDENT"

func (d *draft) token(p piece) string {
	d.pieces = append(d.pieces, p)
	return fmt.Sprintf("piece-%03d-of-template", len(d.pieces)-1)
}

// inline is a value, or a part of one.
func (d *draft) inline(text string) string { return d.token(piece{text: text}) }

// block is the value of a key whose lines are given without indentation.
func (d *draft) block(lines ...string) string {
	return d.token(piece{text: strings.Join(lines, "\n"), block: true})
}

// optional adds a key to a mapping that is there only where values give it a value.
func (d *draft) optional(to map[string]any, key, value string) {
	to[d.block(
		"{{- with "+value+" }}",
		key+":",
		"  {{- toYaml . | nindent "+indent+"+2 }}",
		"{{- end }}")] = nil
}

var (
	tokens = regexp.MustCompile(`piece-(\d{3})-of-template`)
	// A token as the value of a key, in a list or not; and one that stands for a key.
	values = regexp.MustCompile(`^( *)((?:- )?)([^\s:]+:) piece-(\d{3})-of-template$`)
	keys   = regexp.MustCompile(`^( *)piece-(\d{3})-of-template: null$`)
	sums   = regexp.MustCompile(`(\d+)\+(\d+)`)
)

// text is the template.
func (d *draft) text() (string, error) {
	plain, err := yaml.Marshal(d.object)
	if err != nil {
		return "", err
	}
	var out []string
	// What looks like a template in the object is none.
	escaped := strings.ReplaceAll(string(plain), "{{", `{{ "{{" }}`)
	for line := range strings.Lines(escaped) {
		line = strings.TrimSuffix(line, "\n")
		if m := keys.FindStringSubmatch(line); m != nil {
			out = append(out, d.indented(m[2], m[1])...)
			continue
		}
		if m := values.FindStringSubmatch(line); m != nil && d.piece(m[4]).block {
			out = append(out, m[1]+m[2]+m[3])
			out = append(out, d.indented(m[4], m[1]+strings.Repeat(" ", len(m[2]))+"  ")...)
			continue
		}
		line = tokens.ReplaceAllStringFunc(line, func(token string) string {
			p := d.piece(tokens.FindStringSubmatch(token)[1])
			if p.block {
				err = fmt.Errorf("a block is no value of a key: %s", line)
			}
			return p.text
		})
		out = append(out, line)
	}
	return strings.Join(out, "\n") + "\n", err
}

func (d *draft) piece(number string) piece {
	// The token holds three digits.
	i, _ := strconv.Atoi(number)
	return d.pieces[i]
}

// indented are the lines of a block.
func (d *draft) indented(number, by string) []string {
	var out []string
	for line := range strings.SplitSeq(d.piece(number).text, "\n") {
		line = strings.ReplaceAll(line, indent, strconv.Itoa(len(by)))
		line = sums.ReplaceAllStringFunc(line, func(sum string) string {
			m := sums.FindStringSubmatch(sum)
			a, _ := strconv.Atoi(m[1])
			b, _ := strconv.Atoi(m[2])
			return strconv.Itoa(a + b)
		})
		out = append(out, by+line)
	}
	return out
}

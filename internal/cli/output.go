// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"

	"mapcontroller.dev/snapshotschedule/internal/report"
)

// Output are the flags -o and --no-headers.
type Output struct {
	Format    string
	NoHeaders bool
}

// Formats of -o.
const (
	JSON  = "json"
	YAML  = "yaml"
	Names = "name"
	Wide  = "wide"
)

// AddFlags adds -o with some formats, and --no-headers if the command prints a table.
func (o *Output) AddFlags(cmd *cobra.Command, table bool, formats ...string) {
	cmd.Flags().StringVarP(&o.Format, "output", "o", "", "Output format. One of: ("+strings.Join(formats, ", ")+").")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	if table {
		cmd.Flags().BoolVar(&o.NoHeaders, "no-headers", false, "Print no header line.")
	}
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if o.Format != "" && !slices.Contains(formats, o.Format) {
			return fmt.Errorf("unknown output format %q: use one of %s", o.Format, strings.Join(formats, ", "))
		}
		if before == nil {
			return nil
		}
		return before(cmd, args)
	}
}

// Structured reports whether programs read the output.
func (o *Output) Structured() bool { return o.Format == JSON || o.Format == YAML }

// PrintStructured prints a value as JSON or YAML.
func (o *Output) PrintStructured(w io.Writer, value any) error {
	text, err := json.MarshalIndent(value, "", "    ")
	if err != nil {
		return err
	}
	if o.Format == YAML {
		inYAML, err := yaml.JSONToYAML(text)
		if plain := string(inYAML); err == nil && report.Escape(plain) == plain {
			_, err = io.WriteString(w, plain)
			return err
		}
		// Only JSON, which is YAML too, keeps its meaning when it is escaped.
	}
	_, err = fmt.Fprintln(w, string(text))
	return err
}

// Table is a table in the making. A column whose name begins with + is shown with
// -o wide only.
type Table struct{ metav1.Table }

// NewTable returns a table with these columns.
func NewTable(columns ...string) *Table {
	t := &Table{}
	for _, name := range columns {
		column := metav1.TableColumnDefinition{Name: strings.TrimPrefix(name, "+"), Type: "string"}
		if column.Name != name {
			column.Priority = 1
		}
		t.ColumnDefinitions = append(t.ColumnDefinitions, column)
	}
	return t
}

// none stands for an empty cell, as in kubectl's tables.
const none = "<none>"

// Row adds a row. An empty cell is printed as none. A line break or a tab in a cell would
// make lines and columns of its own.
func (t *Table) Row(cells ...any) {
	for i, cell := range cells {
		if cell == "" {
			cells[i] = none
		} else if text, ok := cell.(string); ok {
			cells[i] = betweenStyles(text, func(text string) string { return report.Text(text, report.MaxMessage) })
		}
	}
	t.Rows = append(t.Rows, metav1.TableRow{Cells: cells})
}

// last returns the name of the last column that is printed.
func (t *Table) last(wide bool) (name string) {
	for _, column := range t.ColumnDefinitions {
		if wide || column.Priority == 0 {
			name = column.Name
		}
	}
	return name
}

// PrintTable prints a table as kubectl does. If a terminal is too narrow, the last
// column is wrapped.
func (o *Output) PrintTable(w io.Writer, t *Table) error {
	var text strings.Builder
	tabs := printers.GetNewTabWriter(&text)
	options := printers.PrintOptions{NoHeaders: o.NoHeaders, Wide: o.Format == Wide}
	if err := printers.NewTablePrinter(options).PrintObj(&t.Table, tabs); err != nil {
		return err
	}
	if err := tabs.Flush(); err != nil {
		return err
	}
	table := text.String()
	if width := terminalWidth(w); width > 0 && !o.NoHeaders {
		table = fitTable(table, t.last(options.Wide), width)
	}
	_, err := io.WriteString(w, table)
	return err
}

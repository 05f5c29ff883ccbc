// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"

	"mapcontroller.dev/snapshotschedule/internal/report"
)

// Output are the flags -o and --no-headers.
type Output struct {
	Format    string
	NoHeaders bool
	// documents is how many were printed in YAML.
	documents int
}

// Formats of -o.
const (
	HTML  = "html"
	JSON  = "json"
	YAML  = "yaml"
	Names = "name"
	Wide  = "wide"
)

// AddFlags adds -o with some formats, and --no-headers if the command prints a table.
func (o *Output) AddFlags(cmd *cobra.Command, table bool, formats ...string) {
	cmd.Flags().StringVarP(&o.Format, "output", "o", "", "Output format. One of: ("+strings.Join(withTemplates(formats), ", ")+").")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	if table {
		cmd.Flags().BoolVar(&o.NoHeaders, "no-headers", false, "Print no header line.")
	}
	cmd.PreRunE = func(*cobra.Command, []string) error {
		return checkFormat(o.Format, formats)
	}
}

// Structured reports whether programs read the output.
func (o *Output) Structured() bool {
	return o.Format == JSON || o.Format == YAML || strings.Contains(o.Format, "=")
}

// PrintStructured prints a value as JSON or YAML, or by a template.
func (o *Output) PrintStructured(w io.Writer, value any) error {
	text, err := json.MarshalIndent(value, "", "    ")
	if err != nil {
		return err
	}
	if strings.Contains(o.Format, "=") {
		return o.printTemplate(w, text)
	}
	if o.Format == YAML {
		if o.documents++; o.documents > 1 {
			fmt.Fprintln(w, "---")
		}
		inYAML, err := yaml.JSONToYAML(text)
		if plain := string(inYAML); err == nil && report.Escape(plain) == plain && means(inYAML, text) {
			_, err = io.WriteString(w, plain)
			return err
		}
		// Only JSON, which is YAML too, keeps its meaning when it is escaped.
	}
	_, err = fmt.Fprintln(w, string(text))
	return err
}

// means returns whether a text in YAML is read as one in JSON. The encoder writes some line breaks of Unicode as others.
func means(inYAML, text []byte) bool {
	var read, written any
	return yaml.Unmarshal(inYAML, &read) == nil && json.Unmarshal(text, &written) == nil && reflect.DeepEqual(read, written)
}

// Table is a table in the making. A column whose name begins with + is shown with
// -o wide only.
type Table struct{ of metav1.Table }

// NewTable returns a table with these columns.
func NewTable(columns ...string) *Table {
	t := &Table{}
	for _, name := range columns {
		t.add(name)
	}
	return t
}

func (t *Table) add(name string) {
	column := metav1.TableColumnDefinition{Name: strings.TrimPrefix(name, "+"), Type: "string"}
	if column.Name != name {
		column.Priority = 1
	}
	t.of.ColumnDefinitions = append(t.of.ColumnDefinitions, column)
}

// Column is a column of a table of values, and what each has there.
type Column[T any] func(t *Table, rows []T)

// Col returns a column.
func Col[T any](name string, cell func(row *T) any) Column[T] {
	return func(t *Table, rows []T) {
		t.add(name)
		for i := range rows {
			t.of.Rows[i].Cells = append(t.of.Rows[i].Cells, printable(cell(&rows[i])))
		}
	}
}

// ColIf returns a column that is there under a condition.
func ColIf[T any](is bool, name string, cell func(row *T) any) Column[T] {
	if !is {
		return func(*Table, []T) {}
	}
	return Col(name, cell)
}

// TableOf returns the table of some rows.
func TableOf[T any](rows []T, columns ...Column[T]) *Table {
	t := &Table{}
	t.of.Rows = make([]metav1.TableRow, len(rows))
	for _, column := range columns {
		column(t, rows)
	}
	return t
}

// none stands for an empty cell, as in kubectl's tables.
const none = "<none>"

// Row adds a row.
func (t *Table) Row(cells ...any) {
	for i := range cells {
		cells[i] = printable(cells[i])
	}
	t.of.Rows = append(t.of.Rows, metav1.TableRow{Cells: cells})
}

// printable is a cell as it is printed: an empty one is none, and a line break or a tab would make lines and columns of its own.
func printable(cell any) any {
	text, ok := cell.(string)
	switch {
	case !ok:
		return cell
	case text == "":
		return none
	}
	return betweenStyles(text, func(text string) string { return report.Text(text, report.MaxMessage) })
}

// last returns the name of the last column that is printed.
func (t *Table) last(wide bool) (name string) {
	for _, column := range t.of.ColumnDefinitions {
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
	if err := printers.NewTablePrinter(options).PrintObj(&t.of, tabs); err != nil {
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

// Style colors text, or leaves it as it is.
type Style struct{ color bool }

// StyleOf returns the style for a writer: colored on a terminal, unless NO_COLOR is set.
func StyleOf(w io.Writer) Style {
	file := fileOf(w)
	return Style{color: file != nil && printers.AllowsColorOutput(file)}
}

func (s Style) paint(code, text string) string {
	if !s.color || text == "" {
		return text
	}
	return styleMark + "[" + code + "m" + text + styleMark + "[0m"
}

// Good is for what is as it should be.
func (s Style) Good(text string) string { return s.paint("32", text) }

// Bad is for failures.
func (s Style) Bad(text string) string { return s.paint("31", text) }

// Warn is for what deserves attention.
func (s Style) Warn(text string) string { return s.paint("33", text) }

// Dim is for what is less important.
func (s Style) Dim(text string) string { return s.paint("2", text) }

// Bold is for what stands out.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Cyan, Blue and Magenta tell kinds apart.
func (s Style) Cyan(text string) string { return s.paint("36", text) }

// Blue is like Cyan.
func (s Style) Blue(text string) string { return s.paint("34", text) }

// Magenta is like Cyan.
func (s Style) Magenta(text string) string { return s.paint("35", text) }

// pipeWidth is the width of drawings that go to no terminal.
const pipeWidth = 100

// WidthOf returns the width of a drawing on a writer. COLUMNS overrides that of the
// terminal.
func WidthOf(w io.Writer) int {
	return cmp.Or(columns(), terminalWidth(w), pipeWidth)
}

// terminalWidth returns the width of the terminal behind a writer; zero if there is
// none.
func terminalWidth(w io.Writer) int {
	file := fileOf(w)
	if file == nil {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return cmp.Or(columns(), width)
}

// columns returns the value of COLUMNS; zero if there is none.
func columns() int {
	n, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	return max(n, 0)
}

// Terminal escapes what controls a terminal, in everything that a command prints: tenants
// write what an administrator reads. Only the styles of this process pass. A style begins
// with a mark that nobody can know who writes an object.
type Terminal struct{ io.Writer }

var styleMark = "\x1b" + rand.Text()

func (t Terminal) Write(text []byte) (int, error) {
	escaped := betweenStyles(string(text), report.Escape)
	if _, err := io.WriteString(t.Writer, strings.ReplaceAll(escaped, styleMark, "\x1b")); err != nil {
		return 0, err
	}
	return len(text), nil
}

// betweenStyles changes a text without its styles.
func betweenStyles(text string, change func(string) string) string {
	plain, styled, found := strings.Cut(text, styleMark)
	var b strings.Builder
	b.WriteString(change(plain))
	for found {
		plain, styled, found = strings.Cut(styled, styleMark)
		end := strings.IndexByte(plain, 'm') + 1 // "[31m"
		b.WriteString(styleMark + plain[:end] + change(plain[end:]))
	}
	return b.String()
}

// fileOf returns the file behind a writer; nil if there is none.
func fileOf(w io.Writer) *os.File {
	if t, ok := w.(Terminal); ok {
		w = t.Writer
	}
	file, _ := w.(*os.File)
	return file
}

// IsTerminal returns whether somebody reads what is written.
func IsTerminal(w io.Writer) bool {
	file := fileOf(w)
	return file != nil && term.IsTerminal(int(file.Fd()))
}

// Say prints a line, whatever its parts contain. A terminal gets it in lines of its width,
// those that continue it indented.
func Say(w io.Writer, line string) {
	fmt.Fprintln(w, FitLine(betweenStyles(line, report.Line), terminalWidth(w)))
}

// FitLine breaks a line that does not fit a width. Without a width, every line fits.
func FitLine(line string, width int) string {
	if width == 0 || printed(line) <= width {
		return line
	}
	begin := strings.Repeat(" ", len(line)-len(strings.TrimLeft(line, " ")))
	return strings.Join(wrap(line, begin, begin+"  ", width), "\n")
}

// narrowest is the width from which on a column is wrapped: narrower ones are hard to
// read.
const narrowest = 24

// fitTable moves what does not fit the width out of the last column: into lines that
// begin there, or below the row if the column is too narrow for that.
func fitTable(table string, last string, width int) string {
	if table == "" {
		return "" // without rows, there is no header either
	}
	header, _, _ := strings.Cut(table, "\n")
	column := utf8.RuneCountInString(header[:strings.LastIndex(header, last)])
	var lines []string
	for line := range strings.Lines(table) {
		runes := []rune(strings.TrimRight(line, " \n"))
		if len(runes) <= width || len(runes) <= column {
			lines = append(lines, string(runes))
			continue
		}
		row, rest := string(runes[:column]), string(runes[column:])
		inColumn := wrap(rest, row, strings.Repeat(" ", column), width)
		tooLong := func(line string) bool { return printed(line) > width }
		if width-column >= narrowest && !slices.ContainsFunc(inColumn, tooLong) {
			lines = append(lines, inColumn...)
			continue
		}
		lines = append(lines, strings.TrimRight(row, " "))
		if rest != none {
			lines = append(lines, wrap(rest, "    ", "    ", width)...)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// wrap returns a text in lines of a width, between words. The first line begins in one
// way, the others in another. Within a line, spaces that align it stay.
func wrap(text, begin, next string, width int) []string {
	var lines []string
	line, empty := begin, true
	for word := range strings.SplitSeq(strings.TrimRight(text, " "), " ") {
		if !empty && printed(line)+1+printed(word) > width {
			lines, line, empty = append(lines, strings.TrimRight(line, " ")), next, true
		}
		if empty && word == "" {
			continue
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	return append(lines, line)
}

var colors = regexp.MustCompile(styleMark + "\\[[0-9;]*m")

// printed returns how many columns of a terminal a text takes.
func printed(text string) int { return utf8.RuneCountInString(colors.ReplaceAllString(text, "")) }

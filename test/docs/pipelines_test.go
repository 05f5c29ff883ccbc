// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/util/jsonpath"
)

// What somebody pastes in an incident runs with an administrator's rights. Whoever may create a PVC chooses the text of most of
// its fields, so no such text may become the argument of a command.

// feeds matches what makes arguments of a command's output.
var feeds = regexp.MustCompile(`\bxargs\b|\bread\b|\$\(kubectl|\beval\b`)

// trusted are fields whose text nobody else chooses: names and what controllers write.
var trusted = regexp.MustCompile(`^\.metadata\.(?:name|namespace|uid|generation)$|^\.status\.`)

// clusterScoped kinds can be written by administrators and controllers only.
var clusterScoped = regexp.MustCompile(`\bget (?:pv|volumesnapshotcontents|volumegroupsnapshotcontents|csnapsched)\b`)

// trustedHere are other fields, with the command that reads them: the operator alone writes the lease.
var trustedHere = map[string]string{".spec.holderIdentity": "kubectl -n snapshotschedule-system get lease "}

// script is a block of shell on a page.
type script struct{ page, text string }

// scripts returns the blocks of shell of the pages, and the comments of manifests that show commands.
func scripts(t *testing.T) (all []script) {
	t.Helper()
	for name, page := range pages(t) {
		for _, block := range matches(page, "(?ms)^ *```sh\n(.*?)^ *```$") {
			all = append(all, script{name, block})
		}
		prose := regexp.MustCompile("(?ms)^ *```.*?^ *```$").ReplaceAllString(page, "")
		for _, span := range matches(prose, "(?s)`([^`]*kubectl [^`]*)`") {
			all = append(all, script{name, span})
		}
	}
	err := fs.WalkDir(os.DirFS(root), "config", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, ".yaml") {
			comments := strings.Join(matches(read(t, path), `(?m)^ *#(.*)$`), "\n")
			all = append(all, script{path, comments})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// pipelines returns the commands of a script that feed others, each with the commands that wrote the files that it reads.
func pipelines(text string) (all []string) {
	text = regexp.MustCompile(`\\\n\s*|\|\n\s*`).ReplaceAllStringFunc(text, func(s string) string { return s[:1] + " " })
	text = strings.ReplaceAll(text, `\ `, " ")
	written := map[string]string{}
	for line := range strings.Lines(text) {
		if before, file, found := strings.Cut(strings.TrimSpace(line), " >> "); found {
			written[file] = before
			continue
		}
		if !feeds.MatchString(line) {
			continue
		}
		for file, by := range written {
			if strings.Contains(line, " "+file+" ") {
				line = by + " | " + line
			}
		}
		all = append(all, line)
	}
	return all
}

// output returns the fields that a command prints by its templates.
func output(command string) (fields []string) {
	for _, template := range matches(command, `jsonpath='?((?:\{[^}]*\})+)`) {
		for _, field := range matches(template, `\{([^}]*)\}`) {
			field = strings.TrimSpace(regexp.MustCompile(`\[[^\]]*\]`).ReplaceAllString(field, ""))
			if !strings.HasPrefix(field, "range ") && field != "end" && !strings.HasPrefix(field, `"`) {
				fields = append(fields, strings.TrimPrefix(field, ".items"))
			}
		}
	}
	for _, columns := range matches(command, `custom-columns='?([^\s']+)`) {
		for column := range strings.SplitSeq(columns, ",") {
			_, field, _ := strings.Cut(column, ":")
			if clusterScoped.MatchString(command) && !strings.Contains(column, ":.metadata") {
				continue // text for people; awk prints the first column
			}
			fields = append(fields, field)
		}
	}
	if strings.Contains(command, "template=") {
		fields = append(fields, "a template of Go, which this test does not read")
	}
	return fields
}

func TestNoTextOfAnObjectBecomesAnArgument(t *testing.T) {
	found := 0
	for _, s := range scripts(t) {
		for _, pipeline := range pipelines(s.text) {
			found++
			for _, field := range output(pipeline) {
				here := trustedHere[field]
				if !trusted.MatchString(field) && (here == "" || !strings.Contains(pipeline, here)) {
					t.Errorf("%s: whoever may write %s chooses arguments of: %s", s.page, field, pipeline)
				}
			}
			if columns := matches(pipeline, `awk '[^']*\{print ([^}]*)\}'`); slices.ContainsFunc(columns, func(c string) bool { return c != "$1" }) {
				t.Errorf("%s: the first column of %s is not what it prints", s.page, pipeline)
			}
		}
	}
	if found < 8 {
		t.Errorf("found %d pipelines", found)
	}
}

// The test finds what it is there for.
func TestPipelinesAreFound(t *testing.T) {
	for name, c := range map[string]struct{ text, field string }{
		"xargs":          {"kubectl get pvc -o jsonpath='{.items[*].spec.volumeName}' | xargs kubectl patch pv", ".spec.volumeName"},
		"several lines":  {"kubectl get pvc \\\n  -o jsonpath='{range .items[*]}{.spec.volumeName}{end}' |\n  xargs kubectl patch pv", ".spec.volumeName"},
		"a substitution": {"kubectl patch pv $(kubectl get pvc a -o jsonpath={.spec.volumeName})", ".spec.volumeName"},
		"a loop":         {"kubectl get pvc -o custom-columns=A:.metadata.labels.a | while read -r a; do :; done", ".metadata.labels.a"},
		"a file": {"kubectl get pvc -o custom-columns=A:.metadata.name,B:.spec.volumeName >> a.txt\nawk '{print $1}' a.txt | xargs kubectl delete pvc",
			".spec.volumeName"},
	} {
		t.Run(name, func(t *testing.T) {
			all := pipelines(c.text)
			if len(all) != 1 || !slices.Contains(output(all[0]), c.field) || trusted.MatchString(c.field) {
				t.Errorf("found %q in %q", output(strings.Join(all, "\n")), all)
			}
		})
	}
}

// fakeLog is the environment variable by which the test binary is a kubectl that writes its arguments to a file.
const fakeLog = "TEST_DOCS_KUBECTL_LOG"

// evil is text that a tenant chooses. It breaks out of quotes, of words and of lines, and is options of kubectl.
const evil = `victim "' --server=https://evil --patch={"evil":1} $(evil) ; evil` + "\nvictim victim shop"

// hostile are the objects of a cluster with a hostile tenant in the namespace shop, by what pages call their kinds.
var hostile = map[string][]any{
	"pvc": {object("pgdata", map[string]any{"volumeName": evil, "storageClassName": evil}), object("uploads", map[string]any{"volumeName": "victim"})},
	"pv": {
		object("pv-shop", map[string]any{"persistentVolumeReclaimPolicy": "Delete", "claimRef": map[string]any{"namespace": "shop", "name": "pgdata"}}),
		object("victim", map[string]any{"persistentVolumeReclaimPolicy": "Delete", "claimRef": map[string]any{"namespace": "victims", "name": "shop"}}),
		object("free", nil),
	},
	"volumesnapshots":             {object("pgdata-1", map[string]any{"source": map[string]any{"persistentVolumeClaimName": "pgdata"}, "volumeSnapshotClassName": evil})},
	"volumesnapshotcontents":      contents("volumeSnapshotRef"),
	"volumegroupsnapshots":        {object("group-1", map[string]any{"volumeGroupSnapshotClassName": evil})},
	"volumegroupsnapshotcontents": contents("volumeGroupSnapshotRef"),
	"snapsched":                   {object("nightly", map[string]any{"schedule": evil})},
	"csnapsched":                  {object("gold", nil)},
	"lease":                       {object("leader", map[string]any{"holderIdentity": "pod-1_2f"})},
}

func object(name string, spec map[string]any) map[string]any {
	return map[string]any{
		"metadata": map[string]any{
			"name": name, "namespace": "shop", "uid": "uid-" + name, "generation": int64(2), "ownerReferences": []any{map[string]any{"name": "nightly"}},
			"labels": map[string]any{"evil": evil}, "annotations": map[string]any{"evil": evil},
		},
		"spec":   spec,
		"status": map[string]any{"boundVolumeSnapshotContentName": "content-shop", "boundVolumeGroupSnapshotContentName": "content-shop"},
	}
}

func contents(ref string) []any {
	of := func(name, namespace string) map[string]any {
		c := object(name, map[string]any{"deletionPolicy": "Delete", "driver": "csi.example.com", ref: map[string]any{"namespace": namespace, "name": "pgdata-1"}})
		c["status"] = map[string]any{"snapshotHandle": "handle --server=https://evil", "volumeGroupSnapshotHandle": "handle evil"}
		return c
	}
	return []any{of("content-shop", "shop"), of("victim", "victims")}
}

// fakeKubectl answers get from the hostile cluster. It writes the arguments of anything else to a file.
func fakeKubectl(args []string) error {
	var words []string
	flags := map[string]string{}
	for i := 0; i < len(args); i++ {
		name, value, found := strings.Cut(args[i], "=")
		switch {
		case !strings.HasPrefix(name, "-"):
			words = append(words, args[i])
		case found || strings.HasPrefix(name, "--"):
			flags[name] = value
		case i+1 < len(args):
			i++
			flags[name] = args[i]
		}
	}
	if len(words) < 2 || words[0] != "get" {
		log, err := os.OpenFile(os.Getenv(fakeLog), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer log.Close()
		return json.NewEncoder(log).Encode(args)
	}
	found := hostile[words[1]]
	if found == nil && words[1] != "namespace" {
		return fmt.Errorf("the fake has no %s", words[1])
	}
	switch format, template, _ := strings.Cut(flags["-o"], "="); format {
	case "name":
		for _, o := range found {
			fmt.Fprintln(os.Stdout, words[1]+"/"+o.(map[string]any)["metadata"].(map[string]any)["name"].(string))
		}
	case "jsonpath":
		if len(words) > 2 {
			return show(template, found[0])
		}
		return show(template, map[string]any{"items": found})
	case "custom-columns":
		for _, o := range found {
			for column := range strings.SplitSeq(template, ",") {
				_, path, _ := strings.Cut(column, ":")
				if err := show("{"+path+"}", o); err != nil {
					return err
				}
				fmt.Fprint(os.Stdout, "   ")
			}
			fmt.Fprintln(os.Stdout)
		}
	}
	return nil
}

func show(template string, of any) error {
	path := jsonpath.New("").AllowMissingKeys(true)
	if err := path.Parse(template); err != nil {
		return err
	}
	return path.Execute(os.Stdout, of)
}

// The commands of the pages run in a shell, against a cluster in which a tenant has chosen what he may choose.
func TestPipelinesPassNoHostileText(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, s := range scripts(t) {
		if !strings.HasSuffix(s.page, ".md") || !feeds.MatchString(s.text) || !strings.Contains(s.text, "\n") {
			continue
		}
		folder := t.TempDir()
		log := filepath.Join(folder, "log")
		link := func(name, target string) {
			if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
				t.Fatal(err)
			}
		}
		link("kubectl", executable)
		for _, tool := range []string{"awk", "xargs", "cut", "sed", "grep", "cat", "true"} {
			path, err := exec.LookPath(tool)
			if err != nil {
				t.Fatal(err)
			}
			link(tool, path)
		}
		shell := exec.CommandContext(t.Context(), "/bin/sh", "-c", s.text)
		shell.Dir, shell.Env = folder, []string{"PATH=" + folder, fakeLog + "=" + log}
		printed, _ := shell.CombinedOutput() // it has no other commands than these
		text, err := os.ReadFile(log)
		if err != nil {
			continue // its commands are not kubectl's
		}
		for line := range strings.Lines(string(text)) {
			ran++
			var args []string
			if err := json.Unmarshal([]byte(line), &args); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(line, "evil") || strings.Contains(line, "victim") {
				t.Errorf("%s: kubectl got %q from\n%s\n%s", s.page, args, s.text, printed)
			}
		}
	}
	if ran < 15 {
		t.Errorf("only %d commands ran", ran)
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(fakeLog) != "" {
		if err := fakeKubectl(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

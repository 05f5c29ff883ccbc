// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Command diagrams draws the Mermaid diagrams of the pages for the site: make site-diagrams. Mermaid is 5 MB of script and draws in a
// browser only, so neither the site nor its readers have it. It needs npm and chromium.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/net/html"
)

// mermaid is the version of the package that draws.
const mermaid = "mermaid@12.3.0"

// page renders each diagram and leaves an element with its picture as text.
const page = `<!DOCTYPE html><meta charset="utf-8"><body><script src="package/dist/mermaid.min.js"></script><script>
(async () => {
  mermaid.initialize({ startOnLoad: false, theme: "neutral", htmlLabels: false, deterministicIds: true, handDrawnSeed: 1,
    fontFamily: "system-ui, sans-serif", flowchart: { htmlLabels: false, wrappingWidth: 400 } });
  for (const [name, source] of Object.entries(%s)) {
    const pre = document.createElement("pre");
    try {
      const { svg } = await mermaid.render("d" + name, source);
      pre.textContent = svg.replace(/-?\d+\.\d{2,}/g, (n) => +(+n).toFixed(1));
    } catch (e) {
      pre.textContent = String(e);
    }
    pre.id = name;
    document.body.append(pre);
  }
})();
</script></body>`

var block = regexp.MustCompile("(?ms)^```mermaid\n(.*?)^```$")

func main() {
	if err := draw(context.Background(), "hack/site/static/diagrams"); err != nil {
		fmt.Fprintln(os.Stderr, "diagrams:", err)
		os.Exit(1)
	}
}

// sources returns the diagrams of the pages by the names of their pictures.
func sources(root fs.FS) (map[string]string, error) {
	all := map[string]string{}
	err := fs.WalkDir(root, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".md" {
			return err
		}
		text, err := fs.ReadFile(root, name)
		for _, m := range block.FindAllSubmatch(text, -1) {
			source := strings.TrimSpace(string(m[1]))
			all[fmt.Sprintf("%x", sha256.Sum256([]byte(source)))[:16]] = source
		}
		return err
	})
	return all, err
}

func draw(ctx context.Context, folder string) error {
	all, err := sources(os.DirFS("docs"))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "diagrams")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	list, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "index.html"), fmt.Appendf(nil, page, list), 0o600); err != nil {
		return err
	}
	shown, err := run(ctx, dir, "npm pack --silent "+mermaid+" >&2 && tar xzf mermaid-*.tgz package/dist/mermaid.min.js && "+
		"chromium --headless --no-sandbox --disable-gpu --user-data-dir=profile --virtual-time-budget=60000 "+
		"--dump-dom \"file://$PWD/index.html\"")
	if err != nil {
		return err
	}
	pictures, err := read(shown)
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o755)); err != nil {
		return err
	}
	for name, source := range all {
		if !strings.HasPrefix(pictures[name], "<svg") {
			return fmt.Errorf("%s: %s\n%s", name, pictures[name], source)
		}
		if err := os.WriteFile(filepath.Join(folder, name+".svg"), []byte(pictures[name]+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func run(ctx context.Context, dir, command string) ([]byte, error) {
	shell := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	var out, diagnostics bytes.Buffer
	shell.Dir, shell.Stdout, shell.Stderr = dir, &out, &diagnostics
	if err := shell.Run(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, diagnostics.String())
	}
	return out.Bytes(), nil
}

// read returns the texts of the elements of a page that have an ID.
func read(shown []byte) (map[string]string, error) {
	root, err := html.Parse(bytes.NewReader(shown))
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for node := range root.Descendants() {
		for _, a := range node.Attr {
			if a.Key == "id" && node.Data == "pre" && node.FirstChild != nil {
				texts[a.Val] = node.FirstChild.Data
			}
		}
	}
	return texts, nil
}

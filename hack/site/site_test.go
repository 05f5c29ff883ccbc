// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package site holds what make site builds a site from, beside the pages.
package site

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

const chromium = "chromium"

// built builds the site and returns its folder.
func built(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	output, err := exec.CommandContext(t.Context(), "make", "-C", "../..", "--no-print-directory", "site", "SITE="+dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return dir
}

// document is a page of the site: what its anchors are, what it links to, and what a browser fetches for it.
type document struct {
	anchors                 map[string]bool
	links, fetched, scripts []string
}

// code is all that a browser may run: the search, and what it searches.
var code = []string{"search-index.js", "search.js"}

func parsed(t *testing.T, site fs.FS, name string) document {
	t.Helper()
	file, err := site.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	root, err := html.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	d := document{anchors: map[string]bool{"": true}}
	for node := range root.Descendants() {
		for _, a := range node.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on") || strings.HasPrefix(strings.ToLower(strings.TrimSpace(a.Val)), "javascript:"):
				t.Errorf("%s runs %s", name, a.Val)
			case a.Key == "id":
				d.anchors[a.Val] = true
			case node.Data == "script" && a.Key == "src":
				d.scripts = append(d.scripts, a.Val)
			case node.Data == "a" && a.Key == "href":
				d.links = append(d.links, a.Val)
			case a.Key == "href" || a.Key == "src" || a.Key == "srcset":
				d.fetched = append(d.fetched, a.Val)
			}
		}
		if node.Type == html.ElementNode && slices.Contains([]string{"style", "iframe", "object", "embed", "base"}, node.Data) ||
			node.Data == "script" && node.FirstChild != nil {
			t.Errorf("%s has a %s", name, node.Data)
		}
	}
	return d
}

func TestTheSiteHasEachPageOnceAndNoLinkLeadsNowhere(t *testing.T) {
	site := os.DirFS(built(t))
	pages := map[string]document{}
	files := map[string]bool{}
	err := fs.WalkDir(site, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files[name] = true
			if path.Ext(name) == ".html" {
				pages[name] = parsed(t, site, name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	want := []string{"changelog.html", "contributing.html", "index.html", "security.html", "support.html"}
	err = fs.WalkDir(os.DirFS("../.."), "docs", func(name string, _ fs.DirEntry, err error) error {
		if page, found := strings.CutSuffix(name, ".md"); found {
			want = append(want, page+".html")
		}
		return err
	})
	if err != nil || len(want) < 10 {
		t.Fatal("found no pages", err)
	}
	var got []string
	for name := range pages {
		got = append(got, name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the site has the pages\n%q, want\n%q", got, want)
	}
	var scripts []string
	for name := range files {
		if strings.HasSuffix(name, "js") {
			scripts = append(scripts, name)
		}
	}
	if slices.Sort(scripts); !slices.Equal(scripts, code) {
		t.Errorf("the site has the scripts %q, want %q", scripts, code)
	}

	for name, page := range pages {
		if len(page.scripts) != 1 || path.Join(path.Dir(name), page.scripts[0]) != "search.js" {
			t.Errorf("%s runs %q", name, page.scripts)
		}
		inside := 0
		for _, link := range append(page.links, page.fetched...) {
			u, err := url.Parse(link)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if u.IsAbs() || u.Host != "" {
				if slices.Contains(page.fetched, link) {
					t.Errorf("%s fetches %s", name, link)
				}
				continue
			}
			to := name
			if u.Path != "" {
				to = path.Join(path.Dir(name), u.Path)
			}
			inside++
			if target, ok := pages[to]; !files[to] || ok && !target.anchors[u.Fragment] {
				t.Errorf("%s: %s leads nowhere", name, link)
			}
		}
		if inside < len(pages) {
			t.Errorf("%s has %d links inside the site: not even the menu", name, inside)
		}
	}
}

func TestEachPageShowsTheVersionAndLeadsOutOfAnEmergency(t *testing.T) {
	t.Setenv("SITE_VERSION", "v1.2.3-test")
	dir := built(t)
	text, err := os.ReadFile(filepath.Join(dir, "docs", "choosing.html"))
	if err != nil {
		t.Fatal(err)
	}
	header, _, _ := strings.Cut(string(text), "</header>")
	for _, want := range []string{`<span class="version">v1.2.3-test</span>`, `<a class="emergency" href="../docs/my-data-is-gone.html">Emergency</a>`} {
		if !strings.Contains(header, want) {
			t.Errorf("the header lacks %s:\n%s", want, header)
		}
	}
	contents, _, _ := strings.Cut(string(text), "<article>")
	if _, contents, _ = strings.Cut(contents, `aria-label="On this page"`); strings.Count(contents, `href="#`) < 2 {
		t.Errorf("the page has no contents:\n%s", contents)
	}
}

// A diagram that was changed shows its source until it is drawn again, and not the old picture.
func TestNoPictureOfADiagramIsLeftOver(t *testing.T) {
	sources := map[string]bool{}
	err := fs.WalkDir(os.DirFS("../.."), "docs", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".md" {
			return err
		}
		text, err := os.ReadFile(filepath.Join("../..", name))
		for _, m := range regexp.MustCompile("(?ms)^```mermaid\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
			sources[fmt.Sprintf("%x", sha256.Sum256([]byte(strings.TrimSpace(m[1]))))[:16]+".svg"] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	pictures, err := os.ReadDir("static/diagrams")
	if err != nil {
		t.Fatal(err)
	}
	for _, picture := range pictures {
		if !sources[picture.Name()] {
			t.Errorf("no page has the diagram of %s: run make site-diagrams", picture.Name())
		}
	}
}

func TestTheIndexHasEachSectionOfEachPage(t *testing.T) {
	dir := built(t)
	text, err := os.ReadFile(filepath.Join(dir, "search-index.js"))
	if err != nil {
		t.Fatal(err)
	}
	list, isScript := strings.CutPrefix(strings.TrimSuffix(strings.TrimSpace(string(text)), ";"), "window.searchIndex = ")
	var entries []struct{ Path, Title, Anchor, Heading string }
	if err := json.Unmarshal([]byte(list), &entries); err != nil || !isScript {
		t.Fatalf("%v in %.80s", err, text)
	}
	site, pages := os.DirFS(dir), map[string]document{}
	for _, entry := range entries {
		if _, read := pages[entry.Path]; !read {
			pages[entry.Path] = parsed(t, site, entry.Path)
		}
		if !pages[entry.Path].anchors[entry.Anchor] || entry.Title == "" || (entry.Anchor == "") != (entry.Heading == "") {
			t.Errorf("%+v leads nowhere", entry)
		}
	}
	err = fs.WalkDir(site, ".", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".html" && len(pages[name].anchors) == 0 {
			t.Errorf("the index lacks %s", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A page is opened from a folder, as somebody without a server opens it.
func TestTheSearchFindsInABrowser(t *testing.T) {
	if _, err := exec.LookPath(chromium); err != nil {
		t.Skip("no page was opened: there is no " + chromium)
	}
	dir := built(t)
	found := func(page, query string) []string {
		t.Helper()
		address := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(dir, page)), RawQuery: url.Values{"q": {query}}.Encode()}
		shown, err := exec.CommandContext(t.Context(), chromium, "--headless", "--no-sandbox", "--disable-gpu",
			"--user-data-dir="+t.TempDir(), "--virtual-time-budget=20000", "--dump-dom", address.String()).Output()
		if err != nil {
			t.Fatal(err)
		}
		_, list, _ := strings.Cut(string(shown), "<output>")
		list, _, _ = strings.Cut(list, "</ol>")
		var all []string
		for _, m := range regexp.MustCompile(`<a href="file://[^"]*?/([^"/]*/?[^"/]*)"><b>`).FindAllStringSubmatch(list, -1) {
			all = append(all, m[1])
		}
		return all
	}
	for _, c := range []struct{ page, query, want string }{
		{"index.html", "DeletionStuck", "reference/problems.html#deletionstuck"},
		{"docs/storage/vsphere.html", "vsphere", "storage/vsphere.html"},
		{"docs/run/monitoring.html", "my data is gone", "docs/my-data-is-gone.html"},
	} {
		if got := found(c.page, c.query); len(got) == 0 || got[0] != c.want {
			t.Errorf("%s: %q finds %q, want %s first", c.page, c.query, got, c.want)
		}
	}
	if got := found("index.html", "<img src=x>"); len(got) > 0 {
		t.Errorf("found %q", got)
	}
}

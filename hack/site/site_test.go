// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package site holds what make site builds a site from, beside the pages.
package site

import (
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

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
	anchors        map[string]bool
	links, fetched []string
}

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
			case a.Key == "id":
				d.anchors[a.Val] = true
			case node.Data == "a" && a.Key == "href":
				d.links = append(d.links, a.Val)
			case a.Key == "href" || a.Key == "src" || a.Key == "srcset":
				d.fetched = append(d.fetched, a.Val)
			}
		}
		if node.Type == html.ElementNode && (node.Data == "script" || node.Data == "style" || node.Data == "iframe") {
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

	for name, page := range pages {
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

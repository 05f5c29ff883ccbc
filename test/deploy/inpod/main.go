// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// The program inpod reports what a pod sees from within. The operator's image has no shell, so the suite has
// its own image.
package main

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

const usage = "usage: inpod get URL [TOKEN-FILE [WANTED]] | inpod inspect"

// timeout is how long get waits for a wanted answer.
const timeout = 30 * time.Second

func main() {
	err := errors.New(usage)
	switch args := os.Args[1:]; {
	case len(args) == 2 && args[0] == "get":
		err = get(args[1], "", "")
	case len(args) == 3 && args[0] == "get":
		err = get(args[1], args[2], "")
	case len(args) == 4 && args[0] == "get":
		err = get(args[1], args[2], args[3])
	case len(args) == 1 && args[0] == "inspect":
		err = inspect()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// get prints the status code of the answer and its body. Any pod of a Service may answer: get repeats the
// request until an answer contains what is wanted, or prints the last one.
func get(url, tokenFile, wanted string) error {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if tokenFile != "" {
		token, err := os.ReadFile(tokenFile)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+string(token))
	}
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		// The certificate is self-signed unless cert-manager is there.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	for end := time.Now().Add(timeout); ; time.Sleep(100 * time.Millisecond) {
		code, body, err := ask(client, req)
		if err != nil {
			return err
		}
		if strings.Contains(body, wanted) || time.Now().After(end) {
			_, err := fmt.Printf("%d\n%s", code, body)
			return err
		}
	}
}

func ask(client *http.Client, req *http.Request) (code int, body string, err error) {
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// inspect prints, as JSON, the restrictions of the container's first process: what the kernel enforces, not what
// the manifest says.
func inspect() error {
	seen := map[string]string{}
	status, err := os.Open("/proc/1/status")
	if err != nil {
		return err
	}
	defer status.Close()
	lines := bufio.NewScanner(status)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		seen[name] = strings.Join(strings.Fields(value), " ")
	}
	mounts, err := os.ReadFile("/proc/1/mountinfo")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 5 && f[4] == "/" {
			seen["root"] = f[5]
		}
	}
	return errors.Join(lines.Err(), json.NewEncoder(os.Stdout).Encode(seen))
}

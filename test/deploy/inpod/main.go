// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// The program inpod reports what a pod sees from within, and writes and reads its data. The operator's image has no
// shell, so the suite has its own image.
package main

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	err := errors.New("usage: inpod get URL TOKEN-FILE | inspect | write FILE | sum FILE [WANT] | sleep")
	switch args := os.Args[1:]; {
	case len(args) == 3 && args[0] == "get":
		err = get(args[1], args[2])
	case len(args) == 1 && args[0] == "inspect":
		err = inspect()
	case len(args) == 2 && args[0] == "write":
		err = write(args[1])
	case len(args) >= 2 && len(args) <= 3 && args[0] == "sum":
		err = sum(args[1], strings.Join(args[2:], ""))
	case len(args) == 1 && args[0] == "sleep":
		end := make(chan os.Signal, 1)
		signal.Notify(end, syscall.SIGTERM)
		<-end
		err = errors.New("terminated")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// get prints the status code of the answer and its body.
func get(url, tokenFile string) error {
	request, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	// The certificate is self-signed unless cert-manager is there.
	insecure := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	answer, err := (&http.Client{Timeout: 10 * time.Second, Transport: insecure}).Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	fmt.Println(answer.StatusCode)
	_, err = io.Copy(os.Stdout, answer.Body)
	return err
}

// inspect prints, as JSON, the restrictions of the container's first process: what the kernel enforces, not what
// the manifest says.
func inspect() error {
	status, err := os.ReadFile("/proc/1/status")
	if err != nil {
		return err
	}
	seen := map[string]string{}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
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
	return json.NewEncoder(os.Stdout).Encode(seen)
}

// write writes a MiB that nobody else may read, other bytes each time, and prints its checksum.
func write(file string) error {
	data := make([]byte, 1<<20)
	if _, err := rand.Read(data); err != nil {
		return err
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return err
	}
	return sum(file, "")
}

// sum prints the checksum of a file, which is an error if it is not the one that is wanted.
func sum(file, want string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	got := fmt.Sprintf("%x", sha256.Sum256(data))
	if want != "" && got != want {
		return fmt.Errorf("the checksum of %s is wrong", file)
	}
	fmt.Println(got)
	return nil
}

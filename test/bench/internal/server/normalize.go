// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
)

// Normalized returns a snapshot of a namespace as JSON, without the values that differ between any two
// snapshots. It is the same for two clients that create the same objects.
func (s *Server) Normalized(ctx context.Context, namespace string) (string, error) {
	stream, err := s.get(ctx, fmt.Sprintf(snapshotsPath, url.PathEscape(namespace))+"limit=1")
	if err != nil {
		return "", err
	}
	defer stream.Close()
	var list struct{ Items []json.RawMessage }
	if err := json.NewDecoder(stream).Decode(&list); err != nil {
		return "", err
	}
	if len(list.Items) == 0 {
		return "", fmt.Errorf("namespace %s has no snapshots", namespace)
	}
	return normalize(list.Items[0])
}

// varying are the values that differ. Each has a fixed length, except the resource version.
var varying = []struct {
	value *regexp.Regexp
	by    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`-\d{14}-[0-9a-z]{10}`), "-SLOT-HASH"},
	{regexp.MustCompile(`"resourceVersion":"\d+"`), `"resourceVersion":"N"`},
	{regexp.MustCompile(`claim-\d{5}`), "CLAIM"},
	{regexp.MustCompile(`"namespace":"[^"]*"`), `"namespace":"NAMESPACE"`},
}

func normalize(object []byte) (string, error) {
	// A map sorts the fields.
	var fields map[string]any
	if err := json.Unmarshal(object, &fields); err != nil {
		return "", err
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return "", err
	}
	for _, v := range varying {
		text = v.value.ReplaceAll(text, []byte(v.by))
	}
	return string(text), nil
}

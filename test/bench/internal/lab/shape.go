// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
)

// Shape is a snapshot of a namespace as JSON, without what differs from one to the next: two
// clients that create the same give the same shape.
func (l *Lab) Shape(ctx context.Context, namespace string) (string, error) {
	stream, err := l.get(ctx, fmt.Sprintf(snapshotsPath, url.PathEscape(namespace))+"limit=1")
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
	return shape(list.Items[0])
}

// Each of these always has the same length, but for the resource version.
var varying = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`-\d{14}-[0-9a-z]{10}`), "-SLOT-HASH"},
	{regexp.MustCompile(`"resourceVersion":"\d+"`), `"resourceVersion":"N"`},
	{regexp.MustCompile(`claim-\d{5}`), "CLAIM"},
	{regexp.MustCompile(`"namespace":"[^"]*"`), `"namespace":"NAMESPACE"`},
}

func shape(object []byte) (string, error) {
	// Through a map, so that the fields are in order.
	var fields map[string]any
	if err := json.Unmarshal(object, &fields); err != nil {
		return "", err
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return "", err
	}
	for _, v := range varying {
		text = v.what.ReplaceAll(text, []byte(v.with))
	}
	return string(text), nil
}

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
)

func TestLoggerEncodesItsFieldsWhenItLogs(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	encoded := 0
	log := newLogger(&out).WithValues("key", counting{&encoded}).WithValues("second", "value")
	log.V(1).Info("Not enabled")
	g.Expect(encoded).To(BeZero())
	g.Expect(out.Len()).To(BeZero())

	log.Info("Enabled", "third", 3)
	g.Expect(encoded).To(Equal(1))
	var line map[string]any
	g.Expect(json.Unmarshal(out.Bytes(), &line)).To(Succeed())
	g.Expect(line).To(And(
		HaveKeyWithValue("msg", "Enabled"), HaveKeyWithValue("key", "counted"),
		HaveKeyWithValue("second", "value"), HaveKeyWithValue("third", 3.0)))
}

// counting counts how often it is encoded.
type counting struct{ times *int }

func (c counting) MarshalJSON() ([]byte, error) {
	*c.times++
	return []byte(`"counted"`), nil
}

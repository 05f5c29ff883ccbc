/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Package harness holds what the end-to-end suites share: a cluster to talk to,
// the operator's program as a child process under the shipped ServiceAccount,
// the audit log in which its requests are counted, and the history of the
// snapshots of a namespace as a watch saw it.
//
// Its functions fail the running spec; none of them returns an error that a
// spec would have to look at.
package harness

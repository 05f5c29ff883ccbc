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

package main

// groups are in the order in which they are run and printed.
var groups = []group{
	{name: "fan-out", about: "many PVCs fall due at once, beside a loop of bare creates", run: fanOut},
	{name: "requests", about: "what is asked of the API server, and what when nothing is to do", audit: true, run: requests},
	{name: "size", about: "memory, and a restart beside a bare list, with more and more snapshots", run: sizes},
	{name: "first", about: "the first snapshot of a new PVC among many", run: first},
	{name: "expiry", about: "very many snapshots expire at once", audit: true, run: expiry},
	{name: "many", about: "many schedules over the same PVCs", run: many},
}

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

package integration

import (
	"net/http"
	"strings"
	"sync/atomic"

	"mapcontroller.dev/snapshotschedule/internal/controller"
)

// creates refuses the creation of snapshots.
func creates(code int) func(*http.Request) int {
	return func(r *http.Request) int {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/volumesnapshots") {
			return code
		}
		return 0
	}
}

// losing lets the first creation of a snapshot through, and has its answer be lost.
func losing(lost *atomic.Bool) option {
	return func(o *operator, _ *controller.Options) {
		o.network.lose = func(r *http.Request) bool { return creates(1)(r) != 0 && lost.CompareAndSwap(false, true) }
	}
}

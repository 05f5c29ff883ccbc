// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// Options select the plans and say how to run them.
type Options struct {
	// Operator is the program under test. One process handles all plans.
	Operator string
	// Plans selects by ID, where * stands for any text; empty means all.
	Plans []string
	// Limit is the maximum number of plans, evenly spread; 0 means all.
	Limit int
	// Parallel is the number of concurrent plans.
	Parallel int
	// Progress is called after each plan, never concurrently.
	Progress func(r Result, done, total int)
}

// Result is the result of a plan.
type Result struct {
	ID string
	// Err is nil if the plan passed.
	Err  error
	Took time.Duration
}

// Run runs plans on a cluster. Its error says why they could not be run.
func Run(ctx context.Context, cluster *environment.Cluster, o Options) ([]Result, error) {
	plans, err := choose(o.Plans, o.Limit)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "snapsched-specs-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	server := httptest.NewServer(asOperator(cluster))
	defer server.Close()
	operator, err := cluster.StartOperator(o.Operator, server.URL, dir, "operator")
	if err != nil {
		return nil, err
	}
	defer operator.Kill()

	results := make([]Result, len(plans))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, o.Parallel))
	var mu sync.Mutex
	done := 0
	for i, p := range plans {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			began := time.Now()
			err := run(ctx, cluster, p, fmt.Sprintf("specs-%d-%d", os.Getpid(), i))
			results[i] = Result{ID: p.ID, Err: err, Took: time.Since(began)}
			mu.Lock()
			defer mu.Unlock()
			done++
			o.Progress(results[i], done, len(plans))
			select {
			case <-operator.Ended():
				return fmt.Errorf("the operator has exited:\n%s", operator.Tail(20))
			default:
				return nil
			}
		})
	}
	return results, g.Wait()
}

func choose(ids []string, limit int) ([]Plan, error) {
	chosen := slices.DeleteFunc(Plans(), func(p Plan) bool { return !plan.Matches(ids, p.ID) })
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no plan matches any of %q", ids)
	}
	return plan.Spread(chosen, limit), nil
}

// asOperator forwards requests to the API server as the operator's ServiceAccount.
func asOperator(cluster *environment.Cluster) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(cluster.Upstream)
			r.Out.Header.Set("Authorization", "Bearer "+cluster.Token)
		},
		Transport:     cluster.Transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // every watch that ends would be logged
	}
}

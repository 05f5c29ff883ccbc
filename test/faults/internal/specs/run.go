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
	"path"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
)

// Options say what is run and how.
type Options struct {
	// Operator is the program under test. One process serves all plans.
	Operator string
	// Plans chooses by id, with * as in file names; empty: all.
	Plans []string
	// Limit is how many of them are run at most, spread evenly; 0: all.
	Limit int
	// Parallel is how many plans there are at once.
	Parallel int
	// Progress is called after each plan, one call at a time; it may be nil.
	Progress func(r Result, done, total int)
}

// Result is what came of a plan.
type Result struct {
	ID     string
	Passed bool
	// Why not.
	Why  string
	Took time.Duration
}

// Run runs plans on a cluster. The error says why none could be.
func Run(ctx context.Context, cluster *environment.Cluster, o Options) ([]Result, error) {
	plans, err := Choose(o.Plans, o.Limit)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "snapsched-specs-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	way := httptest.NewServer(asOperator(cluster))
	defer way.Close()
	operator, err := cluster.StartOperator(o.Operator, way.URL, dir, "operator")
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
			results[i] = play(ctx, cluster, p, fmt.Sprintf("specs-%d-%d", os.Getpid(), i))
			mu.Lock()
			defer mu.Unlock()
			done++
			if o.Progress != nil {
				o.Progress(results[i], done, len(plans))
			}
			select {
			case <-operator.Ended():
				return fmt.Errorf("the operator has ended:\n%s", operator.Tail(20))
			default:
				return nil
			}
		})
	}
	return results, g.Wait()
}

// Choose finds plans by id.
func Choose(ids []string, limit int) ([]Plan, error) {
	all := Plans()
	chosen := slices.DeleteFunc(all, func(p Plan) bool {
		return len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool { return matches(id, p.ID) })
	})
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no plan is called as any of %q", ids)
	}
	if limit <= 0 || limit >= len(chosen) {
		return chosen, nil
	}
	few := make([]Plan, 0, limit)
	for i := range limit {
		few = append(few, chosen[i*len(chosen)/limit])
	}
	return few, nil
}

// matches takes a * for anything, slashes too, and all else as it stands.
func matches(pattern, id string) bool {
	if pattern == id {
		return true
	}
	flat := func(s string) string { return string(slices.Collect(mapSlash(s))) }
	ok, err := path.Match(flat(pattern), flat(id))
	return err == nil && ok
}

func mapSlash(s string) func(yield func(byte) bool) {
	return func(yield func(byte) bool) {
		for i := range len(s) {
			c := s[i]
			if c == '/' {
				c = ' '
			}
			if !yield(c) {
				return
			}
		}
	}
}

// asOperator sends requests on in the name of the operator's ServiceAccount.
func asOperator(cluster *environment.Cluster) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(cluster.Upstream)
			r.Out.Header.Set("Authorization", "Bearer "+cluster.Token)
		},
		Transport:     cluster.Transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // of watches that end
	}
}

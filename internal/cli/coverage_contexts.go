// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// unreadCluster is a cluster that could not be read.
type unreadCluster struct {
	Cluster string `json:"cluster"`
	Error   string `json:"error"`
}

const (
	// clustersAtOnce is how many clusters are read at a time.
	clustersAtOnce = 8
	// clusterTimeout is how long the reading of one may take.
	clusterTimeout = 2 * time.Minute
)

// coverageOfContexts reads what is protected in the clusters of all contexts that match a
// pattern. What cannot be read of one hides nothing of the others.
func coverageOfContexts(ctx context.Context, f *term.Factory, pattern string, scope *term.Scope, now time.Time) (*coverage, error) {
	if _, err := labels.Parse(scope.Selector); err != nil {
		return nil, err
	}
	found, err := ofContexts(ctx, f, pattern, func(ctx context.Context, one *term.Factory) (*coverage, error) {
		return readCoverage(ctx, one, scope, now)
	})
	sum, exists := &coverage{Claims: []claimCoverage{}, Leftovers: []leftover{}}, false
	for _, of := range found {
		if of.err != nil {
			sum.Unread = append(sum.Unread, unreadCluster{of.name, of.errorText()})
			continue
		}
		for i := range of.read.Claims {
			of.read.Claims[i].Cluster = of.name
		}
		for i := range of.read.Leftovers {
			of.read.Leftovers[i].Cluster = of.name
		}
		sum.Claims = append(sum.Claims, of.read.Claims...)
		sum.Leftovers = append(sum.Leftovers, of.read.Leftovers...)
		exists, sum.missing = exists || of.read.missing == nil, cmp.Or(sum.missing, of.read.missing)
	}
	if exists {
		sum.missing = nil
	}
	return sum, err
}

// ofContext is what was read in the cluster of a context.
type ofContext[T any] struct {
	name string
	read T
	err  error
}

func (o *ofContext[T]) errorText() string {
	return strings.TrimPrefix(term.MessageOf(o.err), "error: ")
}

// ofContexts reads something in the clusters of all contexts that match a pattern, some of them at a time.
func ofContexts[T any](
	ctx context.Context, f *term.Factory, pattern string, read func(ctx context.Context, one *term.Factory) (T, error),
) ([]ofContext[T], error) {
	c := f.Config
	if term.Given(*c.Context, *c.ClusterName, *c.AuthInfoName, *c.APIServer, *c.BearerToken) > 0 {
		return nil, errors.New("--contexts names the clusters: leave out --context, --cluster, --user, --server and --token")
	}
	names, err := contextsLike(f, pattern)
	if err != nil {
		return nil, err
	}
	found := make([]ofContext[T], len(names))
	warnings := make([]bytes.Buffer, len(names))
	places := make(chan struct{}, clustersAtOnce)
	var all sync.WaitGroup
	progress := contextProgress{f: f, all: len(names)}
	for i, name := range names {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
			defer cancel()
			one := &term.Factory{IOStreams: f.IOStreams, Config: inContext(f.Config, name), Clock: f.Clock}
			one.ErrOut = &warnings[i]
			found[i].name = name
			found[i].read, found[i].err = read(ctx, one)
			progress.ended(name, found[i].err)
		})
	}
	all.Wait()
	for i := range found {
		for line := range strings.Lines(warnings[i].String()) {
			term.Say(f.ErrOut, names[i]+": "+strings.TrimSuffix(line, "\n"))
		}
	}
	return found, context.Cause(ctx)
}

// contextProgress prints a line for each cluster that was read: with many of them, that takes minutes.
type contextProgress struct {
	sync.Mutex
	f         *term.Factory
	read, all int
}

func (p *contextProgress) ended(name string, err error) {
	p.Lock()
	defer p.Unlock()
	p.read++
	how := "read"
	if err != nil {
		how = "could not be read"
	}
	term.Say(p.f.ErrOut, fmt.Sprintf("%d of %s: %s %s", p.read, term.Plural(p.all, "cluster"), name, how))
}

// inContext returns the flags for another context. Those that name a part of a context are
// left out.
func inContext(flags *genericclioptions.ConfigFlags, name string) *genericclioptions.ConfigFlags {
	c := genericclioptions.NewConfigFlags(true)
	c.Context = ptr.To(name)
	c.KubeConfig, c.CacheDir, c.Namespace, c.Timeout = flags.KubeConfig, flags.CacheDir, flags.Namespace, flags.Timeout
	c.Insecure, c.CAFile, c.TLSServerName = flags.Insecure, flags.CAFile, flags.TLSServerName
	c.CertFile, c.KeyFile = flags.CertFile, flags.KeyFile
	c.Impersonate, c.ImpersonateUID, c.ImpersonateGroup = flags.Impersonate, flags.ImpersonateUID, flags.ImpersonateGroup
	c.DisableCompression = flags.DisableCompression
	return c
}

// contextsLike returns the contexts whose name matches a pattern. Names may contain slashes,
// which are as any other character.
func contextsLike(f *term.Factory, pattern string) ([]string, error) {
	config, err := f.Config.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, err
	}
	like, err := regexp.Compile("(?s)^" + strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern)) + "$")
	if err != nil {
		return nil, err
	}
	all := slices.Sorted(maps.Keys(config.Contexts))
	matching := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !like.MatchString(name) })
	switch {
	case len(all) == 0:
		return nil, errors.New("the kubeconfig has no contexts")
	case len(matching) == 0:
		return nil, fmt.Errorf("no context of the kubeconfig matches %q: it has %s", pattern, strings.Join(all, ", "))
	}
	return matching, nil
}

// unreadError names the clusters that could not be read.
func unreadError(all []unreadCluster) error {
	var names []string
	for _, u := range all {
		names = append(names, u.Cluster)
	}
	return fmt.Errorf("%s could not be read: %s", term.Plural(len(names), "cluster"), strings.Join(names, ", "))
}

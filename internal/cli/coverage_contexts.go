// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
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
func (f *Factory) coverageOfContexts(ctx context.Context, pattern string, scope *Scope, now time.Time) (*coverage, error) {
	c := f.Config
	if given(*c.Context, *c.ClusterName, *c.AuthInfoName, *c.APIServer, *c.BearerToken) > 0 {
		return nil, errors.New("--contexts names the clusters: leave out --context, --cluster, --user, --server and --token")
	}
	if _, err := labels.Parse(scope.Selector); err != nil {
		return nil, err
	}
	names, err := f.contextsLike(pattern)
	if err != nil {
		return nil, err
	}
	found := make([]*coverage, len(names))
	warnings := make([]bytes.Buffer, len(names))
	places := make(chan struct{}, clustersAtOnce)
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			found[i] = f.coverageOfContext(ctx, name, scope, now, &warnings[i])
		})
	}
	all.Wait()
	sum := &coverage{Claims: []claimCoverage{}, Leftovers: []leftover{}}
	for i := range found {
		for line := range strings.Lines(warnings[i].String()) {
			say(f.ErrOut, names[i]+": "+strings.TrimSuffix(line, "\n"))
		}
		sum.Claims = append(sum.Claims, found[i].Claims...)
		sum.Leftovers = append(sum.Leftovers, found[i].Leftovers...)
		sum.Unread = append(sum.Unread, found[i].Unread...)
	}
	return sum, context.Cause(ctx)
}

// coverageOfContext reads what is protected in one cluster.
func (f *Factory) coverageOfContext(ctx context.Context, name string, scope *Scope, now time.Time, warnings *bytes.Buffer) *coverage {
	ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	one := &Factory{IOStreams: f.IOStreams, Config: inContext(f.Config, name), Clock: f.Clock}
	one.ErrOut = warnings
	found, err := one.readCoverage(ctx, scope, now)
	if err != nil {
		return &coverage{Unread: []unreadCluster{{name, strings.TrimPrefix(messageOf(err), "error: ")}}}
	}
	for i := range found.Claims {
		found.Claims[i].Cluster = name
	}
	for i := range found.Leftovers {
		found.Leftovers[i].Cluster = name
	}
	return found
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
func (f *Factory) contextsLike(pattern string) ([]string, error) {
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
func (c *coverage) unreadError() error {
	var names []string
	for _, u := range c.Unread {
		names = append(names, u.Cluster)
	}
	return fmt.Errorf("%s could not be read: %s", plural(len(names), "cluster"), strings.Join(names, ", "))
}

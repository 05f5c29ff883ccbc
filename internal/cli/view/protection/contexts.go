// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package protection

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

// UnreadCluster is a cluster that could not be read.
type UnreadCluster struct {
	Cluster string `json:"cluster"`
	Error   string `json:"error"`
}

const (
	// clustersAtOnce is how many clusters are read at a time.
	clustersAtOnce = 8
	// clusterTimeout is how long the reading of one may take.
	clusterTimeout = 2 * time.Minute
)

// CoverageOfContexts reads what is protected in the clusters of all contexts that match a
// pattern. What cannot be read of one hides nothing of the others.
func CoverageOfContexts(
	ctx context.Context, f *term.Factory, pattern string, scope *term.Scope, unfinished ReadRollbacks, now time.Time,
) (*Coverage, error) {
	if _, err := labels.Parse(scope.Selector); err != nil {
		return nil, err
	}
	found, err := OfContexts(ctx, f, pattern, func(ctx context.Context, one *term.Factory) (*Coverage, error) {
		return ReadCoverage(ctx, one, scope, unfinished, now)
	})
	sum, exists := &Coverage{Claims: []ClaimCoverage{}, Leftovers: []leftover{}}, false
	for _, of := range found {
		if of.Err != nil {
			sum.Unread = append(sum.Unread, UnreadCluster{of.Name, of.ErrorText()})
			continue
		}
		for i := range of.Read.Claims {
			of.Read.Claims[i].Cluster = of.Name
		}
		for i := range of.Read.Leftovers {
			of.Read.Leftovers[i].Cluster = of.Name
		}
		for i := range of.Read.Rollbacks {
			of.Read.Rollbacks[i].Cluster = of.Name
		}
		sum.Claims, sum.Rollbacks = append(sum.Claims, of.Read.Claims...), append(sum.Rollbacks, of.Read.Rollbacks...)
		sum.Leftovers = append(sum.Leftovers, of.Read.Leftovers...)
		exists, sum.Missing = exists || of.Read.Missing == nil, cmp.Or(sum.Missing, of.Read.Missing)
	}
	if exists {
		sum.Missing = nil
	}
	return sum, err
}

// OfContext is what was read in the cluster of a context.
type OfContext[T any] struct {
	Name string
	Read T
	Err  error
}

// ErrorText is the error without its beginning.
func (o *OfContext[T]) ErrorText() string {
	return strings.TrimPrefix(term.MessageOf(o.Err), "error: ")
}

// OfContexts reads something in the clusters of all contexts that match a pattern, some of them at a time.
func OfContexts[T any](
	ctx context.Context, f *term.Factory, pattern string, read func(ctx context.Context, one *term.Factory) (T, error),
) ([]OfContext[T], error) {
	c := f.Config
	if term.Given(*c.Context, *c.ClusterName, *c.AuthInfoName, *c.APIServer, *c.BearerToken) > 0 {
		return nil, errors.New("--contexts names the clusters: leave out --context, --cluster, --user, --server and --token")
	}
	names, err := contextsLike(f, pattern)
	if err != nil {
		return nil, err
	}
	found := make([]OfContext[T], len(names))
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
			one := &term.Factory{IOStreams: f.IOStreams, Config: inContext(f.Config, name), Clock: f.Clock, ClassesDenied: f.ClassesDenied}
			one.ErrOut = &warnings[i]
			found[i].Name = name
			found[i].Read, found[i].Err = read(ctx, one)
			progress.ended(name, found[i].Err)
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

// UnreadError names the clusters that could not be read.
func UnreadError(all []UnreadCluster) error {
	var names []string
	for _, u := range all {
		names = append(names, u.Cluster)
	}
	return fmt.Errorf("%s could not be read: %s", term.Plural(len(names), "cluster"), strings.Join(names, ", "))
}

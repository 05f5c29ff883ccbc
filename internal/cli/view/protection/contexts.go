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

	"golang.org/x/sync/errgroup"
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

// CoverageOfContexts reads what is protected in the present cluster or, with a pattern, in those of all contexts that match it.
func CoverageOfContexts(
	ctx context.Context, f *term.Factory, pattern string, scope *term.Scope, unfinished ReadRollbacks,
) (*Coverage, error) {
	if _, err := labels.Parse(scope.Selector); err != nil {
		return nil, err
	}
	sum, exists := &Coverage{Claims: []ClaimCoverage{}, Leftovers: []leftover{}, nows: map[string]time.Time{}}, false
	var err error
	sum.Unread, err = OfContexts(ctx, f, pattern, func(ctx context.Context, one *term.Factory) (*Coverage, error) {
		return readCoverage(ctx, one, scope, unfinished)
	}, func(name string, read *Coverage) {
		for i := range read.Claims {
			read.Claims[i].Cluster = name
		}
		for i := range read.Leftovers {
			read.Leftovers[i].Cluster = name
		}
		for i := range read.Rollbacks {
			read.Rollbacks[i].Cluster = name
		}
		sum.Claims, sum.Rollbacks = append(sum.Claims, read.Claims...), append(sum.Rollbacks, read.Rollbacks...)
		sum.Leftovers = append(sum.Leftovers, read.Leftovers...)
		sum.nows[name] = read.Now
		exists, sum.Missing = exists || read.Missing == nil, cmp.Or(sum.Missing, read.Missing)
	})
	if exists {
		sum.Missing = nil
	}
	return sum, err
}

// OfContexts reads something in the present cluster or, with a pattern, in those of all contexts that match it, some of them at a time.
// Each calls found, in the order of their names; that of the present cluster is empty. What cannot be read of one hides nothing of
// the others.
func OfContexts[T any](
	ctx context.Context, f *term.Factory, pattern string, read func(ctx context.Context, one *term.Factory) (T, error), found func(string, T),
) (unread []UnreadCluster, err error) {
	if pattern == "" {
		one, err := read(ctx, f)
		if err == nil {
			found("", one)
		}
		return nil, err
	}
	c := f.Config
	if term.Given(*c.Context, *c.ClusterName, *c.AuthInfoName, *c.APIServer, *c.BearerToken) > 0 {
		return nil, errors.New("--contexts names the clusters: omit --context, --cluster, --user, --server and --token")
	}
	names, err := contextsLike(f, pattern)
	if err != nil {
		return nil, err
	}
	results, errs, warnings := make([]T, len(names)), make([]error, len(names)), make([]bytes.Buffer, len(names))
	var said sync.Mutex
	ended := 0
	var all errgroup.Group
	all.SetLimit(clustersAtOnce)
	for i, name := range names {
		all.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
			defer cancel()
			one := &term.Factory{IOStreams: f.IOStreams, Config: inContext(f.Config, name), Clock: f.Clock, ClassesDenied: f.ClassesDenied}
			one.ErrOut = &warnings[i]
			results[i], errs[i] = read(ctx, one)
			how := "read"
			if errs[i] != nil {
				how = "could not be read"
			}
			said.Lock()
			defer said.Unlock()
			ended++
			term.Say(f.ErrOut, fmt.Sprintf("%d of %s: %s %s", ended, term.Plural(len(names), "cluster"), name, how))
			return nil
		})
	}
	_ = all.Wait()
	for i, name := range names {
		for line := range strings.Lines(warnings[i].String()) {
			term.Say(f.ErrOut, name+": "+strings.TrimSuffix(line, "\n"))
		}
		if errs[i] != nil {
			unread = append(unread, UnreadCluster{name, strings.TrimPrefix(term.MessageOf(errs[i]), "error: ")})
			continue
		}
		found(name, results[i])
	}
	return unread, context.Cause(ctx)
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

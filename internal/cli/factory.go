// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// Factory is what every command needs.
type Factory struct {
	genericiooptions.IOStreams
	Config *genericclioptions.ConfigFlags
	Clock  clock.PassiveClock

	// client and namespace are set by Connect.
	client client.WithWatch
	// namespace is that of a command that reads only one.
	namespace string
	// classesDenied is set once the user was told that VolumeSnapshotClasses may not be
	// read.
	classesDenied bool
	// groupsDenied is why VolumeGroupSnapshots may not be listed, until the user was told.
	groupsDenied error
	// groupClassesDenied is the same of VolumeGroupSnapshotClasses.
	groupClassesDenied error
}

// scheme has the kinds that the commands read.
var scheme = newScheme()

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(snapshotv1.AddToScheme(scheme))
	utilruntime.Must(groupv1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(metav1.AddMetaToScheme(scheme))
	return scheme
}

// Connect finds the cluster and the namespace that the flags and the kubeconfig name.
func (f *Factory) Connect() (err error) {
	if f.client == nil {
		config, err := f.Config.ToRESTConfig()
		if err != nil {
			return err
		}
		config.QPS = -1 // the API server's own fairness knows better
		config.WarningHandler = rest.NewWarningWriter(f.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
		if f.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
			return err
		}
	}
	f.namespace, _, err = f.Config.ToRawKubeConfigLoader().Namespace()
	return err
}

// connected is the RunE of a command that needs the cluster.
func (f *Factory) connected(run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := f.Connect(); err != nil {
			return err
		}
		return run(cmd.Context(), args)
	}
}

// get reads an object of the namespace.
func (f *Factory) get(ctx context.Context, name string, o client.Object) error {
	return f.client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: name}, o)
}

// pageSize is how many objects are read at once.
const pageSize = 1000

// list reads a list page by page. The result has all items.
func (f *Factory) list(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var all []runtime.Object
	for token := ""; ; {
		page := list.DeepCopyObject().(client.ObjectList)
		if err := f.client.List(ctx, page, append(opts, client.Limit(pageSize), client.Continue(token))...); err != nil {
			return err
		}
		items, err := meta.ExtractList(page)
		if err != nil {
			return err
		}
		all = append(all, items...)
		if token = page.GetContinue(); token == "" {
			return meta.SetList(list, all)
		}
	}
}

// serverTime returns the API server's time in whole seconds. A time that is
// written for the operator must not come from a user's machine: if its clock is
// behind, an existing snapshot could cover the time.
func (f *Factory) serverTime(ctx context.Context) (time.Time, error) {
	config, err := f.Config.ToRESTConfig()
	if err != nil {
		return time.Time{}, err
	}
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return time.Time{}, err
	}
	connection, err := rest.HTTPClientFor(config)
	if err != nil {
		return time.Time{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.JoinPath("version").String(), http.NoBody)
	if err != nil {
		return time.Time{}, err
	}
	answer, err := connection.Do(request)
	if err != nil {
		return time.Time{}, err
	}
	defer answer.Body.Close()
	at, err := http.ParseTime(answer.Header.Get("Date"))
	return at.UTC(), err
}

// lacking returns which of some rights the user does not have, such as "patch persistentvolumes in the whole cluster".
func (f *Factory) lacking(ctx context.Context, rights []authorizationv1.ResourceAttributes) (missing []string, err error) {
	for i := range rights {
		right := &rights[i]
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: right}}
		if err := f.client.Create(ctx, review); err != nil {
			return nil, fmt.Errorf("ask for permissions: %w", err)
		}
		if !review.Status.Allowed {
			where := " in the whole cluster"
			if right.Namespace != "" {
				where = " in namespace " + right.Namespace
			}
			missing = append(missing, right.Verb+" "+right.Resource+where)
		}
	}
	return missing, nil
}

// Scope are the flags of a command that reads more than one object.
type Scope struct {
	AllNamespaces bool
	// Selector is the label selector of the flag -l.
	Selector string
}

// AddFlags adds -A, and -l for the labels of what selects names.
func (s *Scope) AddFlags(cmd *cobra.Command, selects string) {
	cmd.Flags().BoolVarP(&s.AllNamespaces, "all-namespaces", "A", false, "Show all namespaces.")
	cmd.Flags().StringVarP(&s.Selector, "selector", "l", "", fmt.Sprintf("Label selector for %s, such as app=db.", selects))
}

// namespace returns the namespace to read; empty for all namespaces.
func (s *Scope) namespace(f *Factory) string {
	if s.AllNamespaces {
		return ""
	}
	return f.namespace
}

// sayNothingFound says that there is nothing to show, as kubectl does.
func (s *Scope) sayNothingFound(f *Factory) {
	where := ""
	if namespace := s.namespace(f); namespace != "" {
		where = fmt.Sprintf(" in %s namespace.", namespace)
	}
	fmt.Fprintln(f.ErrOut, "No resources found"+where)
}

// given counts the values that are not empty.
func given(values ...string) (n int) {
	for _, value := range values {
		if value != "" {
			n++
		}
	}
	return n
}

// completionTimeout bounds how long a shell waits for names.
const completionTimeout = 5 * time.Second

// Completion returns names for a shell.
type Completion = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective)

// CompleteSchedules completes the names of schedules.
func (f *Factory) CompleteSchedules() Completion { return f.completeNames(scheduleKind) }

// CompleteClaims completes the names of PVCs.
func (f *Factory) CompleteClaims() Completion {
	return f.completeNames(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
}

// CompleteSnapshots completes the names of the snapshots of schedules.
func (f *Factory) CompleteSnapshots() Completion {
	return f.completeNames(snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshot"), client.HasLabels{v1alpha1.LabelMapKey})
}

// CompleteOne completes the first argument only.
func CompleteOne(complete Completion) Completion {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, toComplete)
	}
}

// completeNames completes the names of a kind that were not given yet.
func (f *Factory) completeNames(kind schema.GroupVersionKind, opts ...client.ListOption) Completion {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		found := &metav1.PartialObjectMetadataList{}
		found.SetGroupVersionKind(kind)
		err := f.Connect()
		if err == nil {
			where := client.InNamespace(f.namespace)
			if kind.Kind == "Namespace" {
				where = ""
			}
			err = f.list(ctx, found, append(opts, where)...)
		}
		if err != nil {
			cobra.CompDebugln(report.Line(err.Error()), true)
			return nil, cobra.ShellCompDirectiveError
		}
		var names []string
		for i := range found.Items {
			if name := found.Items[i].Name; !slices.Contains(args, name) {
				names = append(names, name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlags completes the values of the flags that all commands have.
func (f *Factory) completeFlags(root *cobra.Command) {
	_ = root.RegisterFlagCompletionFunc("namespace", f.completeNames(corev1.SchemeGroupVersion.WithKind("Namespace")))
	_ = root.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		config, err := f.Config.ToRawKubeConfigLoader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return slices.Collect(maps.Keys(config.Contexts)), cobra.ShellCompDirectiveNoFileComp
	})
}

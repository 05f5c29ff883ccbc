// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// previewOptions are the flags of preview.
type previewOptions struct {
	files        resource.FilenameOptions
	remove       string
	within       string
	failOnDelete bool
	driverLimit  int
	output       Output
}

func newPreviewCommand(f *Factory) *cobra.Command {
	var o previewOptions
	cmd := &cobra.Command{
		Use:     "preview (NAME | -f FILE | --delete NAME)",
		GroupID: GroupShow,
		Short:   "Show which snapshots an edit, a new schedule or a deletion would delete",
		Long: "Show what would happen to the snapshots that exist now, and to which PVCs: under the present spec\n" +
			"(NAME), under the spec of a manifest, edited or new (-f), or if the schedule was deleted (--delete).\n" +
			"Time is simulated with the operator's own decisions. It is assumed that every snapshot is taken on\n" +
			"time and is ready at once, and that nobody else changes anything. Nothing is written.",
		Example: `  # What would this edit delete?
  kubectl snapsched preview -f nightly.yaml

  # The same in a pipeline: fail if a snapshot would be deleted that the present spec keeps longer
  kubectl snapsched preview -f nightly.yaml --fail-on-delete

  # Which snapshots will be deleted within the next week?
  kubectl snapsched preview nightly --within 1w

  # What goes with the schedule?
  kubectl snapsched preview --delete nightly`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: CompleteOne(f.CompleteSchedules()),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&o.files.Filenames, "filename", "f", nil,
		"Files, folders or URLs with the manifests of schedules; - is standard input. Other objects are ignored.")
	flags.BoolVarP(&o.files.Recursive, "recursive", "R", false, "Read folders of -f recursively.")
	flags.StringVar(&o.remove, "delete", "", "Name of a schedule that would be deleted.")
	flags.StringVar(&o.within, "within", "30d", "How far to look ahead, such as 12h, 30d or 1y.")
	flags.BoolVar(&o.failOnDelete, "fail-on-delete", false, fmt.Sprintf("End with exit code %d if the change would delete a "+
		"snapshot that is kept longer without it. With NAME: if any snapshot would be deleted.", ExitFound))
	flags.IntVar(&o.driverLimit, "driver-limit", 0, "Warn if a PVC gets more snapshots than this, the storage driver's limit per volume.")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
	_ = cmd.RegisterFlagCompletionFunc("delete", f.CompleteSchedules())
	o.output.AddFlags(cmd, true, JSON, YAML, Names, Wide)
	return cmd
}

func (o *previewOptions) run(ctx context.Context, f *Factory, args []string) error {
	given := 0
	for _, is := range []bool{len(args) > 0, len(o.files.Filenames) > 0, o.remove != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return errors.New("give exactly one of NAME, --filename and --delete")
	}
	ahead, err := schedule.ParseDuration(o.within)
	if err != nil {
		return fmt.Errorf("--within: %w", err)
	}
	c, err := f.Client()
	if err != nil {
		return err
	}
	now := f.Clock.Now()
	changes, err := o.variants(ctx, f, c, args, now)
	if err != nil {
		return err
	}
	all := []*preview{}
	for _, v := range changes {
		p, err := o.preview(ctx, f, c, v, now, now.Add(ahead))
		if err != nil {
			return err
		}
		all = append(all, p)
	}
	if err := printPreviews(f.Out, &o.output, all, now, o.within); err != nil {
		return err
	}
	for _, p := range all {
		if o.failOnDelete && p.found() {
			return ErrFound
		}
	}
	return nil
}

// variants returns the schedules before and after the change.
func (o *previewOptions) variants(ctx context.Context, f *Factory, c client.Reader, args []string, now time.Time) ([]variants, error) {
	if len(o.files.Filenames) == 0 {
		namespace, err := f.Namespace()
		if err != nil {
			return nil, err
		}
		name := o.remove
		if len(args) > 0 {
			name = args[0]
		}
		s, err := readSchedule(ctx, c, namespace, name)
		if err != nil {
			return nil, err
		}
		s = snapshots.Recorded(s, now)
		if o.remove != "" {
			return []variants{{present: s}}, nil
		}
		return []variants{{present: s, future: s}}, nil
	}
	manifests, err := f.readManifests(&o.files)
	if err != nil {
		return nil, err
	}
	var all []variants
	for _, manifest := range manifests {
		s, err := readSchedule(ctx, c, manifest.Namespace, manifest.Name)
		switch {
		case apierrors.IsNotFound(err):
			all = append(all, variants{future: snapshots.Recorded(createdFrom(manifest, now), now)})
		case err != nil:
			return nil, err
		default:
			all = append(all, variants{present: snapshots.Recorded(s, now), future: snapshots.Recorded(editedBy(manifest, s), now)})
		}
	}
	return all, nil
}

// createdFrom returns the schedule that the API server creates from a manifest, which may
// come from a backup, with a status.
func createdFrom(manifest *v1alpha1.SnapshotSchedule, now time.Time) *v1alpha1.SnapshotSchedule {
	return &v1alpha1.SnapshotSchedule{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: manifest.Namespace, Name: manifest.Name, UID: "new", Generation: 1,
			CreationTimestamp: metav1.NewTime(now.Truncate(time.Second)), Annotations: manifest.Annotations,
		},
		Spec: manifest.Spec,
	}
}

// editedBy returns a schedule after a manifest was applied to it.
func editedBy(manifest, s *v1alpha1.SnapshotSchedule) *v1alpha1.SnapshotSchedule {
	future := s.DeepCopy()
	future.Spec = manifest.Spec
	if future.Annotations == nil {
		future.Annotations = map[string]string{}
	}
	maps.Copy(future.Annotations, manifest.Annotations) // a request, and the confirmation of the edit
	if !equality.Semantic.DeepEqual(defaulted(s.Spec), defaulted(manifest.Spec)) {
		future.Generation++
	}
	return future
}

// defaulted returns a spec with the defaults that the API server sets: a manifest without
// them is no change. What unset means otherwise, as deletionPolicy, is one if it is set.
func defaulted(spec v1alpha1.SnapshotScheduleSpec) v1alpha1.SnapshotScheduleSpec {
	if spec.Retention.MinReady == nil {
		spec.Retention.MinReady = new(int32(1))
	}
	spec.ReadyDeadline = cmp.Or(spec.ReadyDeadline, "1h")
	return spec
}

// readManifests reads the schedules of files.
func (f *Factory) readManifests(files *resource.FilenameOptions) ([]*v1alpha1.SnapshotSchedule, error) {
	namespace, err := f.Namespace()
	if err != nil {
		return nil, err
	}
	infos, err := resource.NewBuilder(f.Config).Unstructured().Local().ContinueOnError().
		NamespaceParam(namespace).DefaultNamespace().FilenameParam(false, files).Flatten().Do().Infos()
	if err != nil {
		return nil, err
	}
	var all []*v1alpha1.SnapshotSchedule
	for _, info := range infos {
		o := info.Object.(*unstructured.Unstructured)
		if o.GroupVersionKind().GroupKind() != v1alpha1.GroupVersion.WithKind("SnapshotSchedule").GroupKind() {
			continue
		}
		s := &v1alpha1.SnapshotSchedule{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, s, true); err != nil {
			return nil, fmt.Errorf("%s: SnapshotSchedule %s: %w", info.Source, o.GetName(), err)
		}
		if s.Namespace == "" {
			s.Namespace = namespace
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no SnapshotSchedule in %v", files.Filenames)
	}
	return all, nil
}

// preview reads the series of a schedule and compares their lives.
func (o *previewOptions) preview(ctx context.Context, f *Factory, c client.Reader, v variants, now, until time.Time) (*preview, error) {
	named := cmp.Or(v.present, v.future)
	inv, err := f.readInventory(ctx, c, named.Namespace, labels.Everything(), client.MatchingLabels{v1alpha1.LabelSchedule: named.Name})
	if err != nil {
		return nil, err
	}
	p, err := previewOf(v, inv, now, until)
	if err != nil {
		return nil, fmt.Errorf("SnapshotSchedule %s: %w", named.Name, err)
	}
	if v.future != nil {
		if p.Steady, err = steadyStateOf(&v.future.Spec, now); err != nil {
			return nil, err
		}
	}
	p.warn(v, o.driverLimit)
	return p, nil
}

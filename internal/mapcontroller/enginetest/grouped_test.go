// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

const (
	// setLabel groups ConfigMaps, and sourcesNote has the UIDs of those that a Gadget was made from.
	setLabel    = "enginetest.mapcontroller.dev/set"
	sourcesNote = "enginetest.mapcontroller.dev/sources"
	lingering   = "enginetest.mapcontroller.dev/linger"
	// dropNote on a Bucket has Gadgets deleted, keepNote on a Widget keeps its Gadget.
	dropNote = "enginetest.mapcontroller.dev/drop"
	keepNote = "enginetest.mapcontroller.dev/keep"
	settling = 3 * time.Second
)

// sets are ConfigMaps that a Gadget stands for together. Gadgets are a kind that may be
// missing, have Widgets as children, and have to settle.
type sets struct {
	mu   sync.Mutex
	seen map[string]mapcontroller.Observation // by map key

	engine mapcontroller.Access
	cache  cache.Cache // of widgets, which are children of gadgets
}

// watch implements Related.Prepare.
func (s *sets) watch(ctx context.Context, h mapcontroller.Host) (err error) {
	if s.cache, err = h.NewCache(cache.Options{}); err != nil {
		return err
	}
	go func() { _ = s.cache.Start(ctx) }()
	_, err = h.Objects("children", controller.Options{
		CacheSyncTimeout: mapcontroller.CacheSyncTimeout,
		Reconciler: reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			var gadgets GadgetList
			err := h.Cache.List(ctx, &gadgets, client.InNamespace(req.Namespace))
			for i := range gadgets.Items {
				if key, owned := s.engine.KeyOf(&gadgets.Items[i]); owned {
					s.engine.Enqueue(key, 0)
				}
			}
			return reconcile.Result{}, err
		}),
	}, source.Kind(s.cache, &Widget{}, &handler.TypedEnqueueRequestForObject[*Widget]{}))
	s.cache.WaitForCacheSync(ctx)
	return err
}

func (s *sets) widgets(output client.Object) []client.Object {
	all, _ := liveWidgets(context.Background(), s.cache, output)
	return slices.DeleteFunc(all, func(o client.Object) bool { return !isChild(output, o) })
}

func liveWidgets(ctx context.Context, live client.Reader, output client.Object) (all []client.Object, err error) {
	var found WidgetList
	err = live.List(ctx, &found, client.InNamespace(output.GetNamespace()))
	for i := range found.Items {
		all = append(all, &found.Items[i])
	}
	return all, err
}

func isChild(output, o client.Object) bool {
	return mapcontroller.Refers(o, output) && o.(*Widget).Spec.Color != "other"
}

func (s *sets) of(key string) func() mapcontroller.Observation {
	return func() mapcontroller.Observation {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.seen[key]
	}
}

func (s *sets) change(c *mapcontroller.MapController) {
	c.Inputs = []mapcontroller.Input{{Object: &corev1.ConfigMap{}, Resource: "configmaps"}}
	c.Outputs = []mapcontroller.Output{{
		Object: &Gadget{}, Resource: "gadgets", Optional: true, Settles: settling,
		Sources:  func(o client.Object) []string { return strings.Split(o.GetAnnotations()[sourcesNote], ",") },
		Children: &mapcontroller.Children{Is: isChild, Cached: s.widgets, Live: liveWidgets},
	}}
	c.Related.Prepare, c.Connect = s.watch, func(a mapcontroller.Access) { s.engine = a }
	c.Release.Finalizer, c.Release.Lingers = lingering, func(client.Object) bool { return true }
	c.ParentChanged = func(before, after client.Object) bool {
		return before.GetAnnotations()[dropNote] != after.GetAnnotations()[dropNote]
	}
	c.Compile = func(parent client.Object, _ ...client.Object) (mapcontroller.Program, error) {
		_, drop := parent.GetAnnotations()[dropNote]
		return mapcontroller.Program{
			NeedsOptional: true,
			Key:           func(input client.Object) string { return "set-" + input.GetLabels()[setLabel] },
			Map: func(seen mapcontroller.Observation) (d mapcontroller.Decision) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.seen[seen.MapKey] = seen
				if len(seen.Missing) > 0 {
					return d
				}
				for _, o := range seen.Outputs {
					kept := slices.ContainsFunc(seen.Children, func(c client.Object) bool { _, keeps := c.GetAnnotations()[keepNote]; return keeps })
					if drop && !kept {
						d.Delete = append(d.Delete, mapcontroller.Removal{Object: o, Reason: "Dropped"})
					}
				}
				if len(seen.Outputs) == 0 && !drop {
					var uids []string
					for _, input := range seen.Selected {
						uids = append(uids, string(input.GetUID()))
					}
					gadget := &Gadget{ObjectMeta: metav1.ObjectMeta{
						Name: seen.MapKey, Annotations: map[string]string{sourcesNote: strings.Join(uids, ",")},
					}}
					d.Ensure = []mapcontroller.Desired{{Object: gadget}}
				}
				return d
			},
			Tombstone: func(mapcontroller.Observation) mapcontroller.Decision { return mapcontroller.Decision{} },
		}, nil
	}
}

var _ = Describe("Several inputs under one key", func() {
	var (
		ctx context.Context
		ns  string
		op  *operator
		all *sets
	)
	BeforeEach(func(sctx SpecContext) {
		ctx = context.WithoutCancel(sctx)
		ns, all = newNamespace(ctx), &sets{seen: map[string]mapcontroller.Observation{}}
		op = newOperator(ns)
		op.program.change = all.change
	})
	gadgets := func() []Gadget {
		var found GadgetList
		if err := api.List(ctx, &found, client.InNamespace(ns)); err != nil {
			return nil
		}
		return found.Items
	}
	names := func(objects []client.Object) (all []string) {
		for _, o := range objects {
			all = append(all, o.GetName())
		}
		slices.Sort(all)
		return all
	}
	selected := func(key string) func() []string {
		return func() []string { return names(all.of(key)().Selected) }
	}
	widget := func(name, color string, owner *Gadget) *Widget {
		w := &Widget{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: WidgetSpec{Color: color}}
		if owner != nil {
			w.OwnerReferences = []metav1.OwnerReference{{APIVersion: groupVersion.String(), Kind: "Gadget", Name: owner.Name, UID: owner.UID}}
		}
		Expect(api.Create(ctx, w)).To(Succeed())
		return w
	}

	It("are one output of a kind that is installed later, of a parent that waits for it when it is deleted", func() {
		op.start()
		a := newConfigMap(ctx, ns, "a", setLabel+"=x")
		newConfigMap(ctx, ns, "b", setLabel+"=x")
		newConfigMap(ctx, ns, "c", setLabel+"=y")
		b := newBucket(ctx, ns, "b")
		By("telling decisions that the kind is missing, and that alone")
		Eventually(func() int { return len(all.of("set-x")().Missing) }).Should(Equal(1))
		Eventually(selected("set-x")).Should(Equal([]string{"a", "b"}))
		Eventually(selected("set-y")).Should(Equal([]string{"c"}))
		Eventually(statusOf).WithArguments(ctx, b).Should(And(
			HaveField("ObservedGeneration", BeEquivalentTo(1)), HaveField("Missing", BeEmpty()),
			HaveField("Inputs", HaveKeyWithValue("configmaps", 3))))

		By("creating the outputs when it is there, and the parent has the finalizer")
		installGadgets()
		Eventually(gadgets).Should(ConsistOf(HaveField("Name", "set-x"), HaveField("Name", "set-y")))
		Expect(api.Get(ctx, client.ObjectKeyFromObject(b), b)).To(Succeed())
		Expect(b.Finalizers).To(ContainElement(lingering))
		x := gadgets()[0]

		By("observing their children")
		widget("mine", "", &x)
		widget("stranger", "other", &x)
		widget("alone", "", nil)
		Eventually(func() []string { return names(all.of("set-x")().Children) }).Should(Equal([]string{"mine"}))

		By("observing what an output was made from after it has left the key")
		patch(ctx, a, func(c *corev1.ConfigMap) { c.Labels[setLabel] = "z" })
		Eventually(func() []string { return names(all.of("set-x")().Unselected) }).Should(Equal([]string{"a"}))
		Expect(selected("set-x")()).To(Equal([]string{"b"}))
		Expect(api.Delete(ctx, a)).To(Succeed())
		Eventually(func() []string { return names(all.of("set-x")().Unselected) }).Should(BeEmpty())

		By("deleting the parent after the youngest output has settled")
		youngest := slices.MaxFunc(gadgets(), func(a, b Gadget) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
		Expect(api.Delete(ctx, b)).To(Succeed())
		gone := func() bool { return apierrors.IsNotFound(api.Get(ctx, client.ObjectKeyFromObject(b), b)) }
		Eventually(gone).Should(BeTrue())
		Expect(time.Now()).To(BeTemporally(">=", youngest.CreationTimestamp.Add(settling)))
	})

	It("keep an output that a child keeps, as the API server holds the child, and until it has settled", func() {
		installGadgets()
		op.start()
		newConfigMap(ctx, ns, "a", setLabel+"=x")
		b := newBucket(ctx, ns, "b")
		Eventually(gadgets).Should(HaveLen(1))
		x := gadgets()[0]
		w := widget("mine", "", &x)
		Eventually(func() []string { return names(all.of("set-x")().Children) }).Should(Equal([]string{"mine"}))
		By("keeping it, although the cache does not show why")
		op.freeze("widgets")
		patch(ctx, w, func(w *Widget) { w.Annotations = map[string]string{keepNote: ""} })
		before := len(op.find("GET", "widgets"))
		patch(ctx, b, func(b *Bucket) { b.Annotations = map[string]string{dropNote: "now"} })
		Eventually(func() int { return len(op.find("GET", "widgets")) - before }).Should(BeNumerically(">", 1), func() string { return fmt.Sprintf("%+v %+v", op.failures(), all.of("set-x")()) })
		Expect(gadgets()).To(HaveLen(1))
		Expect(time.Now()).To(BeTemporally(">=", x.CreationTimestamp.Add(settling)), "nothing should be confirmed before it has settled")
		By("deleting it when nothing keeps it any more")
		patch(ctx, w, func(w *Widget) { w.Annotations = nil })
		op.thaw()
		Eventually(gadgets).Should(BeEmpty())
	})
})

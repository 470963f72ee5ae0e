// Command engine keeps a namespace as a Git repository says, with Argo CD's engine and its Lua runtime. Each line on
// standard input has it fetch the repository and synchronize; it writes what came of that, and each change of an
// object's health, as one line of JSON.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/cache"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	syncing "github.com/argoproj/argo-cd/gitops-engine/pkg/sync"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/tracing"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// What the repository holds is marked, as by Argo CD's tracking annotation: only that is ever pruned.
const mark = "gitops.compute-operator.dev/tracked"

// How long a synchronization may wait for the objects of a sync wave to become healthy.
const longest = 2 * time.Minute

// Between two looks at objects that are not healthy yet.
const pause = 300 * time.Millisecond

type synced struct {
	Revision  string     `json:"revision"`
	Resources []resource `json:"resources"`
	Error     string     `json:"error,omitempty"`
}

type resource struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

// printer writes one line at a time.
type printer struct {
	mutex sync.Mutex
	// The last health by kind and name.
	known map[string]resource
}

func (p *printer) write(name string, value any) {
	line, err := json.Marshal(map[string]any{name: value})
	if err != nil {
		panic(err)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	fmt.Println(string(line))
}

func (p *printer) health(now resource) {
	key := now.Kind + "/" + now.Name
	p.mutex.Lock()
	same := p.known[key] == now
	p.known[key] = now
	p.mutex.Unlock()
	if !same {
		p.write("health", now)
	}
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "of the cluster")
	namespace := flag.String("namespace", "", "to keep")
	repository := flag.String("repository", "", "URL of the Git repository")
	checkout := flag.String("checkout", "", "an empty directory")
	settings := flag.String("settings", "", "the data of Argo CD's ConfigMap, as a JSON file")
	flag.Parse()
	if err := run(*kubeconfig, *namespace, *repository, *checkout, *settings); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig, namespace, repository, checkout, settings string) error {
	ctx := context.Background()
	overrides, err := overridesOf(settings)
	if err != nil {
		return err
	}
	if _, err := git(ctx, ".", "clone", "--quiet", repository, checkout); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	clusterCache := cache.NewClusterCache(config,
		cache.SetNamespaces([]string{namespace}),
		cache.SetSettings(cache.Settings{ResourceHealthOverride: overrides, ResourcesFilter: everything{}}),
		cache.SetLogr(logr.Discard()),
		cache.SetPopulateResourceInfoHandler(func(object *unstructured.Unstructured, _ bool) (any, bool) {
			isTracked := object.GetAnnotations()[mark] != ""
			return isTracked, isTracked
		}),
	)
	out := &printer{known: map[string]resource{}}
	clusterCache.OnResourceUpdated(func(now, before *cache.Resource, _ map[kube.ResourceKey]*cache.Resource) {
		report(out, overrides, now, before)
	})
	if err := clusterCache.EnsureSynced(); err != nil {
		return fmt.Errorf("the engine does not start: %w", err)
	}
	kubectl := &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}
	k := keeper{config, clusterCache, overrides, kubectl, checkout, namespace}
	out.write("ready", true)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		out.write("synced", k.synchronize(ctx))
	}
	return nil
}

func report(out *printer, overrides health.HealthOverride, now, before *cache.Resource) {
	if now == nil {
		if before != nil && before.Resource != nil {
			out.health(resource{before.Ref.Kind, before.Ref.Name, string(health.HealthStatusMissing), ""})
		}
		return
	}
	if now.Resource == nil {
		return
	}
	judged, err := health.GetResourceHealth(now.Resource, overrides)
	switch {
	case err != nil:
		out.health(resource{now.Ref.Kind, now.Ref.Name, string(health.HealthStatusUnknown), err.Error()})
	case judged != nil:
		out.health(resource{now.Ref.Kind, now.Ref.Name, string(judged.Status), judged.Message})
	}
}

// keeper is what Argo CD's application controller does around the engine's packages.
type keeper struct {
	config    *rest.Config
	cache     cache.ClusterCache
	overrides health.HealthOverride
	kubectl   kube.Kubectl
	checkout  string
	namespace string
}

func (k keeper) synchronize(ctx context.Context) synced {
	objects, revision, err := wanted(ctx, k.checkout, k.namespace)
	if err != nil {
		return synced{Revision: revision, Error: err.Error()}
	}
	phase, message, results := common.OperationRunning, "", []common.ResourceSyncResult{}
	startedAt := metav1.Now()
	for began := time.Now(); !phase.Completed() && time.Since(began) < longest; time.Sleep(pause) {
		options := []syncing.SyncOpt{
			syncing.WithInitialState(phase, message, results, startedAt),
			syncing.WithPrune(true),
			syncing.WithHealthOverride(k.overrides),
			syncing.WithLogr(logr.Discard()),
		}
		if phase, message, results, err = k.step(objects, revision, options); err != nil {
			return synced{Revision: revision, Error: err.Error()}
		}
	}
	said := synced{Revision: revision, Resources: []resource{}}
	for _, result := range results {
		key := result.ResourceKey
		said.Resources = append(said.Resources, resource{key.Kind, key.Name, string(result.Status), result.Message})
	}
	if !phase.Successful() {
		said.Error = fmt.Sprintf("%s: %s", phase, message)
	}
	return said
}

// step goes on with a synchronization as far as it goes without waiting, from what the cluster is now.
func (k keeper) step(objects []*unstructured.Unstructured, revision string, options []syncing.SyncOpt) (common.OperationPhase, string, []common.ResourceSyncResult, error) {
	live, err := k.cache.GetManagedLiveObjs(objects, func(r *cache.Resource) bool { return r.Info == true })
	if err != nil {
		return common.OperationError, "", nil, fmt.Errorf("live objects: %w", err)
	}
	pairs := syncing.Reconcile(objects, live, k.namespace, k.cache)
	syncCtx, cleanup, err := syncing.NewSyncContext(revision, pairs, k.config, k.config, k.kubectl, k.namespace, options...)
	if err != nil {
		return common.OperationError, "", nil, fmt.Errorf("sync: %w", err)
	}
	defer cleanup()
	syncCtx.Sync()
	phase, message, results := syncCtx.GetState()
	return phase, message, results, nil
}

// wanted fetches the repository and reads its manifests.
func wanted(ctx context.Context, checkout, namespace string) ([]*unstructured.Unstructured, string, error) {
	for _, args := range [][]string{{"fetch", "--quiet"}, {"reset", "--quiet", "--hard", "@{upstream}"}} {
		if _, err := git(ctx, checkout, args...); err != nil {
			return nil, "", err
		}
	}
	revision, err := git(ctx, checkout, "rev-parse", "--short", "HEAD")
	if err != nil {
		return nil, "", err
	}
	files, err := filepath.Glob(filepath.Join(checkout, "*.yaml"))
	if err != nil {
		return nil, revision, err
	}
	objects := []*unstructured.Unstructured{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, revision, err
		}
		items, err := kube.SplitYAML(text)
		if err != nil {
			return nil, revision, fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		objects = append(objects, items...)
	}
	for _, object := range objects {
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[mark] = "true"
		// As Argo CD does with the namespace of an Application's destination.
		object.SetNamespace(namespace)
		object.SetAnnotations(annotations)
	}
	return objects, revision, nil
}

func git(ctx context.Context, directory string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = directory
	output, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, output)
	}
	return strings.TrimSpace(string(output)), nil
}

func overridesOf(file string) (lua.ResourceHealthOverrides, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	var settings map[string]string
	if err := json.Unmarshal(text, &settings); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	overrides := lua.ResourceHealthOverrides{}
	for name, script := range settings {
		if key, found := strings.CutPrefix(name, "resource.customizations.health."); found {
			overrides[strings.Replace(key, "_", "/", 1)] = v1alpha1.ResourceOverride{HealthLua: script}
		}
	}
	return overrides, nil
}

type everything struct{}

func (everything) IsExcludedResource(_, _, _ string) bool { return false }

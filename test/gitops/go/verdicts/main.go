// Command verdicts reads objects from standard input and writes what GitOps tools make of each: the kstatus library,
// Flux's copy of it, and Argo CD with the health scripts of its ConfigMap.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	flux "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type input struct {
	// The data of the ConfigMap argocd-cm.
	Settings map[string]string            `json:"settings"`
	Objects  []*unstructured.Unstructured `json:"objects"`
}

type verdict struct {
	Kstatus string               `json:"kstatus"`
	Flux    string               `json:"flux"`
	ArgoCD  *health.HealthStatus `json:"argocd"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var in input
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		return fmt.Errorf("the input cannot be read: %w", err)
	}
	overrides := lua.ResourceHealthOverrides(overridesOf(in.Settings))
	verdicts := []verdict{}
	for _, object := range in.Objects {
		one, err := judge(object, overrides)
		if err != nil {
			return err
		}
		verdicts = append(verdicts, one)
	}
	return json.NewEncoder(os.Stdout).Encode(verdicts)
}

func judge(object *unstructured.Unstructured, overrides lua.ResourceHealthOverrides) (verdict, error) {
	kstatus, err := status.Compute(object)
	if err != nil {
		return verdict{}, fmt.Errorf("kstatus: %w", err)
	}
	fluxStatus, err := flux.Compute(object)
	if err != nil {
		return verdict{}, fmt.Errorf("kstatus of Flux: %w", err)
	}
	argo, err := health.GetResourceHealth(object, overrides)
	if err != nil {
		return verdict{}, fmt.Errorf("Argo CD: %w", err)
	}
	return verdict{Kstatus: kstatus.Status.String(), Flux: fluxStatus.Status.String(), ArgoCD: argo}, nil
}

// overridesOf reads the settings as Argo CD does: resource.customizations.health.GROUP_KIND.
func overridesOf(settings map[string]string) map[string]v1alpha1.ResourceOverride {
	overrides := map[string]v1alpha1.ResourceOverride{}
	for name, script := range settings {
		if key, found := strings.CutPrefix(name, "resource.customizations.health."); found {
			overrides[strings.Replace(key, "_", "/", 1)] = v1alpha1.ResourceOverride{HealthLua: script}
		}
	}
	return overrides
}

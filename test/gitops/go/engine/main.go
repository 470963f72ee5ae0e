package main

import (
	_ "github.com/argoproj/argo-cd/gitops-engine/pkg/engine"
	_ "github.com/argoproj/argo-cd/gitops-engine/pkg/cache"
	_ "github.com/argoproj/argo-cd/gitops-engine/pkg/sync"
)

func main() {}

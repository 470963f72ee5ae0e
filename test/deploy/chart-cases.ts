/** A value of the chart set, and what it changes in what the chart renders. */
export interface ChartCase {
  /** Another value than the default. */
  readonly set: unknown;
  /** What must be set besides, as for Helm's --set-json. */
  readonly given?: readonly string[];
  /** Kind of the object, and its name if there are several. */
  readonly object: string;
  /** JSON pointer to what the value changes. */
  readonly at: string;
  /** What is there then; undefined: nothing, because the object is not rendered or lacks it. */
  readonly is: unknown;
}

const digest = `sha256:${"a".repeat(64)}`;
const pod = "/spec/template/spec";
const container = `${pod}/containers/0`;
const deployment = (at: string, set: unknown, is: unknown = set): ChartCase => ({ set, object: "Deployment", at, is });
const onPod = (field: string, set: unknown): ChartCase => deployment(`${pod}/${field}`, set);
const argument = (set: unknown, is: string): ChartCase => deployment(`${container}/args/1`, set, is);
const image = (set: unknown, is: string): ChartCase => deployment(`${container}/image`, set, is);
const gone = (object: string): ChartCase => ({ set: false, object, at: "/kind", is: undefined });
const monitored = (at: string, set: unknown, is: unknown = set): ChartCase => {
  return { set, given: ["serviceMonitor.enabled=true"], object: "ServiceMonitor", at, is };
};
const onDashboard = (at: string, set: unknown, is: unknown = set): ChartCase => {
  return { set, given: ["dashboards.enabled=true"], object: "ConfigMap", at: `/metadata/${at}`, is };
};

const policy = (name: string) => gone(`ValidatingAdmissionPolicy compute-operator-${name}`);
const team = { "example.com/team": "shop" };
const labelOf = "metadata/labels/example.com~1team";
const scratch = { name: "scratch", emptyDir: {} };
const mount = { name: "scratch", mountPath: "/scratch" };
const proxy = { name: "HTTPS_PROXY", value: "http://proxy:3128" };
const toleration = { key: "databases", operator: "Exists" };
const relabeling = { action: "labeldrop", regex: "pod" };
const zones = { maxSkew: 2, topologyKey: "topology.kubernetes.io/zone", whenUnsatisfiable: "DoNotSchedule" };
const pods = { "app.kubernetes.io/name": "compute-operator", "app.kubernetes.io/instance": "compute-operator" };
const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } };
const renamed = (object: string) => ({ object, at: "/metadata/name" });

/** One for each value of values.yaml: a test fails while one is missing. */
export const chartCases: Readonly<Record<string, ChartCase>> = {
  replicaCount: deployment("/spec/replicas", 3),
  "image.registry": image("registry.example.com", "registry.example.com/compute-operator:0.1.0"),
  "image.repository": image("ours/compute-operator", "ours/compute-operator:0.1.0"),
  "image.tag": image("9.9.9", "compute-operator:9.9.9"),
  "image.digest": image(digest, `compute-operator@${digest}`),
  "image.pullPolicy": deployment(`${container}/imagePullPolicy`, "Always"),
  imagePullSecrets: onPod("imagePullSecrets", [{ name: "registry" }]),
  nameOverride: { set: "cop", ...renamed("Deployment"), is: "compute-operator-cop" },
  fullnameOverride: { set: "cop", ...renamed("Deployment"), is: "cop" },
  commonLabels: deployment(`/spec/template/${labelOf}`, team, "shop"),
  "crds.enabled": gone("CustomResourceDefinition computes.compute-operator.dev"),
  "crds.keep": {
    set: false,
    object: "CustomResourceDefinition computes.compute-operator.dev",
    at: "/metadata/annotations",
    is: undefined,
  },
  "crds.install": gone("CustomResourceDefinition computes.compute-operator.dev"),
  namespaces: argument(["shop"], "--namespace=shop"),
  logLevel: argument("debug", "--log-level=debug"),
  "operator.selector": argument("team=shop", "--selector=team=shop"),
  "operator.allowedBaseURLs": argument(
    ["https://*.example.com/api/v2"],
    "--allowed-base-url=https://*.example.com/api/v2",
  ),
  "operator.logLevel": argument("debug", "--log-level=debug"),
  "operator.workers": argument(8, "--workers=8"),
  "operator.createSettle": argument("90s", "--create-settle=90s"),
  "operator.fleet": argument("prod", "--fleet=prod"),
  "operator.maxDeletesPerMinute": argument(5, "--max-deletes-per-minute=5"),
  "operator.maxBranchDeletesPerMinute": argument(7, "--max-branch-deletes-per-minute=7"),
  "operator.budgetShare": argument(0.5, "--budget-share=0.5"),
  "operator.extraArgs": argument(["--http-port=8081"], "--http-port=8081"),
  extraEnv: deployment(`${container}/env/2`, [proxy], proxy),
  extraVolumes: onPod("volumes", [scratch]),
  extraVolumeMounts: deployment(`${container}/volumeMounts`, [mount]),
  "leaderElection.enabled": { ...argument(false, "--no-leader-elect"), given: ["replicaCount=1"] },
  "leaderElection.leaseName": argument("mine", "--lease-name=mine"),
  "annotationPolicy.enabled": policy("annotations"),
  "accessLabelPolicy.enabled": policy("access-labels"),
  "deletionProtection.enabled": policy("deletion-protection"),
  "serviceAccount.create": gone("ServiceAccount"),
  "serviceAccount.name": { set: "robot", ...renamed("ServiceAccount"), is: "robot" },
  "serviceAccount.annotations": { set: team, object: "ServiceAccount", at: "/metadata/annotations", is: team },
  "rbac.create": gone("ClusterRole compute-operator"),
  "rbac.aggregate": gone("ClusterRole compute-operator-edit"),
  "rbac.secretsEverywhere": gone("ClusterRole compute-operator-secrets"),
  "metrics.namespaces": argument(["shop", "billing"], "--metrics-namespaces=shop,billing"),
  "metrics.service.enabled": gone("Service"),
  "metrics.service.annotations": { set: team, object: "Service", at: "/metadata/annotations", is: team },
  "metrics.service.ipFamilyPolicy": {
    set: "SingleStack",
    object: "Service",
    at: "/spec/ipFamilyPolicy",
    is: "SingleStack",
  },
  "serviceMonitor.enabled": { set: true, object: "ServiceMonitor", at: "/kind", is: "ServiceMonitor" },
  "serviceMonitor.namespace": monitored("/metadata/namespace", "monitoring"),
  "serviceMonitor.labels": monitored(`/${labelOf}`, team, "shop"),
  "serviceMonitor.interval": monitored("/spec/endpoints/0/interval", "15s"),
  "serviceMonitor.scrapeTimeout": monitored("/spec/endpoints/0/scrapeTimeout", "5s"),
  "serviceMonitor.relabelings": monitored("/spec/endpoints/0/relabelings", [relabeling]),
  "serviceMonitor.metricRelabelings": monitored("/spec/endpoints/0/metricRelabelings", [relabeling]),
  "prometheusRule.enabled": { set: true, object: "PrometheusRule", at: "/kind", is: "PrometheusRule" },
  "prometheusRule.labels": {
    set: team,
    given: ["prometheusRule.enabled=true"],
    object: "PrometheusRule",
    at: `/${labelOf}`,
    is: "shop",
  },
  "prometheusRule.runbookURL": {
    set: "https://runbooks.example.com/databases",
    given: ["prometheusRule.enabled=true"],
    object: "PrometheusRule",
    at: "/spec/groups/0/rules/0/annotations/runbook_url",
    is: "https://runbooks.example.com/databases#computeoperatordown",
  },
  "prometheusRule.disabled": {
    set: ["ComputeOperatorDown"],
    given: ["prometheusRule.enabled=true"],
    object: "PrometheusRule",
    at: "/spec/groups/0/rules/0/alert",
    is: "ComputeOperatorWithoutLeader",
  },
  "dashboards.enabled": { set: true, object: "ConfigMap", at: "/metadata/labels/grafana_dashboard", is: "1" },
  "dashboards.namespace": onDashboard("namespace", "monitoring"),
  "dashboards.labels": onDashboard("labels/example.com~1team", team, "shop"),
  "dashboards.annotations": onDashboard("annotations", { grafana_folder: "Postgres" }),
  "podDisruptionBudget.enabled": gone("PodDisruptionBudget"),
  "podDisruptionBudget.minAvailable": {
    set: "50%",
    object: "PodDisruptionBudget",
    at: "/spec/minAvailable",
    is: "50%",
  },
  "networkPolicy.enabled": gone("NetworkPolicy"),
  "networkPolicy.metricsNamespaceLabels": {
    set: team,
    object: "NetworkPolicy",
    at: "/spec/ingress/0/from/0/namespaceSelector/matchLabels/example.com~1team",
    is: "shop",
  },
  "networkPolicy.egressPorts": {
    set: [8443],
    object: "NetworkPolicy",
    at: "/spec/egress/1/ports",
    is: [{ port: 8443, protocol: "TCP" }],
  },
  "resources.requests": deployment(`${container}/resources/requests/cpu`, { cpu: "1" }, "1"),
  "resources.limits": deployment(`${container}/resources/limits/memory`, { memory: "1Gi" }, "1Gi"),
  podSecurityContext: deployment(`${pod}/securityContext/fsGroup`, { fsGroup: 1000 }, 1000),
  securityContext: deployment(`${container}/securityContext/runAsUser`, { runAsUser: 1000 }, 1000),
  terminationGracePeriodSeconds: onPod("terminationGracePeriodSeconds", 90),
  updateStrategy: deployment("/spec/strategy/rollingUpdate/maxSurge", { rollingUpdate: { maxSurge: 0 } }, 0),
  "probes.startup": deployment(`${container}/startupProbe/failureThreshold`, { failureThreshold: 90 }, 90),
  "probes.liveness": deployment(`${container}/livenessProbe/periodSeconds`, { periodSeconds: 60 }, 60),
  "probes.readiness": deployment(`${container}/readinessProbe/timeoutSeconds`, { timeoutSeconds: 9 }, 9),
  priorityClassName: onPod("priorityClassName", "system-cluster-critical"),
  deploymentAnnotations: deployment("/metadata/annotations/example.com~1team", team, "shop"),
  podAnnotations: deployment("/spec/template/metadata/annotations/example.com~1team", team, "shop"),
  podLabels: deployment(`/spec/template/${labelOf}`, team, "shop"),
  nodeSelector: onPod("nodeSelector", { disk: "fast" }),
  tolerations: onPod("tolerations", [toleration]),
  affinity: onPod("affinity", affinity),
  spreadOverNodes: deployment(`${pod}/topologySpreadConstraints/0/whenUnsatisfiable`, "DoNotSchedule"),
  topologySpreadConstraints: deployment(
    `${pod}/topologySpreadConstraints`,
    [zones],
    [{ ...zones, labelSelector: { matchLabels: pods } }],
  ),
};

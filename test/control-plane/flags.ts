import { installedOperator } from "./audit.ts";
import type { Credentials } from "./pki.ts";

/** etcd for throwaway data: one member, on loopback, without waiting for the disk. */
export function etcdFlags(dataDirectory: string, url: string): string[] {
  return [
    `--data-dir=${dataDirectory}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    "--listen-peer-urls=http://127.0.0.1:0",
    "--unsafe-no-fsync=true",
    "--logger=zap",
    "--log-level=warn",
  ];
}

/**
 * Writes only, each once, when its answer has been given; of the operator as it is installed its reads too, so that a
 * test can tell which of its rights it uses.
 */
export const auditPolicy = JSON.stringify({
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [
    { level: "Metadata", users: [installedOperator] },
    { level: "None", verbs: ["get", "list", "watch"] },
    { level: "Metadata", omitStages: ["ResponseStarted"] },
  ],
});

export interface ApiServerOptions {
  /** The address of etcd. */
  etcd: string;
  /** Loopback address that it listens on, `127.0.0.1` or `::1`; Services get addresses of both families, this first. */
  host: string;
  port: number;
  /** Where it may keep files of its own. */
  directory: string;
  credentials: Credentials;
  auditPolicyFile: string;
  auditLogFile: string;
}

export function apiServerFlags(options: ApiServerOptions): string[] {
  const { etcd, host, port, directory, credentials: files, auditPolicyFile, auditLogFile } = options;
  return [
    `--audit-policy-file=${auditPolicyFile}`,
    `--audit-log-path=${auditLogFile}`,
    `--bind-address=${host}`,
    `--advertise-address=${host}`,
    `--secure-port=${port}`,
    `--etcd-servers=${etcd}`,
    `--cert-dir=${directory}`,
    `--tls-cert-file=${files.servingCertFile}`,
    `--tls-private-key-file=${files.servingKeyFile}`,
    `--client-ca-file=${files.caFile}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${files.serviceAccountPublicKeyFile}`,
    `--service-account-signing-key-file=${files.serviceAccountKeyFile}`,
    `--service-cluster-ip-range=${host === "::1" ? "fd00::/112,10.0.0.0/24" : "10.0.0.0/24"}`,
    "--authorization-mode=RBAC",
    // With it, only users with the right to may block an owner's deletion: as on OpenShift and hardened clusters.
    "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
    // Nothing runs pods here, and a test may make one before its namespace has a service account.
    "--disable-admission-plugins=ServiceAccount",
    // Restarts in tests are not to wait for the old process's lease to run out.
    "--shutdown-delay-duration=0s",
    "--v=1",
  ];
}

/** Only the controllers that something here depends on. */
export function controllerManagerFlags(kubeconfig: string, files: Credentials): string[] {
  const controllers = [
    "resourcequota-controller",
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "horizontal-pod-autoscaler-controller",
    "clusterrole-aggregation-controller",
    "validatingadmissionpolicy-status-controller",
  ];
  return [
    `--kubeconfig=${kubeconfig}`,
    `--controllers=${controllers.join(",")}`,
    "--leader-elect=false",
    "--secure-port=0",
    `--service-account-private-key-file=${files.serviceAccountKeyFile}`,
    `--root-ca-file=${files.caFile}`,
    "--horizontal-pod-autoscaler-sync-period=2s",
    "--kube-api-qps=200",
    "--kube-api-burst=400",
    "--v=1",
  ];
}

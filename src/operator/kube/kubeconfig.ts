import { existsSync } from "node:fs";
import type { RequestOptions } from "node:https";
import { type Cluster, KubeConfig } from "@kubernetes/client-node";
import { proxyFor } from "../runtime/proxy.ts";

/** How to reach the API server and how to show who one is. */
export interface ClusterConnection {
  /** Base URL of the API server, without a trailing slash. */
  server: string;
  /** Through which proxy, if any. */
  proxy: string | undefined;
  /** The namespace that the kubeconfig's context or the pod names. */
  namespace: string | undefined;
  /** Whether this process runs in a pod of the cluster that it talks to. */
  inCluster: boolean;
  /** What to show now. Reads token files, runs exec plugins; may reject. */
  credentials(): Promise<ClusterCredentials>;
}

export interface ClusterCredentials {
  headers: Readonly<Record<string, string>>;
  tls: TlsSettings;
}

export interface TlsSettings {
  ca?: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
  /** The name to find in the server's certificate, where it is not the host's. */
  servername?: string | undefined;
  rejectUnauthorized?: boolean | undefined;
}

const inventedServer = "http://localhost:8080";
const anotherFile = ". Correct it, or name another file with --kubeconfig";
const tokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/**
 * Finds the API server: the file named, else the cluster whose pod this is, else what KUBECONFIG or `~/.kube/config`
 * name. Throws with what is missing where none of them will do.
 */
export function loadKubeConfig(options: {
  file?: string | undefined;
  /** The process's environment. */
  env: Readonly<Record<string, string | undefined>>;
}): ClusterConnection {
  const { file, env } = options;
  const config = new KubeConfig();
  const inCluster = file === undefined && env.KUBERNETES_SERVICE_HOST !== undefined && existsSync(tokenFile);
  const source = file ?? (inCluster ? "the pod's service account" : "KUBECONFIG or ~/.kube/config");
  try {
    if (file !== undefined) config.loadFromFile(file);
    else if (inCluster) config.loadFromCluster();
    else config.loadFromDefault();
  } catch (error) {
    throw new Error(`Cannot read the kubeconfig from ${source}: ${messageOf(error)}${inCluster ? "" : anotherFile}`, {
      cause: error,
    });
  }
  if (isMadeUp(config)) {
    throw new Error(
      "No cluster to talk to: this is no pod, KUBECONFIG is not set, and there is no ~/.kube/config. Name a kubeconfig with --kubeconfig",
    );
  }
  return connectionOf(config, { source, inCluster, env });
}

/** Where client-node finds nothing, it makes up a cluster at http://localhost:8080, which nobody meant. */
function isMadeUp(config: KubeConfig): boolean {
  return config.getCurrentContext() === "loaded-context" && config.getCurrentCluster()?.server === inventedServer;
}

function connectionOf(
  config: KubeConfig,
  about: { source: string; inCluster: boolean; env: Readonly<Record<string, string | undefined>> },
): ClusterConnection {
  const cluster = config.getCurrentCluster();
  if (cluster === null) {
    const context: string | undefined = config.getCurrentContext();
    const which =
      context === undefined ? "has no current context" : `names no cluster in its current context (${context})`;
    throw new Error(
      `The kubeconfig from ${about.source} ${which}: ` +
        "choose one with kubectl config use-context, or name another file with --kubeconfig",
    );
  }
  const server = serverOf(cluster, about.source);
  return {
    server,
    proxy: proxyFor(server, cluster.proxyUrl, about.env),
    namespace: config.getContextObject(config.getCurrentContext())?.namespace,
    inCluster: about.inCluster,
    credentials: () => credentialsOf(config),
  };
}

/** Without a trailing slash. Over plain HTTP only where the kubeconfig says that nothing is to be verified. */
function serverOf({ name, server, skipTLSVerify }: Cluster, source: string): string {
  const protocol = URL.canParse(server) ? new URL(server).protocol : "";
  if (protocol === "https:" || (protocol === "http:" && skipTLSVerify)) return server.replace(/\/+$/, "");
  const shown = JSON.stringify(server.replace(/\/\/[^/@]*@/, "//"));
  const plain =
    protocol === "http:" ? ". Plain HTTP, as of kubectl proxy, needs insecure-skip-tls-verify: true beside it" : "";
  throw new Error(
    `The kubeconfig from ${source} has ${shown} as the server of cluster ${JSON.stringify(name)}: ` +
      `it must be a URL that begins with https://, for example https://10.0.0.1:6443${plain}`,
  );
}

/** What client-node would hand to Node's https module, of which headers and TLS settings are taken and no more. */
async function credentialsOf(config: KubeConfig): Promise<ClusterCredentials> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) headers[name] = String(value).trim();
  if (typeof options.auth === "string") headers.Authorization = `Basic ${Buffer.from(options.auth).toString("base64")}`;
  return {
    headers,
    tls: {
      ca: pem(options.ca),
      cert: pem(options.cert),
      key: pem(options.key),
      servername: options.servername,
      rejectUnauthorized: options.rejectUnauthorized,
    },
  };
}

function pem(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return Buffer.isBuffer(value) ? value.toString("utf8") : undefined;
}

/** Without the lines of the file that js-yaml shows below what is wrong with them: keys stand there. */
function messageOf(error: unknown): string {
  const [first = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
  return first;
}

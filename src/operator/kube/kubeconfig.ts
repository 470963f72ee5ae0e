import { existsSync } from "node:fs";
import type { RequestOptions } from "node:https";
import { delimiter, join } from "node:path";
// Not the index, which loads every model and call of the Kubernetes API.
import { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import type { Cluster } from "@kubernetes/client-node/dist/config_types.js";
import { messageOf } from "../runtime/operational-error.ts";
import { proxyFor } from "../runtime/proxy.ts";

/** Address of the API server, and credentials for it. */
export interface ClusterConnection {
  /** Base URL of the API server, without a trailing slash. */
  server: string;
  /** The proxy, if any. */
  proxy: string | undefined;
  /** The namespace of the kubeconfig's context or of the pod. */
  namespace: string | undefined;
  /** True if this process runs in a pod of that cluster. */
  inCluster: boolean;
  /** The current credentials. Reads token files and runs exec plugins; may reject. */
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
  /** The name to expect in the server's certificate, if it differs from the host. */
  servername?: string | undefined;
  rejectUnauthorized?: boolean | undefined;
}

const inventedServer = "http://localhost:8080";
const anotherFile = ". Correct it, or name another file with --kubeconfig";
const tokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/**
 * Finds the API server: from the given file, else the cluster of this pod, else KUBECONFIG or `~/.kube/config`. Throws
 * an error that says what is missing.
 */
export function loadKubeConfig(options: {
  file?: string | undefined;
  /** Another context than the current one. */
  context?: string | undefined;
  /** The environment of the process. */
  env: Readonly<Record<string, string | undefined>>;
}): ClusterConnection {
  const { file, context, env } = options;
  const config = new KubeConfig();
  const inCluster = file === undefined && env.KUBERNETES_SERVICE_HOST !== undefined && existsSync(tokenFile);
  const source = file ?? (inCluster ? "the pod's service account" : "KUBECONFIG or ~/.kube/config");
  try {
    if (file !== undefined) config.loadFromFile(file);
    else if (inCluster) config.loadFromCluster();
    else loadUsual(config, env);
  } catch (error) {
    throw new Error(`Cannot read the kubeconfig from ${source}: ${firstLineOf(error)}${inCluster ? "" : anotherFile}`, {
      cause: error,
    });
  }
  if (isMadeUp(config)) {
    throw new Error(
      "No cluster to talk to: this is no pod, KUBECONFIG is not set, and there is no ~/.kube/config. Name a kubeconfig with --kubeconfig",
    );
  }
  if (context !== undefined) {
    const known = config.getContexts().map(({ name }) => name);
    if (!known.includes(context)) {
      throw new Error(
        `The kubeconfig from ${source} has no context ${JSON.stringify(context)}: it has ${known.toSorted().join(", ")}`,
      );
    }
    config.setCurrentContext(context);
  }
  return connectionOf(config, { source, inCluster, env });
}

/** True if kubectl would find a kubeconfig without being given one. */
export function hasKubeConfig({ KUBECONFIG = "", HOME }: Readonly<Record<string, string | undefined>>): boolean {
  return KUBECONFIG !== "" || (HOME !== undefined && existsSync(join(HOME, ".kube", "config")));
}

/** The files of KUBECONFIG as kubectl merges them: the first that names something counts, and one may be missing. */
function loadUsual(config: KubeConfig, { KUBECONFIG = "" }: Readonly<Record<string, string | undefined>>): void {
  const named = KUBECONFIG.split(delimiter).filter((file) => file !== "");
  const [first = named[0], ...others] = named.filter((file) => existsSync(file));
  if (first === undefined) {
    config.loadFromDefault();
    return;
  }
  config.loadFromFile(first);
  for (const file of others) {
    const more = new KubeConfig();
    more.loadFromFile(file);
    const isNew = ({ name }: { name: string }, known: readonly { name: string }[]) =>
      known.every((each) => each.name !== name);
    more.clusters = more.clusters.filter((each) => isNew(each, config.clusters));
    more.users = more.users.filter((each) => isNew(each, config.users));
    more.contexts = more.contexts.filter((each) => isNew(each, config.contexts));
    const current: string | undefined = config.currentContext;
    config.mergeConfig(more, current !== undefined && current !== "");
  }
}

/** Without a kubeconfig client-node assumes a cluster at http://localhost:8080, which nobody asked for. */
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

/** Without a trailing slash. Plain HTTP only if the kubeconfig turns verification off. */
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

/** Headers and TLS settings from the options that client-node makes for Node's https module. */
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

/** Without the lines of the file that js-yaml quotes, because they may contain keys. */
function firstLineOf(error: unknown): string {
  const [first = ""] = messageOf(error).split("\n");
  return first;
}

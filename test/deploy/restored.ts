import { readFileSync } from "node:fs";
import { z } from "zod";
import { type Endpoint, EndpointsAnswer } from "../../src/api/endpoint.ts";
import { HttpTransport } from "../../src/operator/kube/http-transport.ts";
import { loadKubeConfig } from "../../src/operator/kube/kubeconfig.ts";
import { goodKey } from "../e2e/manifests.ts";
import { Cluster, type Raw } from "../integration/support/cluster-admin.ts";
import { eventually } from "../support/eventually.ts";
import { realClock } from "../support/real-clock.ts";
import type { Installation } from "./installation.ts";

// Stores again what test/deploy/previous holds: see its README.md.

const directory = "test/deploy/previous";
const namespace = "shop";
export const project = "shiny-wind-028834";
/** The base URL that the objects of the fixture name. */
export const formerURL = "http://127.0.0.1:8090/api/v2";

export const previousCrds = `${directory}/crds`;

const stored = z.array(
  z.looseObject({
    apiVersion: z.string(),
    kind: z.enum(["Secret", "ServiceConnection", "Compute", "ComputePool"]),
    metadata: z.looseObject({ name: z.string(), uid: z.string(), generation: z.number().optional() }),
  }),
);

/** The endpoints of the fixture, as the service of then listed them. */
function formerEndpoints(): Endpoint[] {
  const list: unknown = JSON.parse(readFileSync(`${directory}/endpoints.json`, "utf8"));
  return EndpointsAnswer.parse({ endpoints: list }).endpoints;
}

/** What the service starts with: these branches, the first of them the default one, and these endpoints. */
export function seedWith(branches: readonly string[], endpoints: readonly object[]): string {
  const organization = { id: "org-shop", plan: "scale", members: [{ account: "acc-ana", role: "admin" }] };
  const named = branches.map((id, index) => ({ id, name: id, default: index === 0 }));
  return JSON.stringify({
    accounts: [{ id: "acc-ana", email: "ana@example.com", plan: "scale" }],
    organizations: [{ ...organization, apiKeys: [{ name: "ci", key: goodKey }] }],
    projects: [{ id: project, owner: "org-shop", branches: named, endpoints }],
  });
}

/** What the service starts with in the place of the former: the same endpoints, under the same ids. */
export function previousSeed(): string {
  const former = formerEndpoints();
  const branches = new Set(["br-main", ...former.map(({ branch_id }) => branch_id)]);
  const endpoints = former.map((endpoint) => ({
    id: endpoint.id,
    branchID: endpoint.branch_id,
    type: endpoint.type,
    name: endpoint.name,
    autoscaling_limit_min_cu: endpoint.autoscaling_limit_min_cu,
    autoscaling_limit_max_cu: endpoint.autoscaling_limit_max_cu,
    suspend_timeout_seconds: endpoint.suspend_timeout_seconds,
    settings: endpoint.settings,
    pooler_enabled: endpoint.pooler_enabled,
    pooler_mode: endpoint.pooler_mode,
    disabled: endpoint.disabled,
    passwordless_access: endpoint.passwordless_access,
  }));
  return seedWith([...branches], endpoints);
}

/**
 * Creates the fixture's objects with status, annotations, finalizers and owners. A new cluster gives new uids and
 * counts generations from the start: the old ones, also in the names of endpoints, are replaced by the new ones.
 */
export async function restore({ cluster: { kubeconfig }, counter, service }: Installation): Promise<void> {
  const connected = loadKubeConfig({ file: kubeconfig, env: {} });
  const transport = new HttpTransport({ connection: connected, clock: realClock, userAgent: "restore" });
  const cluster = new Cluster(transport);
  try {
    await nameDatabase(service.baseURL);
    await cluster.createNamespace(namespace);
    const text = readFileSync(`${directory}/objects.json`, "utf8").replaceAll(formerURL, counter.baseURL);
    const made = new Map<string, { uid: string; generation: number }>();
    for (const { metadata, status: _, ...object } of stored.parse(JSON.parse(text))) {
      const { name, uid } = metadata;
      const { metadata: now } = await cluster.create(object.kind, namespace, { ...object, metadata: { name } });
      made.set(uid, { uid: now.uid ?? "", generation: (now.generation ?? 0) - (metadata.generation ?? 0) });
    }
    const renewed = (old: string) => [...made].reduce((all, [uid, now]) => all.replaceAll(uid, now.uid), old);
    for (const [index, object] of stored.parse(JSON.parse(renewed(text))).entries()) {
      const { name, uid: _, generation: __, ...rest } = object.metadata;
      await cluster.modify(object.kind, namespace, name, ({ metadata }) => Object.assign(metadata, rest));
      if (object.status === undefined) continue;
      const status = countedFrom([...made.values()][index]?.generation ?? 0, object.status);
      const change = (one: Raw) => Object.assign(one, { status });
      await cluster.modify(object.kind, namespace, name, change, true);
    }
    for (const { id, name } of formerEndpoints()) {
      if (name === undefined) continue;
      const endpoint = { name: renewed(name) };
      await accepted(`${service.baseURL}/projects/${project}/endpoints/${id}`, { endpoint }, "PATCH");
    }
  } finally {
    await transport.close();
  }
}

/** The endpoints of the service, with all their fields. */
export function endpointsOf({ service }: Installation): Promise<Endpoint[]> {
  return service.endpoints(project);
}

/** A status in which generations are counted from elsewhere. */
function countedFrom(offset: number, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => countedFrom(offset, one));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => {
    const counts = /^(observed|applied)Generation$/.test(key) && typeof inner === "number" && inner > 0;
    return [key, counts ? inner + offset : countedFrom(offset, inner)];
  });
  return Object.fromEntries(entries);
}

/** What the connection Secret of the Compute `created` names. The service does one such thing after another. */
export async function nameDatabase(baseURL: string): Promise<void> {
  const branch = `${baseURL}/projects/${project}/branches/br-one`;
  await accepted(`${branch}/roles`, { role: { name: "app" } });
  await accepted(`${branch}/databases`, { database: { name: "shop", owner_name: "app" } });
}

async function accepted(url: string, body: object, method: "POST" | "PATCH" = "POST"): Promise<void> {
  const headers = { authorization: `Bearer ${goodKey}` };
  await eventually(`${url} to be accepted`, async () => {
    const answer = await fetch(url, { method, headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${method} ${url} is answered ${answer.status}: ${await answer.text()}`);
    return true;
  });
}

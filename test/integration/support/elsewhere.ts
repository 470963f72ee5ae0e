import { ClusterWorld, type ClusterWorldOptions, selected } from "./cluster-world.ts";

/** The label by which `apps` agrees to Secrets of `shop`. */
export const label = "secrets-from.compute-operator.dev/shop";
export const agreed = { [label]: "" };
export const details = { name: "shop-db", database: "neondb", role: "neondb_owner" };
export const elsewhere = { connectionSecret: { ...details, namespace: "apps" } };

const group = "/apis/compute-operator.dev/v1alpha1";
export const secretsOf = (namespace: string) => `/api/v1/namespaces/${namespace}/secrets`;

/** Namespaces `shop`, with a Compute whose Secret is to lie in `apps`, and `apps`, which bears these labels. */
export function worldOfApps(labels: Record<string, string> = agreed, options: ClusterWorldOptions = {}): ClusterWorld {
  const world = new ClusterWorld(options);
  world.namespace("shop", selected);
  world.namespace("apps", labels);
  world.declare("shop", "db", elsewhere);
  return world;
}

export function secretIn(world: ClusterWorld, namespace: string, name = "shop-db") {
  return world.find(`${secretsOf(namespace)}/${name}`);
}

/** Changes a Secret as a person does. */
export function changeSecret(world: ClusterWorld, namespace: string, change: (secret: Secret) => void): void {
  const secret = secretIn(world, namespace);
  change(secret);
  world.send("PUT", `${secretsOf(namespace)}/${secret.metadata.name}`, secret);
}

interface Secret {
  metadata: { labels: Record<string, string>; annotations: Record<string, string> };
  data: Record<string, string>;
}

/** Deletes the Compute, and waits until it is gone. */
export async function removed(world: ClusterWorld): Promise<void> {
  world.remove("shop", "db");
  await world.until("the end of shop/db", () => world.isGone("shop", "db"));
}

/** Takes the Compute away without its finalizer, as a cluster that is lost does, and declares it again. */
export function restored(world: ClusterWorld): void {
  const path = `${group}/namespaces/shop/computes/db`;
  const { metadata, spec } = world.find(path);
  const { endpointID } = world.compute("shop", "db").status;
  world.send("PUT", path, { ...world.find(path), metadata: { ...metadata, finalizers: [] } });
  world.remove("shop", "db");
  world.declare("shop", "db", { ...spec, adopt: { endpointID } });
}

/** Wipes the Compute's status, as a restore or a person does. */
export function wipeStatus(world: ClusterWorld): void {
  const path = `${group}/namespaces/shop/computes/db`;
  world.send("PUT", `${path}/status`, { ...world.find(path), status: {} });
}

/** Messages of the events with this reason about Computes of `shop`. */
export function told(world: ClusterWorld, reason: string): string[] {
  const events: { reason: string; message: string }[] = world.find("/api/v1/namespaces/shop/events").items;
  return events.filter((event) => event.reason === reason).map(({ message }) => message);
}

import { isJsonObject, type JsonObject, type KubeObject } from "./objects.ts";
import { refuse } from "./refusal.ts";
import { apiVersionOf, type Resource } from "./resources.ts";
import { selectorOf } from "./selectors.ts";
import type { Store } from "./store.ts";

/** Answers a list, whole or paged; `asOf` shows it as it stood at an earlier revision. */
export function list(
  store: Store,
  resource: Resource,
  namespace: string | undefined,
  query: Readonly<Record<string, string>>,
  asOf = store.revision,
): JsonObject {
  const from = query["continue"] ? readToken(query["continue"]) : undefined;
  const revision = from?.revision ?? asOf;
  if (from && revision < store.compacted) {
    throw refuse.expired(
      "The provided continue parameter is too old to display a consistent list result. You must start a new list without the continue parameter.",
    );
  }
  const all =
    revision === store.revision ? store.list(resource, namespace) : store.listAt(resource, namespace, revision);
  const matching = all.filter(selectorOf(resource, query));
  const rest = from ? matching.filter((object) => positionOf(object) > from.after) : matching;
  const limit = Number(query["limit"] ?? 0);
  const page = limit > 0 ? rest.slice(0, limit) : rest;
  const last = page.at(-1);
  const more = page.length < rest.length && last !== undefined;
  return {
    apiVersion: apiVersionOf(resource),
    kind: `${resource.kind}List`,
    metadata: {
      resourceVersion: String(revision),
      ...(resource.schema ? { continue: "" } : {}),
      ...(more ? { continue: writeToken(revision, last), remainingItemCount: rest.length - page.length } : {}),
    },
    items: resource.schema ? page : page.map(bare),
  };
}

/** Items of a list of a built-in kind do not say what they are. */
function bare(object: KubeObject): JsonObject {
  const item: JsonObject = { ...object };
  delete item["apiVersion"];
  delete item["kind"];
  return item;
}

function positionOf(object: KubeObject): string {
  return `${object.metadata.namespace ?? ""}/${object.metadata.name}`;
}

function writeToken(revision: number, last: KubeObject): string {
  return Buffer.from(JSON.stringify({ revision, after: positionOf(last) })).toString("base64url");
}

function readToken(token: string): { revision: number; after: string } {
  const read: unknown = JSON.parse(Buffer.from(token, "base64url").toString());
  if (!isJsonObject(read) || typeof read["revision"] !== "number" || typeof read["after"] !== "string") {
    throw refuse.bad("continue key is not valid");
  }
  return { revision: read["revision"], after: read["after"] };
}

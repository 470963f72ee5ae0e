import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { publicOperation } from "../../../src/service/http/public-api.ts";
import type { Route } from "../../../src/service/http/route.ts";
import { listen } from "../../../src/service/http/server.ts";
import { type RulesName, rules } from "../../../src/service/rules.ts";
import { bodyOf, requestLine } from "../keys/cells.ts";
import { keys, Shop } from "../support/shop.ts";

/** What a client needs to make one call of the public API so that it succeeds. */
export interface Call {
  operationId: string;
  method: string;
  /** As the shop has it, without the query. */
  path: string;
  /** By the public API's names. */
  params: Readonly<Record<string, string>>;
  query: Readonly<Record<string, string>>;
  body: unknown;
}

/** Serves a new shop over HTTP, with what the call of a route needs; ends both after `use`. */
export async function withShop<T>(
  route: Route,
  name: RulesName,
  use: (baseURL: string, call: Call) => Promise<T>,
): Promise<T> {
  const shop = new Shop({
    rules: rules[name],
    branchRecovery: true,
    rateLimits: { perMinute: 1e6, perSecondAndRoute: 1e6 },
  });
  const call = callOf(shop, route);
  const listening = await listen(shop.core, { host: "127.0.0.1", port: 0 });
  try {
    return await use(`http://127.0.0.1:${listening.port}/api/v2`, call);
  } finally {
    await listening.close();
    shop.core.close();
  }
}

function callOf(shop: Shop, route: Route): Call {
  const caller = "personal (administrator)";
  const target = new URL(requestLine(shop, route, caller, "own").split(" ")[1] ?? "", "http://service");
  shop.finishOperations();
  const names = (publicOperation(route.operationId)?.path ?? "").split("/");
  const values = target.pathname.split("/");
  const params = names.flatMap((name, index) =>
    name.startsWith("{") ? [[name.slice(1, -1), decodeURIComponent(values[index] ?? "")]] : [],
  );
  return {
    operationId: route.operationId,
    method: route.method,
    path: target.pathname,
    params: Object.fromEntries(params),
    query: {
      ...Object.fromEntries(target.searchParams),
      ...(route.operationId === "listProjects" && { org_id: "org-shop" }),
    },
    body: bodyOf(route, caller, "own"),
  };
}

export const apiKey = keys.ana;

const declarations = createRequire(import.meta.url).resolve("@neondatabase/api-client/dist/api.gen.d.ts");

/** The arguments that each method of the API client declares, as written: `projectId: string`, `data: …`. */
export function declaredArguments(): ReadonlyMap<string, readonly string[]> {
  const text = readFileSync(declarations, "utf8");
  return new Map(
    [...text.matchAll(/^ {4}(\w+): \((.*?)\) => Promise</gm)].map(([, name = "", list = ""]) => [
      name,
      list.match(/\{[^}]*\}: \w+|\w+\??: [^,]+/g)?.filter((argument) => !argument.startsWith("params")) ?? [],
    ]),
  );
}

/** The values for the arguments that a method declares. */
export function argumentsFor(declared: readonly string[], call: Call): unknown[] {
  const byCamelName = new Map(Object.entries(call.params).map(([name, value]) => [camel(name), value]));
  return declared.map((argument) => {
    if (argument.startsWith("{")) return { ...Object.fromEntries(byCamelName), ...call.query };
    const name = argument.split(/\??:/)[0] ?? "";
    if (name === "data") return call.body;
    if (name === "query") return call.query;
    return byCamelName.get(name);
  });
}

function camel(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

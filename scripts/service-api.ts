import { z } from "zod";
import { nothing } from "../src/service/http/check.ts";
import type { PublicOperation } from "../src/service/http/public-operation.ts";
import { publicOperations } from "../src/service/http/public-operations.ts";
import type { Route } from "../src/service/http/route.ts";
import { apiRoutes } from "../src/service/http/routes.ts";
import { keysDocument } from "../test/service/keys/document.ts";
import { markdownTable } from "../test/service/support/markdown.ts";
import { plainRow } from "./plain-row.ts";

const Schema = z.looseObject({
  properties: z.record(z.string(), z.unknown()).optional(),
  items: z.unknown().optional(),
  allOf: z.array(z.unknown()).optional(),
  "x-kept-only": z.boolean().optional(),
});

/** docs/service-api.md: every operation of the public API, what the service makes of it, and who may call it. */
export function serviceApiDocument(): string {
  const routes = new Map(apiRoutes({ strictSpec: false }).map((route) => [route.operationId, route]));
  const served = publicOperations.filter(({ operationId }) => routes.has(operationId));
  const others = publicOperations.filter(({ operationId }) => !routes.has(operationId));
  const rows = served.flatMap((operation) => {
    const route = routes.get(operation.operationId);
    return route ? [servedRow(operation, route)] : [];
  });
  const page = `# The calls of the public API

You want to know whether the service answers a call of the public API, and [which key](#which-key-may-call-what) may make it.
${served.length} of the ${publicOperations.length} operations are served. A field that the public API has is accepted in each. Those in the second column are
stored at most, and change nothing. Any other field is refused by its name. Written by \`npm run generate\`.

## Served

${markdownTable(["call", "accepted, but not acted on"], rows)}

## Not served

These are answered 501 with the name of the operation.

${others.map(({ operationId }) => `\`${operationId}\``).join(", ")}.

${keysDocument()}`;
  return page.replaceAll(/^.*$/gm, plainRow);
}

function servedRow(operation: PublicOperation, route: Route): string[] {
  const ours = route.body === nothing ? undefined : z.toJSONSchema(route.body, { io: "input", reused: "inline" });
  const fields = operation.body ? leftAside(operation.body, ours, "") : [];
  const parameters = (operation.query ?? []).filter((name) => !known(route.query).includes(name));
  return [
    `\`${operation.method} ${operation.path}\``,
    [...fields, ...parameters.map((name) => `?${name}`)].map((name) => `\`${name}\``).join(", "),
  ];
}

function known(query: z.ZodType): string[] {
  if (query === nothing) return [];
  return Object.keys(Schema.parse(z.toJSONSchema(query, { io: "input" })).properties ?? {});
}

/** The fields of a body that the service does not act on; of an object that it leaves aside, only the name. */
function leftAside(theirs: unknown, ours: unknown, path: string): string[] {
  if (ours === undefined) return [path];
  const schema = Schema.parse(theirs);
  const handled = Schema.parse(ours);
  if (handled["x-kept-only"] === true || handled.allOf?.some((part) => Schema.parse(part)["x-kept-only"] === true)) {
    return [path];
  }
  if (schema.items !== undefined) return leftAside(schema.items, handled.items, `${path}[]`);
  const dot = path === "" ? "" : `${path}.`;
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
    leftAside(field, handled.properties?.[name], `${dot}${name}`),
  );
}

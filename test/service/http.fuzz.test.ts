import { Ajv, type ValidateFunction } from "ajv";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { z } from "zod";
import { ErrorBody } from "../../src/api/error.ts";
import { nothing } from "../../src/service/http/check.ts";
import { publicOperation } from "../../src/service/http/public-api.ts";
import { bodyWith, bombs, fieldsIn } from "./fuzz/bombs.ts";
import { brokenInvariants } from "./fuzz/invariants.ts";
import { type Fuzzed, requestsFor } from "./fuzz/requests.ts";
import { cpuOf, limit, parseZeros } from "./fuzz/work.ts";
import { keys, main, primary, project, Shop } from "./support/shop.ts";

const runs = 100;
const requestsPerRun = 40;
/** Far more time of this thread than any call may take; what takes longer hangs. In microseconds. */
const tooLong = 1_000_000;

const rateLimits = { perMinute: 1e6, perSecondAndRoute: 1e6 };
const document: unknown = JSON.parse(
  new Shop().core.call({ method: "GET", path: "/api/v2/openapi.json" }).body ?? "null",
);
const ajv = new Ajv({ strict: false, formats: {} });
ajv.addSchema({ $id: "served", ...z.looseObject({}).parse(document) });

/** Everything that is in the store, but for when keys were last used. */
function contents({ database }: Shop): string {
  const tables = [
    "accounts",
    "organizations",
    "members",
    "projects",
    "branches",
    "endpoints",
    "operations",
    "connections",
    "roles",
    "databases",
  ];
  const rows = tables.map((table) => database.all(`SELECT * FROM ${table}`));
  const apiKeys = database.all(
    "SELECT id, kind, name, account_id, organization_id, project_id, revoked_at FROM api_keys",
  );
  return JSON.stringify([...rows, apiKeys]);
}

/** What is wrong with the answer to a request. */
function problems(shop: Shop, { call, route, afterMs }: Fuzzed, succeeded: Set<string>): string[] {
  shop.time.pass(afterMs);
  shop.core.settle();
  const before = contents(shop);
  const began = process.threadCpuUsage();
  const { status, body } = shop.core.call(call);
  const found: string[] = [];
  const { user, system } = process.threadCpuUsage(began);
  if (user + system > tooLong) found.push("took too long");
  if (status >= 500) found.push(`answered ${status}: ${shop.errors.map(String).join()}`);
  if (status >= 400) {
    if (contents(shop) !== before) found.push(`was refused with ${status}, but changed something`);
    if (!ErrorBody.safeParse(JSON.parse(body ?? "null")).success) found.push(`${status} without the error body`);
  } else {
    if (route !== "") {
      succeeded.add(route);
      found.push(...unlikeDocument(route, status, body));
    }
    if (call.method === "GET" && contents(shop) !== before) found.push("is a read, but changed something");
  }
  found.push(...brokenInvariants(shop.database).map((what) => `left ${what}`));
  return found.map((problem) => `${route} ${problem}: ${JSON.stringify(call)}`);
}

/** How a good answer differs from what the document says of it. */
function unlikeDocument(route: string, status: number, body: string | undefined): string[] {
  const validate = validatorOf(route, status, body !== undefined);
  if (!validate) return [`answered ${status}, which the document does not know`];
  if (body === undefined || validate(JSON.parse(body))) return [];
  return [`answered ${status} unlike the document: ${ajv.errorsText(validate.errors)}`];
}

const validators = new Map<string, ValidateFunction | undefined>();

function validatorOf(route: string, status: number, hasBody: boolean): ValidateFunction | undefined {
  const [method = "", path = ""] = route.split(" ");
  const content = hasBody ? "/content/application~1json/schema" : "";
  const pointer = `served#/paths/${path.replaceAll("/", "~1")}/${method.toLowerCase()}/responses/${status}${content}`;
  if (!validators.has(pointer)) validators.set(pointer, ajv.getSchema(pointer));
  return validators.get(pointer);
}

it(`${runs * requestsPerRun} requests made from the OpenAPI find no 5xx, no hang, and no change by a refused one`, () => {
  const succeeded = new Set<string>();
  fc.assert(
    fc.property(
      fc.array(requestsFor(document), { minLength: requestsPerRun, maxLength: requestsPerRun }),
      (requests) => {
        const shop = new Shop({ rateLimits, branchRecovery: true });
        for (const request of requests) {
          expect(problems(shop, request, succeeded)).toEqual([]);
        }
      },
    ),
    { numRuns: runs, seed: 5 },
  );
  // Requests that never get past the first check would prove little: all but those by ids that nobody can guess do.
  const never = new Shop().core.routes
    .map(({ method, path }) => `${method} ${path}`)
    .filter((route) => !succeeded.has(route));
  expect(never.filter((route) => !/\{(operation_id|member_id)\}/.test(route))).toEqual([]);
}, 120_000);

/** Every call that takes a body, with the fields that the document and the public API know in it. */
function callsWithBody(): { method: string; path: string; fields: (readonly string[])[] }[] {
  const routes = new Shop().core.routes.flatMap(({ method, path, operationId, body }) => {
    if (body === nothing) return [];
    const schemas = [z.toJSONSchema(body, { unrepresentable: "any", io: "input" }), publicOperation(operationId)?.body];
    const fields = schemas.flatMap((schema) => fieldsIn(schema ?? {}));
    const unique = new Map(fields.map((field) => [field.join("."), field]));
    return [{ method, path: `/api/v2${path}`, fields: [...unique.values()] }];
  });
  return [
    ...routes,
    { method: "PUT", path: "/_faults", fields: [[], ["route"]] },
    { method: "POST", path: "/_clock/advance", fields: [[], ["seconds"]] },
    { method: "PUT", path: "/_admin/organizations/{org_id}/members/acc-bob", fields: [[], ["role"]] },
    { method: "PUT", path: "/_admin/projects/{project_id}/owner", fields: [[], ["owner"]] },
  ];
}

const known: Readonly<Record<string, string>> = {
  org_id: "org-shop",
  project_id: project,
  branch_id: main,
  endpoint_id: primary,
  database_name: "neondb",
};

/**
 * The times by which a call takes longer than parsing a megabyte of zeros, where it always does by more than the
 * limit. A collection of garbage or a busy neighbour may fall into a run, so one run within the limit is enough; both
 * are measured beside each other, since a machine may be slower than it was.
 */
function timesTooLong(act: () => void, firstReference: number): number | undefined {
  let least = cpuOf(act) / firstReference;
  for (let run = 1; run < 10 && least > limit; run += 1) least = Math.min(least, cpuOf(act) / cpuOf(parseZeros, 8));
  return least > limit ? least : undefined;
}

it("no body holds the loop, in any field of any route: parsing one megabyte of zeros takes longer than most", () => {
  const shop = new Shop({ rateLimits, faults: true, testControls: { applySeed: () => {}, advance: () => {} } });
  const reference = cpuOf(parseZeros, 32);
  const held: string[] = [];
  for (const { method, path, fields } of callsWithBody()) {
    for (const field of fields) {
      for (const [name, bomb] of Object.entries(bombs)) {
        const call = {
          method,
          path: path.replaceAll(/\{([a-z_]+)\}/g, (_, parameter: string) => known[parameter] ?? "none"),
          headers: { authorization: `Bearer ${keys.ana}` },
          body: bodyWith(field, bomb),
        };
        let status = 0;
        const times = timesTooLong(() => {
          ({ status } = shop.core.call(call));
        }, reference);
        const what = `${method} ${path} ${field.join(".")}, ${name}`;
        if (status >= 500) held.push(`${what}: ${status}`);
        if (times) held.push(`${what}: ${times.toFixed(1)} times the reference`);
      }
    }
  }
  expect(held).toEqual([]);
});

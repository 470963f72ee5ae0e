import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { parse } from "yaml";
import type { Endpoint } from "../../../src/api/endpoint.ts";
import { type ComputeStatus, parseCompute } from "../../../src/operator/resources/compute.ts";
import { secondsOf } from "../../../src/operator/resources/duration.ts";
import { fieldFacts, valueAt } from "../../support/compute-fields.ts";
import type { Raw } from "./cluster-admin.ts";
import { manifest } from "./manifests.ts";

/** A node of the CRD's schema, as far as specs are made from it. */
interface Schema {
  type: string;
  enum?: unknown[];
  pattern?: string;
  maxLength?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema;
}

export type Spec = Record<string, unknown>;

/** Two specs of one Compute: what can never change is the same in both. */
export interface Pair {
  from: Spec;
  to: Spec;
}

/** Fields whose values have to make sense to the service, or have tests of their own. `undefined`: left out. */
function chosen(index: number, type: unknown): Record<string, fc.Arbitrary<unknown> | undefined> {
  const name = `details-${index}`;
  const database = { database: "neondb", role: "neondb_owner" };
  return {
    "spec.projectID": fc.constant("shop"),
    "spec.connectionRef": fc.constant({ name: "default" }),
    "spec.branchID": fc.constantFrom(...branchesOf(index)),
    // Branches are called by their ids.
    "spec.branchName": fc.constantFrom(...branchesOf(index)),
    "spec.type": fc.constant(type),
    // Where there is no primary yet, one is made.
    "spec.adopt": type === "read_write" ? fc.constant({ branchPrimary: true }) : undefined,
    "spec.connectionSecret": fc.constantFrom({ name }, { name: `${name}-too` }, { name, ...database }),
    "spec.schedule": undefined,
    "spec.disruption": undefined,
    "spec.managementPolicy": undefined,
    "spec.pooler.mode": fc.constant("transaction"),
    "spec.scaleToZero.after": fc.constantFrom("60s", "5m", "300s", "1h30m", "168h"),
  };
}

/** `count` pairs of valid specs, made from the CRD's own schema; each Compute has two branches of its own. */
export function specPairs(count: number, seed: number): Pair[] {
  const { spec } = schemaOf();
  return Array.from({ length: count }, (_, index) => {
    const type = index % 3 === 0 ? "read_only" : "read_write";
    const fixed = chosen(index, type);
    const valid = arbitraryOf(spec, "spec", fixed).filter(
      (made) => placeIn(asSpec(made)) !== undefined && parseCompute(whole(made)).ok,
    );
    const [from, to] = fc.sample(valid, { numRuns: 2, seed: seed + index });
    return { from: asSpec(from), to: asSpec(to) };
  });
}

/** The two branches between which the Compute of this number may move. */
export function branchesOf(index: number): string[] {
  return [`br-${index}-a`, `br-${index}-b`];
}

function schemaOf(): { spec: Schema } {
  const crd = parse(readFileSync(new URL("../../../crds/computes.yaml", import.meta.url), "utf8"));
  return crd.spec.versions[0].schema.openAPIV3Schema.properties;
}

function arbitraryOf(schema: Schema, path: string, fixed: ReturnType<typeof chosen>): fc.Arbitrary<unknown> {
  const own = fixed[path];
  if (own !== undefined) return own;
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  switch (schema.type) {
    case "boolean":
      return fc.boolean();
    case "string":
      return fc.stringMatching(new RegExp(schema.pattern ?? "^[a-zA-Z0-9]{1,20}$")).filter(({ length }) => length < 60);
    case "object":
      break;
    default:
      throw new Error(`no values are known for ${path}, of type ${schema.type}`);
  }
  if (schema.additionalProperties !== undefined) {
    // The service checks the values of those that it knows.
    const name = fc.constantFrom("one_setting", "another_setting", "third_setting");
    return fc.dictionary(name, arbitraryOf(schema.additionalProperties, `${path}.*`, fixed));
  }
  const members = Object.entries(schema.properties ?? {}).filter(([name]) => {
    const at = `${path}.${name}`;
    return !(at in fixed) || fixed[at] !== undefined;
  });
  const model = Object.fromEntries(
    members.map(([name, member]) => [name, arbitraryOf(member, `${path}.${name}`, fixed)]),
  );
  const always = Object.keys(model).filter((name) => schema.required?.includes(name) === true || name === "type");
  return fc.record(model, { requiredKeys: always });
}

/** The branch of a spec, by its id or its name. */
function placeIn(spec: Spec): unknown {
  return spec["branchID"] ?? spec["branchName"];
}

function whole(spec: unknown): unknown {
  return { ...manifest("db", asSpec(spec)), metadata: { name: "db", uid: "u", resourceVersion: "1" } };
}

function asSpec(made: unknown): Spec {
  return JSON.parse(JSON.stringify(made));
}

/** The fields in which an endpoint is not what the spec says; read by the test's own understanding of both. */
export function notMet(spec: Spec, endpoint: Endpoint): string[] {
  const part = (name: string): Spec => asSpec(spec[name] ?? {});
  const zero = part("scaleToZero");
  const timeout = endpoint.suspend_timeout_seconds === 0 ? 300 : endpoint.suspend_timeout_seconds;
  const after = typeof zero["after"] === "string" ? secondsOf(zero["after"]) : undefined;
  const wanted: [string, unknown, unknown][] = [
    ["branch", placeIn(spec), endpoint.branch_id],
    ["type", spec["type"], endpoint.type],
    ...fieldFacts.map(({ spec: path, wire }): [string, unknown, unknown] => [
      path,
      valueAt(spec, path),
      endpoint[wire],
    ]),
    ["scaleToZero.enabled", zero["enabled"], timeout !== -1],
    ["scaleToZero.after", after, timeout],
    ...Object.entries(part("postgresSettings")).map(([name, value]): [string, unknown, unknown] => [
      `postgresSettings.${name}`,
      value,
      endpoint.settings?.pg_settings?.[name],
    ]),
  ];
  return wanted.filter(([, ours, theirs]) => ours !== undefined && ours !== theirs).map(([field]) => field);
}

/** The name of the connection Secret that a spec asks for, and the names in the URIs that it is to hold. */
export function secretWanted(spec: Spec): { name: unknown; paths: string[] } | undefined {
  if (spec["connectionSecret"] === undefined) return undefined;
  const { name, database } = asSpec(spec["connectionSecret"]);
  return { name, paths: typeof database === "string" ? [`/${database}`, `/${database}`] : [] };
}

/** The same of a Secret that was written, checked against the hosts of its Compute. */
export function secretFound(
  { metadata, data = {} }: Raw,
  { host, poolerHost }: ComputeStatus,
): { name: string; paths: string[] } {
  const text = (key: string) => Buffer.from(data[key] ?? "", "base64").toString();
  const uris = ["uri", "pooled-uri"]
    .map(text)
    .filter((uri) => uri !== "")
    .map((uri) => new URL(uri));
  const hosts = [text("host"), text("pooled-host"), ...uris.map(({ hostname }) => hostname)];
  const expected = [host, poolerHost];
  if (hosts.some((one, index) => one !== expected[index % 2]))
    throw new Error(`${metadata.name} holds ${hosts.join(", ")}`);
  return { name: metadata.name, paths: uris.map(({ pathname }) => pathname) };
}

import { expect, test } from "vitest";
import type { Endpoint } from "../../../src/api/endpoint.ts";
import { ClaimIndex } from "../../../src/operator/claims/claim-index.ts";
import type { Claimants } from "../../../src/operator/claims/claims.ts";
import { EndpointIndex, type Link } from "../../../src/operator/claims/ownership.ts";
import { guard } from "../../../src/operator/compute/guard.ts";
import type { Parts } from "../../../src/operator/compute/kind.ts";
import type { Observation } from "../../../src/operator/compute/observe/observation.ts";
import type { PlanRule } from "../../../src/operator/compute/plan/action.ts";
import { parts } from "../../../src/operator/compute/steps.ts";
import type { PasswordRecord } from "../../../src/operator/connection-secret/rotation.ts";
import type { Stop } from "../../../src/operator/life/guard.ts";
import type { Compute } from "../../../src/operator/resources/compute.ts";
import { annotations, finalizers } from "../../../src/operator/resources/names.ts";
import { fleetOf, keyOf } from "../../../src/operator/resources/signature.ts";
import { type ComputeFields, compute, endpoint, uidOf } from "../../support/builders.ts";
import { setUp } from "./reconciling.ts";

export type World = Awaited<ReturnType<typeof setUp>>;

export interface PlantedBug {
  plan: Parts["plan"];
  /** Of the guard, as the metric shows it. */
  rule: string;
  /** What is sent without the guard. */
  sends: string;
  metadata?: object;
  annotations?: Partial<Record<keyof typeof annotations, string>>;
  spec?: object;
  /** What the status holds besides. */
  status?: (uid: string) => object;
  endpoints?: (self: Compute) => Endpoint[];
  others?: Compute[];
  isDeleted?: boolean;
  /** Of the connection Secret, by the cache, and where the API server has another one. */
  secret?: PasswordRecord;
  believed?: PasswordRecord;
}

export const fleet = fleetOf("production");
export const stranger = uidOf("z");

export const stolen = `k8s-${stranger}`;
export const grown = { computeUnits: { min: 2, max: 2 } };
export const small = { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 1 };

/** Another Compute of the cluster, older, in another namespace. */
export function older(fields: ComputeFields = {}): Compute {
  return compute({ uid: uidOf("b"), name: "other", namespace: "others", created: "2020-01-01T00:00:00Z", ...fields });
}

/** Older, and proved to have made `ep-one`, which shows no name. */
export const maker = older({
  linked: "ep-one",
  status: { proof: { uid: uidOf("b"), endpointID: "ep-one", by: "created" } },
});

export const proved = (by: string) => (uid: string) => ({
  endpointID: "ep-one",
  proof: { uid, endpointID: "ep-one", by },
});

/** Nobody has a claim. */
export const nobody: Claimants = {
  byUID: () => undefined,
  onBranch: () => [],
  onEndpoint: () => [],
  firstOn: () => undefined,
  inProject: () => [],
};

export function asked(rule: PlanRule, seen: (o: Observation) => Observation = (o) => o): Parts["plan"] {
  return (o, s) => (o.kind === "observed" ? rule(seen(o), s) : undefined) ?? parts.plan(o, s);
}

export function linkedBy(proof: Link["proof"], id = "ep-one") {
  return (o: Observation): Observation => {
    const found = o.endpoints.byID(id);
    return found === undefined ? o : { ...o, links: { ...o.links, link: { endpoint: found, proof } } };
  };
}

export const unclaimed = (o: Observation): Observation => ({ ...o, claimants: nobody });
export const unlinked = (o: Observation): Observation => ({
  ...o,
  links: { link: undefined, missing: undefined, duplicates: [], replacements: [] },
});
export const without = (hidden: string) => (o: Observation) => ({
  ...o,
  endpoints: new EndpointIndex(o.endpoints.all.filter(({ id }) => id !== hidden)),
});
export const declaring =
  (spec: Partial<Compute["spec"]>) =>
  (o: Observation): Observation => ({ ...o, compute: { ...o.compute, spec: { ...o.compute.spec, ...spec } } });
export const withStatus =
  (status: Compute["status"]) =>
  (o: Observation): Observation => ({ ...o, compute: { ...o.compute, status } });
export const unproved = (o: Observation): Observation => withStatus({ ...o.compute.status, proof: undefined })(o);

export const linked = { annotations: { endpointID: "ep-one" } };
export const former = (self: Compute, fields: Partial<Endpoint> = {}) =>
  endpoint({ id: "ep-former", name: `k8s-${fleet}-${keyOf(self)}-${stranger.replaceAll("-", "")}`, ...fields });
export const takesOver = { spec: { adopt: { former: true } }, sends: "PATCH ep-former" };
export const deletes = { isDeleted: true, sends: "DELETE ep-one", ...linked };
export const rotates = {
  annotations: { endpointID: "ep-one", passwordRotationAt: "now" },
  spec: { connectionSecret: { name: "shop-db", database: "shop", roles: ["app_a", "app_b"] } },
  sends: "POST branches/br-main/roles/app_b/reset_password",
  secret: { role: "app_a", rotatedAt: 0, handled: undefined },
};
export const ready = {
  conditions: [
    { type: "Ready", status: "True", reason: "Active", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
  ],
};

/** A connection Secret that stands, with this record by the cache; the API server has the other. */
export function secretsWith(record: PasswordRecord, believed = record) {
  return {
    keep: () => Promise.resolve({ kind: "none" } as const),
    standing: () => undefined,
    ownerless: () => [],
    remove: () => Promise.resolve([]),
    leftBehind: () => [],
    readingDueAt: () => undefined,
    forget: () => {},
    noteReset: async () => {},
    readSoon: () => {},
    readNow: () => {},
    recorded: () => record,
    recordedNow: () => Promise.resolve(believed),
  };
}

/** A Compute in this world, reconciled by the real step with the bug in its plan. */
export async function played(bug: PlantedBug, isGuarded: boolean): Promise<World & { stops: Stop[] }> {
  const stops: Stop[] = [];
  const index = new ClaimIndex({ serviceOf: () => "https://service.example.com/api/v2", isOutsider: () => false });
  for (const other of bug.others ?? []) index.set(other);
  const noted = Object.entries(bug.annotations ?? {}).map(([short, value]) => {
    const found = Object.entries(annotations).find(([name]) => name === short);
    return [found?.[1] ?? "", value];
  });
  const metadata = {
    annotations: Object.fromEntries(noted),
    ...(bug.isDeleted === true ? { finalizers: [finalizers.endpoint] } : {}),
    ...bug.metadata,
  };
  const options = {
    parts: { ...parts, plan: bug.plan, guard: isGuarded ? guard : () => undefined },
    claims: { claimantsOf: (one: Compute) => index.claimantsOf(one) },
    fleet,
    onStop: (stop: Stop) => stops.push(stop),
    ...(bug.secret === undefined ? {} : { secrets: secretsWith(bug.secret, bug.believed) }),
  };
  const world = await setUp({ metadata, spec: bug.spec ?? {} }, options);
  const self = world.self();
  if (self === undefined) throw new Error("no Compute");
  for (const one of bug.endpoints?.(self) ?? []) world.reach.endpoints.set(one.id, one);
  const status = {
    observedGeneration: 1,
    appliedGeneration: 0,
    observedThrough: world.session.fingerprint,
    // Our finalizer on a status without conditions would count as an open record.
    ...(bug.isDeleted === true ? ready : {}),
    ...bug.status?.(self.metadata.uid),
  };
  world.reach.write([{ op: "add", path: "/status", value: status }], "/status");
  if (bug.isDeleted === true) world.reach.removeStored();
  await world.run(15_000);
  return { ...world, stops };
}

export const rulesOf = ({ stops }: { stops: readonly Stop[] }) => [...new Set(stops.map(({ rule }) => rule))];
export const written = ({ reach }: World) => reach.sent().filter((line) => !line.startsWith("GET") && line !== "list");

/** With the guard nothing of a bug is sent, and without it that would be. */
export function judge(bugs: Readonly<Record<string, PlantedBug>>): void {
  test.each(Object.entries(bugs))("nothing is sent where a rule no longer checks %s", async (_, bug) => {
    const world = await played(bug, true);
    expect(written(world)).toEqual([]);
    expect(rulesOf(world)).toEqual([bug.rule]);
    expect(world.shown()).toBe("Conflict");
    const conditions = world.self()?.status.conditions ?? [];
    expect(conditions.find(({ type }) => type === "Ready")?.message).toContain(bug.rule);
    expect(conditions.find(({ type }) => type === "Stalled")?.status).toBe("True");
    expect(world.reach.delays.at(-1)).toBeGreaterThan(3_500_000);
  });

  test.each(Object.entries(bugs))("without the guard it would be sent: %s", async (_, bug) => {
    expect(written(await played(bug, false))).toContain(bug.sends);
  });
}

import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../src/api/endpoint.ts";
import { ClaimIndex } from "../../../src/operator/claims/claim-index.ts";
import type { Claimants } from "../../../src/operator/claims/claims.ts";
import { EndpointIndex, type Link } from "../../../src/operator/claims/ownership.ts";
import { guard } from "../../../src/operator/compute/guard.ts";
import type { Parts } from "../../../src/operator/compute/kind.ts";
import type { Observation } from "../../../src/operator/compute/observe/observation.ts";
import { parts } from "../../../src/operator/compute/parts.ts";
import type { PlanRule } from "../../../src/operator/compute/plan/action.ts";
import { adoption, creation } from "../../../src/operator/compute/plan/create.ts";
import { planDelete } from "../../../src/operator/compute/plan/delete.ts";
import { renewSignature } from "../../../src/operator/compute/plan/former.ts";
import { deleteDuplicate } from "../../../src/operator/compute/plan/link.ts";
import { restart } from "../../../src/operator/compute/plan/restart.ts";
import { rotatePassword } from "../../../src/operator/compute/plan/rotate.ts";
import { updateFields } from "../../../src/operator/compute/plan/update.ts";
import type { PasswordRecord } from "../../../src/operator/connection-secret/rotation.ts";
import type { Stop } from "../../../src/operator/life/guard.ts";
import type { Compute } from "../../../src/operator/resources/compute.ts";
import { annotations, finalizers } from "../../../src/operator/resources/names.ts";
import { fleetOf, keyOf, signatureOf, signatureOfUID } from "../../../src/operator/resources/signature.ts";
import { type ComputeFields, compute, endpoint, recordOf, uidOf } from "../../support/builders.ts";
import { setUp } from "./reconciling.ts";

// With the check of proof or claim taken out of any one rule, the last guard lets nothing leave. The rule is called
// first, with an observation that passes its check; all other rules, and the guard, see the real one.

type World = Awaited<ReturnType<typeof setUp>>;

interface PlantedBug {
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

const fleet = fleetOf("production");
const stranger = uidOf("z");

const stolen = `k8s-${stranger}`;
const grown = { computeUnits: { min: 2, max: 2 } };
const small = { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 1 };

/** Another Compute of the cluster, older, in another namespace. */
function older(fields: ComputeFields = {}): Compute {
  return compute({ uid: uidOf("b"), name: "other", namespace: "others", created: "2020-01-01T00:00:00Z", ...fields });
}

/** Older, and proved to have made `ep-one`, which shows no name. */
const maker = older({
  linked: "ep-one",
  status: { proof: { uid: uidOf("b"), endpointID: "ep-one", by: "created" } },
});

const proved = (by: string) => (uid: string) => ({ endpointID: "ep-one", proof: { uid, endpointID: "ep-one", by } });

/** Nobody has a claim. */
const nobody: Claimants = {
  byUID: () => undefined,
  onBranch: () => [],
  onEndpoint: () => [],
  firstOn: () => undefined,
  inProject: () => [],
};

function asked(rule: PlanRule, seen: (o: Observation) => Observation = (o) => o): Parts["plan"] {
  return (o, s) => (o.kind === "observed" ? rule(seen(o), s) : undefined) ?? parts.plan(o, s);
}

function linkedBy(proof: Link["proof"], id = "ep-one") {
  return (o: Observation): Observation => {
    const found = o.endpoints.byID(id);
    return found === undefined ? o : { ...o, links: { ...o.links, link: { endpoint: found, proof } } };
  };
}

const unclaimed = (o: Observation): Observation => ({ ...o, claimants: nobody });
const unlinked = (o: Observation): Observation => ({
  ...o,
  links: { link: undefined, missing: undefined, duplicates: [], replacements: [] },
});
const without = (hidden: string) => (o: Observation) => ({
  ...o,
  endpoints: new EndpointIndex(o.endpoints.all.filter(({ id }) => id !== hidden)),
});
const declaring =
  (spec: Partial<Compute["spec"]>) =>
  (o: Observation): Observation => ({ ...o, compute: { ...o.compute, spec: { ...o.compute.spec, ...spec } } });
const unproved = (o: Observation): Observation => ({
  ...o,
  compute: { ...o.compute, status: { ...o.compute.status, proof: undefined } },
});

const linked = { annotations: { endpointID: "ep-one" } };
const former = (self: Compute, fields: Partial<Endpoint> = {}) =>
  endpoint({ id: "ep-former", name: `k8s-${fleet}-${keyOf(self)}-${stranger.replaceAll("-", "")}`, ...fields });
const takesOver = { spec: { adopt: { former: true } }, sends: "PATCH ep-former" };
const deletes = { isDeleted: true, sends: "DELETE ep-one", ...linked };
const rotates = {
  annotations: { endpointID: "ep-one", passwordRotationAt: "now" },
  spec: { connectionSecret: { name: "shop-db", database: "shop", roles: ["app_a", "app_b"] } },
  sends: "POST branches/br-main/roles/app_b/reset_password",
  secret: { role: "app_a", rotatedAt: 0, handled: undefined },
};
const ready = {
  conditions: [
    { type: "Ready", status: "True", reason: "Active", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
  ],
};

const plantedBugs: Readonly<Record<string, PlantedBug>> = {
  "creation: a primary that is there": {
    plan: asked(creation, without("ep-one")),
    rule: "endpoint-create-claim",
    sends: "POST endpoints",
    endpoints: () => [endpoint()],
  },
  "creation: an older claim on the branch": {
    plan: asked(creation, unclaimed),
    rule: "endpoint-create-claim",
    sends: "POST endpoints",
    others: [older()],
  },
  "creation: an own endpoint that is there": {
    plan: asked(creation, unlinked),
    rule: "endpoint-create-proof",
    sends: "POST endpoints",
    spec: { type: "read_only" },
    endpoints: ({ metadata }) => [endpoint({ type: "read_only", name: signatureOfUID(metadata.uid) })],
  },
  "creation: an own endpoint without a name": {
    plan: asked(creation, unlinked),
    rule: "endpoint-create-proof",
    sends: "POST endpoints",
    spec: { type: "read_only" },
    status: (uid) => ({ proof: proved("created")(uid).proof }),
    endpoints: () => [endpoint({ type: "read_only" })],
  },
  "pendingWrite: a record that may still take effect": {
    plan: asked(creation),
    rule: "endpoint-create-record",
    sends: "POST endpoints",
    status: (uid) => ({ pendingWrite: recordOf({ uid }) }),
  },
  "lostEndpoint: a loss that is not proved": {
    plan: asked(creation),
    rule: "endpoint-create-proof",
    sends: "POST endpoints",
    annotations: { endpointID: "ep-lost" },
    status: () => ({ endpointID: "ep-lost" }),
  },
  "adoption of a former endpoint: another Compute has it": {
    plan: asked(adoption, unclaimed),
    rule: "endpoint-takeover-claim",
    ...takesOver,
    endpoints: (self) => [former(self)],
    others: [older({ linked: "ep-former" })],
  },
  "adoption of a former endpoint: another Compute adopts it": {
    plan: asked(adoption, unclaimed),
    rule: "endpoint-takeover-claim",
    ...takesOver,
    endpoints: (self) => [former(self)],
    others: [older({ spec: { adopt: { endpointID: "ep-former" } } })],
  },
  "adoption of a former endpoint: one of several": {
    plan: asked(adoption, without("ep-second")),
    rule: "endpoint-takeover-proof",
    ...takesOver,
    endpoints: (self) => [former(self), former(self, { id: "ep-second", branch_id: "br-other" })],
  },
  "adoption of a former endpoint: on another branch": {
    plan: asked(adoption, declaring({ branchID: "br-other" })),
    rule: "endpoint-takeover-proof",
    ...takesOver,
    endpoints: (self) => [former(self, { branch_id: "br-other" })],
  },
  "adoption of a former endpoint: of another type": {
    plan: asked(adoption, declaring({ type: "read_only" })),
    rule: "endpoint-takeover-proof",
    ...takesOver,
    endpoints: (self) => [former(self, { type: "read_only" })],
  },
  "adoption of a former endpoint: the Compute had one before": {
    plan: asked(adoption, (o) => ({ ...o, compute: { ...o.compute, status: {} } })),
    rule: "endpoint-takeover-proof",
    ...takesOver,
    status: () => ({ gone: "ep-before" }),
    endpoints: (self) => [former(self)],
  },
  "adoption of a former endpoint: not asked for": {
    plan: asked(adoption, declaring({ adopt: { former: true } })),
    rule: "endpoint-takeover-proof",
    sends: "PATCH ep-former",
    endpoints: (self) => [former(self)],
  },
  "pendingWrite: a takeover while a record may still take effect": {
    plan: asked(adoption),
    rule: "endpoint-takeover-record",
    ...takesOver,
    status: (uid) => ({ pendingWrite: recordOf({ uid }) }),
    endpoints: (self) => [former(self)],
  },
  "ownedByOther: a change of what another Compute made": {
    plan: asked(updateFields),
    rule: "endpoint-patch-claim",
    sends: "PATCH ep-one",
    ...linked,
    spec: grown,
    endpoints: () => [endpoint(small)],
    others: [maker],
  },
  "ownedByOther: a change of what another Compute signed": {
    plan: asked(updateFields),
    rule: "endpoint-patch-claim",
    sends: "PATCH ep-one",
    ...linked,
    spec: grown,
    endpoints: () => [endpoint({ ...small, name: signatureOfUID(uidOf("b")) })],
    others: [older()],
  },
  "ownedByOther: a change of what another Compute adopted": {
    plan: asked(updateFields),
    rule: "endpoint-patch-claim",
    sends: "PATCH ep-one",
    ...linked,
    spec: grown,
    endpoints: () => [endpoint(small)],
    others: [older({ linked: "ep-one", spec: { adopt: { endpointID: "ep-one" } } })],
  },
  "signedByOther: a change of what came to bear another's signature": {
    plan: asked(updateFields),
    rule: "endpoint-patch-proof",
    sends: "PATCH ep-one",
    ...linked,
    spec: grown,
    status: proved("signature"),
    endpoints: () => [endpoint({ ...small, name: stolen })],
  },
  "linkOfAnotherType: a change of an endpoint of another type": {
    plan: asked(updateFields),
    rule: "endpoint-patch-proof",
    sends: "PATCH ep-one",
    ...linked,
    spec: grown,
    endpoints: () => [endpoint({ ...small, type: "read_only" })],
  },
  "ownershipOf: a change of an endpoint that nothing links": {
    plan: asked(updateFields, linkedBy("signature")),
    rule: "endpoint-patch-proof",
    sends: "PATCH ep-one",
    spec: grown,
    endpoints: () => [endpoint(small)],
  },
  "updateFields: a move onto a branch that has a primary": {
    plan: asked(updateFields, without("ep-theirs")),
    rule: "endpoint-move-claim",
    sends: "PATCH ep-one",
    ...linked,
    status: (uid) => ({ ...proved("signature")(uid), appliedGeneration: 0, branchID: "br-before" }),
    endpoints: ({ metadata }) => [
      endpoint({ name: signatureOfUID(metadata.uid), branch_id: "br-before" }),
      endpoint({ id: "ep-theirs" }),
    ],
  },
  "updateFields: a move onto a branch that an older Compute claims": {
    plan: asked(updateFields, unclaimed),
    rule: "endpoint-move-claim",
    sends: "PATCH ep-one",
    ...linked,
    status: (uid) => ({ ...proved("signature")(uid), appliedGeneration: 0, branchID: "br-before" }),
    endpoints: ({ metadata }) => [endpoint({ name: signatureOfUID(metadata.uid), branch_id: "br-before" })],
    others: [older()],
  },
  "restart: of what only an annotation links": {
    plan: asked(restart, linkedBy("signature")),
    rule: "endpoint-restart-proof",
    sends: "POST ep-one/restart",
    annotations: { endpointID: "ep-one", restartedAt: "now" },
    endpoints: () => [endpoint()],
  },
  "ownedByOther: a restart of what another Compute has": {
    plan: asked(restart),
    rule: "endpoint-restart-claim",
    sends: "POST ep-one/restart",
    annotations: { endpointID: "ep-one", restartedAt: "now" },
    spec: { adopt: { endpointID: "ep-one" } },
    endpoints: () => [endpoint()],
    others: [maker],
  },
  "signedByOther: a restart of what came to bear another's signature": {
    plan: asked(restart, linkedBy("signature")),
    rule: "endpoint-restart-proof",
    sends: "POST ep-one/restart",
    annotations: { endpointID: "ep-one", restartedAt: "now" },
    status: proved("created"),
    endpoints: () => [endpoint({ name: stolen })],
  },
  "rotatePassword: through what only an annotation links": {
    plan: asked(rotatePassword, linkedBy("signature")),
    rule: "role-reset-proof",
    ...rotates,
    endpoints: () => [endpoint()],
  },
  "ownedByOther: a rotation through what another Compute has": {
    plan: asked(rotatePassword),
    rule: "role-reset-claim",
    ...rotates,
    spec: { ...rotates.spec, adopt: { endpointID: "ep-one" } },
    endpoints: () => [endpoint()],
    others: [maker],
  },
  "signedByOther: a rotation through what came to bear another's signature": {
    plan: asked(rotatePassword, linkedBy("signature")),
    rule: "role-reset-proof",
    ...rotates,
    status: proved("created"),
    endpoints: () => [endpoint({ name: stolen })],
  },
  "rotatePassword: the role of two that the Secret holds": {
    plan: asked(rotatePassword, (o) => ({
      ...o,
      secret: { record: { role: "app_b", rotatedAt: 0, handled: undefined }, mayCut: true },
    })),
    rule: "role-reset-proof",
    ...rotates,
    sends: "POST branches/br-main/roles/app_a/reset_password",
    believed: { role: "app_b", rotatedAt: 0, handled: undefined },
    endpoints: ({ metadata }) => [endpoint({ name: signatureOfUID(metadata.uid) })],
  },
  "renewSignature: of what does not bear ours": {
    plan: asked(renewSignature, linkedBy("signature")),
    rule: "endpoint-sign-proof",
    sends: "PATCH ep-one",
    ...linked,
    status: () => ready,
    endpoints: () => [endpoint({ name: "by hand" })],
  },
  "deleteDuplicate: beside one that does not bear our signature": {
    plan: asked(deleteDuplicate, (o) => {
      const kept = linkedBy("signature")(o);
      const { link } = kept.links;
      const named = link && { ...link, endpoint: { ...link.endpoint, name: "k8s-" } };
      return { ...kept, links: { ...kept.links, link: named } };
    }),
    rule: "endpoint-surplus-proof",
    sends: "DELETE ep-second",
    ...linked,
    spec: { adopt: { endpointID: "ep-one" } },
    endpoints: ({ metadata }) => [endpoint(), endpoint({ id: "ep-second", name: signatureOfUID(metadata.uid) })],
  },
  "deleteDuplicate: one that bears no signature": {
    plan: asked(deleteDuplicate, (o) => ({
      ...o,
      links: { ...o.links, duplicates: o.endpoints.all.filter(({ id }) => id !== "ep-one") },
    })),
    rule: "endpoint-surplus-proof",
    sends: "DELETE ep-theirs",
    ...linked,
    status: proved("signature"),
    endpoints: ({ metadata }) => [
      endpoint({ name: signatureOfUID(metadata.uid) }),
      endpoint({ id: "ep-theirs", branch_id: "br-b" }),
    ],
  },
  "deleteDuplicate: one that another Compute owns": {
    plan: asked(deleteDuplicate, (o) => ({
      ...unclaimed(o),
      links: { ...o.links, duplicates: o.endpoints.all.filter(({ id }) => id !== "ep-one") },
    })),
    rule: "endpoint-surplus-proof",
    sends: "DELETE ep-theirs",
    ...linked,
    status: proved("signature"),
    endpoints: ({ metadata }) => [
      endpoint({ name: signatureOfUID(metadata.uid) }),
      endpoint({ id: "ep-theirs", name: signatureOfUID(uidOf("b")), branch_id: "br-b" }),
    ],
    others: [older({ linked: "ep-theirs", spec: { branchID: "br-b" } })],
  },
  "deleteDuplicate: the one that is linked": {
    plan: asked(deleteDuplicate, (o) => ({
      ...linkedBy("signature", "ep-second")(o),
      links: { ...linkedBy("signature", "ep-second")(o).links, duplicates: [...o.endpoints.all].slice(0, 1) },
    })),
    rule: "endpoint-surplus-proof",
    sends: "DELETE ep-one",
    ...linked,
    status: proved("signature"),
    endpoints: ({ metadata }) => [
      endpoint({ name: signatureOfUID(metadata.uid) }),
      endpoint({ id: "ep-second", name: signatureOfUID(metadata.uid) }),
    ],
  },
  "planDelete: of a Compute that is not deleted": {
    plan: (o, s) => planDelete(o, s),
    rule: "endpoint-surplus-proof",
    sends: "DELETE ep-one",
    ...linked,
    metadata: { finalizers: [finalizers.endpoint] },
    endpoints: ({ metadata }) => [endpoint({ name: signatureOfUID(metadata.uid) })],
  },
  "planDelete: what only an annotation links": {
    plan: asked(planDelete, linkedBy("signature")),
    rule: "endpoint-delete-proof",
    ...deletes,
    endpoints: () => [endpoint({ name: "by hand" })],
  },
  "planDelete: what has a name that cannot be read": {
    plan: asked(planDelete, linkedBy("created")),
    rule: "endpoint-delete-proof",
    ...deletes,
    endpoints: () => [endpoint({ unreadable: ["name"] })],
  },
  "planDelete: what another Compute owns": {
    plan: asked(planDelete, unclaimed),
    rule: "endpoint-delete-claim",
    ...deletes,
    status: proved("created"),
    endpoints: () => [endpoint()],
    others: [maker],
  },
  "planDelete: what came to bear another's signature": {
    plan: asked(planDelete, (o) => unproved(linkedBy("signature")(o))),
    rule: "endpoint-delete-proof",
    ...deletes,
    status: proved("signature"),
    endpoints: () => [endpoint({ name: stolen })],
  },
  "planDelete: what was adopted, without a policy that deletes it": {
    plan: asked(planDelete, declaring({ deletionPolicy: "Delete" })),
    rule: "endpoint-delete-proof",
    ...deletes,
    spec: { adopt: { endpointID: "ep-one" } },
    endpoints: () => [endpoint()],
  },
  "planDelete: a further one that another Compute owns": {
    plan: asked(planDelete, (o) => ({
      ...unclaimed(o),
      links: { ...o.links, duplicates: [...o.endpoints.all].slice(1) },
    })),
    rule: "endpoint-delete-proof",
    ...deletes,
    sends: "DELETE ep-theirs",
    endpoints: ({ metadata }) => [
      endpoint({ name: signatureOfUID(metadata.uid) }),
      endpoint({ id: "ep-theirs", name: signatureOfUID(uidOf("b")), branch_id: "br-b" }),
    ],
    others: [older({ linked: "ep-theirs", spec: { branchID: "br-b" } })],
  },
};

/** A connection Secret that stands, with this record by the cache; the API server has the other. */
function secretsWith(record: PasswordRecord, believed = record) {
  return {
    keep: () => Promise.resolve({ kind: "none" } as const),
    standing: () => undefined,
    ownerless: () => [],
    remove: () => Promise.resolve([]),
    readingDueAt: () => undefined,
    forget: () => {},
    readSoon: () => {},
    recorded: () => record,
    recordedNow: () => Promise.resolve(believed),
  };
}

/** A Compute in this world, reconciled by the real step with the bug in its plan. */
async function played(bug: PlantedBug, isGuarded: boolean): Promise<World & { stops: Stop[] }> {
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

const rulesOf = ({ stops }: { stops: readonly Stop[] }) => [...new Set(stops.map(({ rule }) => rule))];
const written = ({ reach }: World) => reach.sent().filter((line) => !line.startsWith("GET") && line !== "list");

describe("with the check taken out of a rule, the last guard lets nothing leave", () => {
  test.each(Object.entries(plantedBugs))("nothing is sent where a rule no longer checks %s", async (_, bug) => {
    const world = await played(bug, true);
    expect(written(world)).toEqual([]);
    expect(rulesOf(world)).toEqual([bug.rule]);
    expect(world.shown()).toBe("Conflict");
    const conditions = world.self()?.status.conditions ?? [];
    expect(conditions.find(({ type }) => type === "Ready")?.message).toContain(bug.rule);
    expect(conditions.find(({ type }) => type === "Stalled")?.status).toBe("True");
    expect(world.reach.delays.at(-1)).toBeGreaterThan(3_500_000);
  });

  test.each(Object.entries(plantedBugs))("without the guard it would be sent: %s", async (_, bug) => {
    expect(written(await played(bug, false))).toContain(bug.sends);
  });
});

describe("a deletion that the last guard stops", () => {
  const bug: PlantedBug = {
    plan: (o, s) =>
      o.kind === "observed"
        ? planDelete(linkedBy("signature")(declaring({ deletionPolicy: "Delete" })(o)), s)
        : { kind: "noop" },
    rule: "endpoint-delete-policy",
    ...deletes,
    spec: { deletionPolicy: "Retain" },
    endpoints: () => [endpoint({ name: "by hand" })],
  };

  test("a deletion with Retain is released all the same, and sends nothing", async () => {
    const world = await played(bug, true);
    expect(written(world)).toEqual([]);
    expect(rulesOf(world)).toEqual([bug.rule]);
    expect(world.self()).toBeUndefined();
    expect(world.reach.reported).toContain("Normal Released: Endpoint ep-one is kept: deletionPolicy is Retain.");
  });

  test("without the guard a deletion with Retain would be sent", async () => {
    expect(written(await played(bug, false))).toContain(bug.sends);
  });
});

test("a signature of ours in another fleet counts as ours", async () => {
  const world = await played(
    {
      plan: parts.plan,
      rule: "",
      ...deletes,
      endpoints: (self) => [endpoint({ name: signatureOf(self, fleetOf("other")) })],
    },
    true,
  );
  expect(written(world)).toContain("DELETE ep-one");
  expect(world.stops).toEqual([]);
});

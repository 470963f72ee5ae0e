import { describe, expect, test } from "vitest";
import type { ListedBranch } from "../../../src/api/branch.ts";
import { BranchListing } from "../../../src/api/branch-listing.ts";
import { guard } from "../../../src/operator/branch/guard.ts";
import type { BranchProof, Observation } from "../../../src/operator/branch/observation.ts";
import { dueEnd } from "../../../src/operator/branch/plan/expiry.ts";
import { planReset } from "../../../src/operator/branch/plan/reset.ts";
import { type BranchParts, branchParts } from "../../../src/operator/branch/steps.ts";
import type { Stop } from "../../../src/operator/life/guard.ts";
import { annotations, finalizers, noteKeys } from "../../../src/operator/resources/names.ts";
import { uidOf } from "../../support/builders.ts";
import { main } from "./builders.ts";
import { setUp } from "./reconciling.ts";

// As for a Compute: with the check of proof or claim taken out of any one rule, the last guard lets nothing leave.

type World = Awaited<ReturnType<typeof setUp>>;

interface PlantedBug {
  plan: BranchParts["plan"];
  /** Of the guard, as the metric shows it. */
  rule: string;
  /** What is sent without the guard. */
  sends: string;
  metadata?: object;
  spec?: object;
  status?: object;
  /** Nothing is linked. */
  isNew?: boolean;
  /** `br-one` as the service shows it. */
  branch?: Partial<ListedBranch>;
  others?: { spec?: object; status?: { branchID: string; proof: object } }[];
  isDeleted?: boolean;
}

/** The plan as of what a rule is made to see; without `rule`, all rules. */
function seeing(change: (o: Observation) => Observation, rule = branchParts.plan): BranchParts["plan"] {
  return (o, memory) => (o.kind === "observed" ? rule(change(o), memory) : branchParts.plan(o, memory));
}

const by =
  (ownership: BranchProof) =>
  (o: Observation): Observation => {
    const listed = o.listing.byID("br-one");
    return listed === undefined ? o : { ...o, linked: { listed, by: ownership } };
  };
const alone = (o: Observation): Observation => ({ ...o, others: [] });
const listing =
  (change: (one: ListedBranch) => ListedBranch | undefined) =>
  (o: Observation): Observation => ({
    ...o,
    listing: new BranchListing(
      [...o.listing.all].flatMap((one) => change(one) ?? []),
      o.listing.startedAt,
    ),
  });
const without = listing((one) => (one.id === "br-one" ? undefined : one));

const managed = (o: Observation): Observation => ({
  ...o,
  object: { ...o.object, spec: { ...o.object.spec, managementPolicy: undefined } },
});
const observes = { adopt: { branchID: "br-one" }, managementPolicy: "Observe" };
const theirs = { note: { [noteKeys.uid]: uidOf("z") } };
const adopted = { proof: { uid: "", branchID: "br-one", by: "adopted" } };
const unproved = { proof: undefined };
const ends = { spec: { expiry: { after: "72h" } }, sends: "PATCH br-one" };
const deletes = { isDeleted: true, sends: "DELETE br-one" };
const resets = { metadata: { annotations: { [annotations.resetAt]: "now" } }, sends: "POST br-one/restore" };
/** Older than the Branch, and linked to its branch. */
const rival = { status: { branchID: "br-one", proof: { uid: "", branchID: "br-one", by: "created" } } };

const plantedBugs: Readonly<Record<string, PlantedBug>> = {
  "create: a branch that has the name": {
    plan: seeing(without),
    rule: "branch-create-proof",
    sends: "POST ",
    isNew: true,
    branch: { name: "default/shop" },
  },
  "create: a branch that bears our note under another name": {
    plan: seeing((o) => ({ ...without(o), linked: undefined })),
    rule: "branch-create-proof",
    sends: "POST ",
    isNew: true,
    branch: { name: "renamed", note: { [noteKeys.uid]: "" } },
  },
  "create: an older claim on the name": {
    plan: seeing(alone),
    rule: "branch-create-claim",
    sends: "POST ",
    isNew: true,
    spec: { branchName: "wanted" },
    others: [{ spec: { branchName: "wanted" } }],
  },
  "create: a branch that is to be adopted": {
    plan: seeing((o) => ({ ...o, object: { ...o.object, spec: { ...o.object.spec, adopt: undefined } } })),
    rule: "branch-create-proof",
    sends: "POST ",
    isNew: true,
    spec: { adopt: { byName: true } },
  },
  "gone: a branch that is not proved gone": {
    plan: seeing((o) => ({ ...o, missing: undefined })),
    rule: "branch-create-proof",
    sends: "POST ",
    isNew: true,
    status: { branchID: "br-lost" },
  },
  "dueEnd: what nothing proves": {
    plan: seeing(by("created")),
    rule: "branch-end-proof",
    ...ends,
    status: unproved,
  },
  "dueEnd: what was adopted": {
    plan: seeing(by("created")),
    rule: "branch-end-proof",
    ...ends,
    status: adopted,
  },
  "dueEnd: what bears another's note": {
    plan: seeing(by("created")),
    rule: "branch-end-proof",
    ...ends,
    branch: theirs,
  },
  "isProvedElsewhere: what another service gave the proof for": {
    plan: seeing(by("created")),
    rule: "branch-end-proof",
    ...ends,
    status: { observedThrough: "00000000-0000000000000000" },
  },
  "rivalFor: an end for what another Branch has": {
    plan: seeing(alone),
    rule: "branch-end-claim",
    ...ends,
    others: [rival],
  },
  "planPaused: an end for what another Branch has": {
    plan: seeing(alone, (o, memory) => (o.kind === "observed" ? dueEnd(o, memory) : undefined) ?? { kind: "noop" }),
    rule: "branch-end-claim",
    ...ends,
    metadata: { annotations: { [annotations.paused]: "true" } },
    others: [rival],
  },
  "planProtection: what nothing proves": {
    plan: seeing(by("adopted")),
    rule: "branch-protection-proof",
    sends: "PATCH br-one",
    spec: { protected: true },
    status: unproved,
  },
  "rivalFor: protection of what another Branch has": {
    plan: seeing(alone),
    rule: "branch-protection-claim",
    sends: "PATCH br-one",
    spec: { protected: true },
    others: [rival],
  },
  "planReset: what nothing proves": {
    plan: seeing(by("created")),
    rule: "branch-reset-proof",
    ...resets,
    status: unproved,
  },
  "planReset: what was adopted": {
    plan: seeing(by("created")),
    rule: "branch-reset-proof",
    ...resets,
    status: adopted,
  },
  "rivalFor: a reset of what another Branch has": {
    plan: seeing(alone, (o, memory) => (o.kind === "observed" ? planReset(o, memory) : undefined) ?? { kind: "noop" }),
    rule: "branch-reset-claim",
    ...resets,
    others: [rival],
  },
  "planDeletion: what nothing proves": {
    plan: seeing(by("note")),
    rule: "branch-delete-proof",
    ...deletes,
    status: unproved,
  },
  "planDeletion: what was adopted": {
    plan: seeing(by("note")),
    rule: "branch-delete-proof",
    ...deletes,
    spec: { deletionPolicy: "Delete" },
    status: adopted,
  },
  "planDeletion: what bears another's note": {
    plan: seeing(by("note")),
    rule: "branch-delete-proof",
    ...deletes,
    branch: theirs,
  },
  "planDeletion: what another Branch has": {
    plan: seeing(alone),
    rule: "branch-delete-claim",
    ...deletes,
    others: [rival],
  },
  "planDeletion: a late branch that bears another's note": {
    plan: seeing((o) => ({
      ...listing((one) => (one.id === "br-one" ? { ...one, note: { [noteKeys.uid]: o.object.metadata.uid } } : one))(o),
      linked: undefined,
      missing: undefined,
    })),
    rule: "branch-delete-proof",
    ...deletes,
    isNew: true,
    branch: theirs,
  },
  "planBranch: a deletion of a Branch that is not deleted": {
    plan: seeing((o) => ({
      ...o,
      object: { ...o.object, metadata: { ...o.object.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } },
    })),
    rule: "branch-delete-proof",
    sends: "DELETE br-one",
  },
  "managementPolicy: a create of what is only observed": {
    plan: seeing((o) => ({
      ...o,
      object: { ...managed(o).object, spec: { ...managed(o).object.spec, adopt: undefined } },
    })),
    rule: "branch-create-policy",
    sends: "POST ",
    isNew: true,
    spec: { adopt: { byName: true }, managementPolicy: "Observe" },
  },
  "managementPolicy: an end of what is only observed": {
    plan: seeing((o) => managed(by("created")(o))),
    rule: "branch-end-policy",
    ...ends,
    spec: { ...ends.spec, adopt: { former: true }, managementPolicy: "Observe" },
  },
  "managementPolicy: protection of what is only observed": {
    plan: seeing((o) => managed(by("adopted")(o))),
    rule: "branch-protection-policy",
    sends: "PATCH br-one",
    spec: { ...observes, expiry: { never: true }, protected: true },
    status: { appliedExpiry: "never" },
  },
  "managementPolicy: a reset of what is only observed": {
    plan: seeing((o) => managed(by("created")(o))),
    rule: "branch-reset-policy",
    ...resets,
    spec: { ...observes, expiry: { never: true } },
    status: { appliedExpiry: "never" },
  },
  "managementPolicy: the deletion of what is only observed": {
    plan: (o, memory) =>
      o.kind === "observed" ? branchParts.plan(managed(by("created")(o)), memory) : { kind: "noop" },
    rule: "branch-delete-policy",
    ...deletes,
    spec: observes,
  },
};

/** A Branch in this world, reconciled with the bug in its plan. */
async function played(bug: PlantedBug, isGuarded: boolean): Promise<World & { stops: Stop[] }> {
  const stops: Stop[] = [];
  const world = await setUp({
    parts: { plan: bug.plan, guard: isGuarded ? guard : () => undefined },
    onStop: (stop) => stops.push(stop),
  });
  for (const { spec, status } of bug.others ?? []) {
    const { uid } = world.stored({ name: "other", ...(spec === undefined ? {} : { spec }) }).metadata;
    if (status !== undefined) setStatus(world, "other", uid, status);
  }
  await world.clock.advance(2000);
  const { metadata, spec, status, branch = {}, isNew = false } = bug;
  const fields = { spec: spec ?? {}, metadata: { finalizers: [finalizers.branch], ...metadata } };
  const { uid } = isNew ? world.stored(fields).metadata : world.standing(fields).metadata;
  const note = branch.note === undefined ? {} : { note: withUID(branch.note, uid) };
  const listed = { ...main, id: "br-one", name: "default/shop", default: false, protected: false, parent_id: main.id };
  if (!isNew || bug.branch !== undefined) world.branches.set("br-one", { ...listed, ...branch, ...note });
  const before = isNew ? { observedGeneration: 1 } : world.object().status;
  setStatus(world, "shop", uid, { ...before, ...status });
  if (bug.isDeleted === true) world.drop();
  await world.run(15_000);
  return { ...world, stops };
}

/** Proofs without a uid get the object's own. */
function setStatus({ write }: World, name: string, uid: string, status: { proof?: unknown }): void {
  const { proof } = status;
  const owned =
    typeof proof === "object" && proof !== null && "uid" in proof && proof.uid === ""
      ? { proof: { ...proof, uid } }
      : {};
  write([{ op: "add", path: "/status", value: { ...status, ...owned } }], "/status", name);
}

function withUID(note: Readonly<Record<string, unknown>>, uid: string) {
  return note[noteKeys.uid] === "" ? { ...note, [noteKeys.uid]: uid } : note;
}

const rulesOf = ({ stops }: { stops: readonly Stop[] }) => [...new Set(stops.map(({ rule }) => rule))];

describe("with the check taken out of a rule, the last guard lets nothing leave", () => {
  test.each(Object.entries(plantedBugs))("nothing is sent where a rule no longer checks %s", async (_, bug) => {
    const world = await played(bug, true);
    expect(world.writes).toEqual([]);
    expect(rulesOf(world)).toEqual([bug.rule]);
    expect(world.reason()).toBe("Conflict");
    const conditions = world.object().status.conditions ?? [];
    expect(conditions.find(({ type }) => type === "Ready")?.message).toContain(bug.rule);
    expect(conditions.find(({ type }) => type === "Stalled")?.status).toBe("True");
    expect(world.delays.at(-1)).toBeGreaterThan(3_500_000);
  });

  test.each(Object.entries(plantedBugs))("without the guard it would be sent: %s", async (_, bug) => {
    expect((await played(bug, false)).writes).toContain(bug.sends);
  });
});

describe("a deletion that the last guard stops", () => {
  const bug: PlantedBug = {
    plan: seeing((o) =>
      by("note")({ ...o, object: { ...o.object, spec: { ...o.object.spec, deletionPolicy: "Delete" } } }),
    ),
    rule: "branch-delete-policy",
    ...deletes,
    spec: { deletionPolicy: "Retain" },
  };

  test("a deletion with Retain is released all the same, and sends nothing", async () => {
    const world = await played(bug, true);
    expect(world.writes).toEqual([]);
    expect(rulesOf(world)).toEqual([bug.rule]);
    expect(world.isGone()).toBe(true);
  });

  test("without the guard a deletion with Retain would be sent", async () => {
    expect((await played(bug, false)).writes).toContain(bug.sends);
  });
});

import { expect } from "vitest";
import type { ListedBranch } from "../../../src/api/branch.ts";
import { BranchListing } from "../../../src/api/branch-listing.ts";
import type { BranchAction } from "../../../src/operator/branch/action.ts";
import { type BranchMemory, type EndWrite, newMemory, type PostRecord } from "../../../src/operator/branch/memory.ts";
import {
  findLinkedAt,
  linkedID,
  noteFor,
  type Observation,
  type Subject,
} from "../../../src/operator/branch/observation.ts";
import { planBranch } from "../../../src/operator/branch/plan/plan.ts";
import { noteRecords, noteVersion } from "../../../src/operator/branch/record.ts";
import { timestamp } from "../../../src/operator/objects/conditions-of.ts";
import { type Branch, expiryInWords, parseBranch } from "../../../src/operator/resources/branch.ts";
import { annotations, finalizers } from "../../../src/operator/resources/names.ts";
import { uidOf } from "../../support/builders.ts";

export const second = 1000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;

/** The monotonic clock of every observation, until a test says more. */
export const now = 10_000_000;

/** The service's clock at the same moment. */
export const serviceNow = Date.parse("2026-01-10T00:00:00Z");

/** The service's time so many milliseconds from now. */
export const inMs = (ms: number) => timestamp(serviceNow + ms);

export interface BranchFields {
  name?: string;
  namespace?: string;
  uid?: string;
  generation?: number;
  /** RFC 3339. */
  created?: string;
  deleting?: boolean;
  /** By their short names, as the code has them. */
  annotations?: Partial<Record<keyof typeof annotations, string | undefined>>;
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
  /** Linked to this branch, which it made, with its present expiry applied. */
  linked?: string;
  /** The reason that its conditions show. */
  shows?: string;
}

/** A Branch without an end as the cache holds it, until a test says more. */
export function branch(fields: BranchFields = {}): Branch {
  const { name = "shop", uid = uidOf("a"), generation = 1, linked } = fields;
  const given: Readonly<Record<string, string | undefined>> = fields.annotations ?? {};
  const noted = Object.entries(annotations).flatMap(([short, key]) =>
    given[short] === undefined ? [] : [[key, given[short]]],
  );
  const object = {
    metadata: {
      name,
      namespace: fields.namespace ?? "team",
      uid,
      resourceVersion: "1",
      generation,
      creationTimestamp: fields.created ?? "2026-01-01T00:00:00Z",
      annotations: Object.fromEntries(noted),
      finalizers: [finalizers.branch],
      ...(fields.deleting === true ? { deletionTimestamp: "2026-01-09T00:00:00Z" } : {}),
    },
    spec: { projectID: "shiny-wind-028834", expiry: { never: true }, ...fields.spec },
  };
  const { spec } = readBranch(object);
  return readBranch({
    ...object,
    status: {
      observedGeneration: generation,
      appliedGeneration: generation,
      ...(linked === undefined
        ? {}
        : {
            branchID: linked,
            proof: { uid, branchID: linked, by: "created" },
            appliedExpiry: expiryInWords(spec.expiry),
            observedThrough: "here",
          }),
      ...(fields.shows === undefined ? {} : { conditions: [readyOf(fields.shows)] }),
      ...fields.status,
    },
  });
}

/** A Branch as the operator reads it; throws where it cannot. */
export function readBranch(object: unknown): Branch {
  const parsed = parseBranch(object);
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.value;
}

function readyOf(reason: string) {
  return { type: "Ready", status: "False", reason, message: "", lastTransitionTime: "2026-01-01T00:00:00Z" };
}

/** The project's default branch, which every list shows. */
export const main: ListedBranch = { id: "br-main", name: "main", current_state: "ready", default: true };

/** A branch that can be used, with the name that the Branch of `branch()` asks for, and without a note. */
export function listed(fields: Partial<ListedBranch> = {}): ListedBranch {
  return {
    id: "br-one",
    name: "team/shop",
    parent_id: "br-main",
    current_state: "ready",
    created_at: inMs(-hour),
    default: false,
    protected: false,
    ...fields,
  };
}

/** The branch as the create of this object made it: with its note. */
export function madeBy(object: Branch, fields: Partial<ListedBranch> = {}, fleet?: string): ListedBranch {
  return listed({ note: noteFor(object, fleet), ...fields });
}

/** `branches`: the list beside the default branch; by default what the object is linked to. */
export type Seen = Partial<Omit<Observation, "kind" | "listing" | "linked" | "missing" | "lives">> & {
  branches?: readonly ListedBranch[];
  startedAt?: number;
  /** The uids of live Branches. */
  alive?: readonly string[];
};

/** What is known of a Branch before anything is read from the service. */
export function subject(object = branch(), alive: readonly string[] = []): Subject {
  return {
    object,
    now,
    createSettleMs: minute,
    fleet: undefined,
    others: [],
    lives: (uid) => alive.includes(uid),
    usedBy: [],
    compute: { step: undefined, isTaken: false },
  };
}

export function observation(seen: Seen = {}): Observation {
  const { object = branch(), branches, startedAt = now, alive = [], ...rest } = seen;
  const id = linkedID(object);
  const others = branches ?? (id === undefined ? [] : [listed({ id })]);
  const listing = new BranchListing([main, ...others], startedAt);
  return {
    ...subject(object, alive),
    kind: "observed",
    serviceNow,
    fingerprint: "here",
    resetting: undefined,
    ...rest,
    listing,
    linked: findLinkedAt(rest.fingerprint ?? "here", object, listing),
    missing: id !== undefined && listing.byID(id) === undefined ? id : undefined,
  };
}

/** Memory of a process that has run for long and has seen nothing happen. */
export function memory(fields: Partial<BranchMemory> = {}): BranchMemory {
  return { ...newMemory(0, 0, false), ...fields };
}

/** A create that this process, or an earlier one, may have sent. */
export function post(openedAt: number, by: PostRecord["by"] = "own", closedAt?: number): Pick<BranchMemory, "post"> {
  const phase = closedAt === undefined ? "open" : "closed";
  return { post: { record: { by }, phase, openedAt, closedAt } };
}

/** An end that was sent without an answer at `openedAt`, or answered at `closedAt`. */
export function sentEnd(expiry: string, at: string | undefined, fields: Partial<EndWrite> = {}): EndWrite {
  const phase = fields.closedAt === undefined ? "open" : "closed";
  const unseen = phase === "open" ? 0 : 1;
  return { record: { expiry, at }, phase, openedAt: now, unseen, differsSince: undefined, ...fields };
}

/** What a process remembers once it has seen a version of the object. */
export function takenIn(object: Branch, remembered: Partial<BranchMemory> = {}): BranchMemory {
  const known = memory(remembered);
  noteVersion(known, object, now);
  return known;
}

/** The next step for what is seen and remembered. */
export function planned(seen: Seen = {}, remembered: Partial<BranchMemory> = {}): BranchAction {
  const observed = observation(seen);
  const known = takenIn(observed.object, remembered);
  noteRecords(known, observed);
  return planBranch(observed, known);
}

/** An action that only shows this reason, with a message that has this text. */
export function shows(reason: string, text = ""): object {
  return { kind: "show", reason, message: expect.stringContaining(text) };
}

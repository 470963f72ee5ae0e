import { conditionsFor } from "../../src/operator/conditions/conditions.ts";
import type { ClusterClient } from "../../src/operator/kube/client.ts";
import { ClusterError } from "../../src/operator/kube/errors.ts";
import type { EventInput } from "../../src/operator/kube/event-record.ts";
import { listAll } from "../../src/operator/kube/list-all.ts";
import { isObjectOf } from "../../src/operator/kube/objects.ts";
import type { ObjectStore } from "../../src/operator/kube/store.ts";
import { Attempt, type Keep } from "../../src/operator/life/attempt.ts";
import type { Due } from "../../src/operator/life/due.ts";
import type { Kind, KindTypes } from "../../src/operator/life/kind.ts";
import { after, atOnce, type Outcome } from "../../src/operator/life/outcome.ts";
import { letGo, patchOf, withFinalizer, withStatus } from "../../src/operator/life/patching.ts";
import { afterShown, closed, unmade, unsent, type Write } from "../../src/operator/life/record.ts";
import { report } from "../../src/operator/life/report.ts";
import { timestamp } from "../../src/operator/objects/conditions-of.ts";
import { generationOf, isBeingDeleted, isHeldBy } from "../../src/operator/objects/object.ts";
import { sameJSON } from "../../src/operator/objects/record.ts";
import type { Clock } from "../../src/operator/runtime/clock.ts";
import { soonMs } from "../../src/operator/runtime/waits.ts";
import {
  type ConfigMap,
  type CopyRecord,
  configMapKind,
  type Mirror,
  mirrorPatches,
  ownerLabel,
  type Reason,
  reasons,
} from "./mirror.ts";

// A Mirror's own in its life. The API server names each copy, so no name prevents a second one: a create is recorded in
// the status before it is sent, and the next one waits until a fresh list shows what became of it.
//
//   record of a create | copy in a fresh list | settle time | step
//   none               | none                 | any         | record it, then create
//   open               | listed               | any         | close the record
//   open               | none                 | runs        | wait, also with the deletion
//   open               | none                 | over        | nothing can arrive any more: create, or let go

export interface Memory {
  requeue: Due;
  write: Write<CopyRecord> | undefined;
}

interface Seen {
  mirror: Mirror;
  data: Record<string, string>;
  copies: readonly ConfigMap[];
  wanted: readonly string[];
  refused: string[];
}

type Action =
  | { kind: "hold" | "release" }
  | { kind: "create"; target: string }
  | { kind: "update" | "delete"; copy: ConfigMap }
  | { kind: "show"; reason: Reason; message: string; waitMs?: number };

type Done = Outcome<Reason> & { object: Mirror };
export type MirrorKind = Kind<KindTypes & { object: Mirror; seen: Seen; action: Action; memory: Memory; done: Done }>;

export interface MirrorKindOptions extends Pick<MirrorKind, "onStop"> {
  cluster: ClusterClient;
  clock: Clock;
  settleMs: number;
  maps: Pick<ObjectStore<ConfigMap>, "get" | "list">;
  event: (object: Mirror, record: EventInput) => void;
}

/** Takes in the record that a version shows; a version from before the last record may be seen late. */
export function noteRecord({ status: { pendingWrite: shown } }: Mirror, memory: Memory, now: number): void {
  if (shown === undefined) return;
  const { write: remembered } = memory;
  const isKnown = remembered !== undefined && shown.since <= remembered.record.since;
  memory.write = afterShown({ remembered, isKnown }, unsent(shown), now);
}

export function mirrorKindOf(options: MirrorKindOptions): MirrorKind {
  const { clock, cluster, maps, onStop, settleMs } = options;
  return {
    patches: mirrorPatches,
    reasons,
    observe: async ({ object: mirror, memory }) => {
      const { namespace } = mirror.metadata;
      const { source: name, targets } = mirror.spec;
      const source = isBeingDeleted(mirror) ? undefined : maps.get(namespace, name);
      const declared = source === undefined ? [] : [...new Set(targets)].filter((target) => target !== namespace);
      const isTaken = (map: ConfigMap | undefined) => map !== undefined && !isCopyOf(mirror, map);
      const refused = declared.filter((target) => isTaken(maps.get(target, name)));
      const wanted = declared.filter((target) => !refused.includes(target));
      const stored = maps.list().filter((map) => isCopyOf(mirror, map));
      const isWhole = memory.write?.phase !== "open" && wanted.every((target) => copyIn(target, stored));
      // The store may lag behind what another process made.
      const copies = isWhole && !isBeingDeleted(mirror) ? stored : await listed(mirror, memory, options);
      return { mirror, data: source?.data ?? {}, copies, wanted, refused };
    },
    plan: ({ mirror, data, copies, wanted, refused }, { write }) => {
      if (!isHeldBy(mirror, mirrorPatches.finalizer)) return { kind: "hold" };
      const surplus = copies.find((copy) => !wanted.some((target) => copyIn(target, copies) === copy));
      if (surplus !== undefined) return { kind: "delete", copy: surplus };
      const changed = copies.find((copy) => !sameJSON(copy.data ?? {}, data));
      if (changed !== undefined) return { kind: "update", copy: changed };
      if (write?.phase === "open") {
        const message = `A create in ${write.record.target} is not seen yet: the next one waits until it cannot arrive any more.`;
        const waitMs = write.openedAt + settleMs - clock.monotonic();
        return { kind: "show", reason: isBeingDeleted(mirror) ? "Deleting" : "Creating", message, waitMs };
      }
      if (isBeingDeleted(mirror)) return { kind: "release" };
      const target = wanted.find((each) => copyIn(each, copies) === undefined);
      if (target !== undefined) return { kind: "create", target };
      if (refused.length === 0) return { kind: "show", reason: "Copied", message: "Each target has its copy." };
      const message = `A person's ConfigMap ${mirror.spec.source} is in ${refused.join(", ")}: delete it, or the target.`;
      return { kind: "show", reason: "Refused", message };
    },
    guard,
    insteadOf: (_, { message }) => ({ kind: "show", reason: "Defect", message }),
    onStop,
    letGo: () => undefined,
    uninstalling: () => Promise.resolve(false),
    execute: async (action, { data }, { object, memory }) => {
      switch (action.kind) {
        case "hold":
          return done(await withFinalizer<Mirror>(mirrorPatches, cluster, object));
        case "create":
          return create(action.target, data, object, memory, options);
        case "update":
          await cluster.patch(configMapKind, action.copy.metadata, patchOf(action.copy).set(["data"], data).ops());
          return done(object);
        case "delete":
          await cluster.delete(configMapKind, action.copy.metadata);
          return done(object, { kind: "unchanged" }, after(soonMs));
        case "release":
          await letGo<Mirror>(mirrorPatches, cluster, object, () => {});
          return done(object, { kind: "released" });
        case "show":
          return done(object, { ...action, kind: "shown" }, after(action.waitMs));
      }
    },
    refused: ({ message }, _, { object }) => rejected(object, message),
    status: async (result, { copies, refused }, { memory: { write } }) => {
      const { object, condition } = result;
      if (condition.kind === "released") return result;
      const row = condition.kind === "shown" && {
        observedGeneration: generationOf(object),
        conditions: conditionsFor(object, reasons[condition.reason], condition, {
          now: clock.now(),
          compared: undefined,
        }),
        copies: copies.length,
        refused,
      };
      const status = { ...object.status, ...row, pendingWrite: write?.phase === "open" ? write.record : undefined };
      if (sameJSON(status, object.status)) return result;
      await report(mirrorPatches, options, object, status, result, { reasons, isAnnounced: false });
      return result;
    },
  };
}

/** The last guard: each write's proof, by object, copies and record, with none of the rules' helpers. */
export function guard(action: Action, { mirror, copies }: Pick<Seen, "mirror" | "copies">, { write }: Memory) {
  const isOpen = write?.phase === "open";
  const lacksProof =
    ("copy" in action && action.copy.metadata.labels?.[ownerLabel] !== mirror.metadata.uid) ||
    ("target" in action && (isOpen || copies.some(({ metadata }) => metadata.namespace === action.target))) ||
    (action.kind === "release" && (isOpen || copies.length > 0));
  const message = `The ${action.kind} lacks its proof, and is not sent: a defect of the operator.`;
  return lacksProof ? { rule: `copy-${action.kind}`, message } : undefined;
}

/** The copies by a fresh list, which ends a record: it shows the copy, or nothing can arrive any more. */
async function listed(mirror: Mirror, memory: Memory, { cluster, clock, settleMs }: MirrorKindOptions) {
  const { write } = memory;
  const isSettled = write !== undefined && clock.monotonic() >= write.openedAt + settleMs;
  const selection = { labelSelector: `${ownerLabel}=${mirror.metadata.uid}`, limit: 100 };
  const read = (item: unknown) => (isObjectOf(configMapKind, item) ? [item] : []);
  const copies = (await listAll(cluster, configMapKind, selection, read)).items.flat();
  if (write?.phase !== "open") return copies;
  if (copyIn(write.record.target, copies) !== undefined) memory.write = closed(write);
  else if (isSettled) memory.write = unmade(write);
  return copies;
}

async function create(
  target: string,
  data: Record<string, string>,
  object: Mirror,
  memory: Memory,
  { clock, cluster }: MirrorKindOptions,
): Promise<Done> {
  const record = { target, since: timestamp(clock.now()) };
  memory.write = unsent(record);
  const recorded = await withStatus<Mirror>(mirrorPatches, cluster, { ...object.status, pendingWrite: record }, object);
  const { name, uid } = object.metadata;
  const metadata = { generateName: `${name}-`, namespace: target, labels: { [ownerLabel]: uid } };
  const keep: Keep<Write<CopyRecord>> = (change) => {
    memory.write = change(memory.write);
  };
  // A success stays open too: the next list closes it.
  const answer = await new Attempt<Write<CopyRecord>, ConfigMap>({ clock, keep }).send(async () => {
    try {
      return { kind: "ok", status: 201, value: await cluster.create(configMapKind, { metadata, data }) };
    } catch (error) {
      const isDefinite = error instanceof ClusterError && error.status < 500;
      if (!isDefinite) return { kind: "ambiguous", message: String(error) };
      return { kind: "refused", status: error.status, code: error.reason, message: error.message };
    }
  });
  return answer.kind === "refused" ? rejected(recorded, answer.message) : done(recorded);
}

export function isCopyOf({ metadata: { uid } }: Mirror, { metadata: { labels } }: ConfigMap): boolean {
  return labels?.[ownerLabel] === uid;
}

function copyIn(target: string, copies: readonly ConfigMap[]): ConfigMap | undefined {
  return copies.find(({ metadata }) => metadata.namespace === target);
}

function done(object: Mirror, condition: Done["condition"] = { kind: "unchanged" }, requeue = atOnce): Done {
  return { object, condition, requeue, events: [] };
}

function rejected(object: Mirror, message: string): Done {
  return done(object, { kind: "shown", reason: "Rejected", message }, after(undefined));
}

import type { ComputeMemory } from "../../src/operator/compute/memory.ts";
import type { Observed } from "../../src/operator/compute/observe/observation.ts";
import type { JsonPatchOperation } from "../../src/operator/kube/json-patch.ts";
import { trusted } from "./canonical.ts";
import { configuration, formerStands, strangerStands, strangersPrimary } from "./configuration.ts";
import { type Parts, parts } from "./operator.ts";
import type { Configuration } from "./terms.ts";

// Each switches one guard of the operator off, from outside: the product itself carries no switch for it.

export interface PlantedBug {
  parts: Parts;
  /** A world in which it shows. */
  configuration: Configuration;
  /** The promise that it breaks. */
  breaks: RegExp;
}

const replica = (may: Configuration["may"], fields: Partial<Configuration> = {}) =>
  configuration("a replica", { may, ...fields });
const primary = (may: Configuration["may"], fields: Partial<Configuration> = {}) =>
  configuration("a primary", { type: "read_write", may, ...fields });

export const plantedBugs: Readonly<Record<string, PlantedBug>> = {
  "no allowance for lists that lag": {
    parts: planning((o, s) => parts.plan(sooner(o, 10_000), s), { observe: observingSooner(10_000) }),
    configuration: replica({ post: 2, late: 1 }),
    breaks: /never twice/,
  },
  "no settle time": {
    parts: planning((o, s) => parts.plan(sooner(o, 20_000), s), { observe: observingSooner(20_000) }),
    configuration: replica({ post: 2, late: 1 }, { lagInstants: 0 }),
    breaks: /never twice/,
  },
  "a term that does not open the record of another": {
    parts: remembering((known, before) =>
      before === undefined && known.write !== undefined
        ? { ...known, write: { ...known.write, phase: "closed" } }
        : known,
    ),
    configuration: replica({ post: 2, death: 1 }),
    breaks: /never twice/,
  },
  "a POST without an answer that counts as refused": {
    parts: remembering((known, before) =>
      known.write?.phase === "open" && known.write.made === undefined && before?.write?.phase !== "open"
        ? { ...known, write: { ...known.write, phase: "unsent" } }
        : known,
    ),
    configuration: replica({ post: 2, late: 1 }),
    breaks: /never twice/,
  },
  "a wiped record that is forgotten": {
    parts: seeing((state, compute, now) => {
      parts.seen(state, compute, now);
      if (compute.status.pendingWrite === undefined && state.known.write?.phase === "open") forget(state);
    }),
    configuration: replica({ post: 2, late: 1, wipe: 1, replace: 1 }),
    breaks: /never twice/,
  },
  "a finalizer on an empty status that means nothing": {
    parts: seeing((state, compute, now) => {
      const isKnown = state.known.write !== undefined;
      parts.seen(state, compute, now);
      if (!isKnown && compute.status.pendingWrite === undefined) forget(state);
    }),
    configuration: replica({ post: 2, death: 1, wipe: 1 }),
    breaks: /never twice/,
  },
  "status patches that drop the record": {
    parts: patching((ops) => ops.map(withoutRecord)),
    configuration: replica({ post: 2, late: 1, death: 1 }),
    breaks: /never twice/,
  },
  "patches without a test of the version": {
    parts: patching((ops) => ops.filter(({ path }) => path !== "/metadata/resourceVersion")),
    configuration: primary({ post: 1, kill: 1, patchLate: 1, delete: 1, death: 1 }, strangersPrimary),
    breaks: /never leaked/,
  },
  "a loss that the status does not note": {
    parts: patching((ops) => ops.map((op) => inStatus(op, (status) => without(status, "gone")))),
    configuration: replica({ post: 2, kill: 1 }),
    breaks: /not well at rest/,
  },
  "a deletion that does not wait for an open record": {
    parts: planning((o, s) => {
      const action = parts.plan(o, s);
      const waits = action.kind === "wait" && action.reason === "CreateUnknown" && isDeleting(o);
      return waits ? { kind: "release", event: "Released", message: "" } : action;
    }),
    configuration: replica({ post: 1, late: 1, delete: 1 }),
    breaks: /never leaked/,
  },
  "a finalizer that goes before the DELETE is answered": {
    parts: planning((o, s) => {
      const action = parts.plan(o, s);
      const isRetried = isDeleting(o) && s.failedWrite !== undefined;
      return isRetried ? { kind: "release", event: "Deleted", message: "" } : action;
    }),
    configuration: replica({ post: 1, delete: 1, loss: 1 }),
    breaks: /never leaked/,
  },
  "one list without an endpoint that proves it gone": {
    parts: remembering((known) =>
      known.missing === undefined
        ? known
        : { ...known, missing: { ...known.missing, proved: true, since: Number.NEGATIVE_INFINITY } },
    ),
    configuration: replica({ post: 2 }),
    breaks: /never twice/,
  },
  "a finalizer that is not put back": {
    parts: planning((o, s) => {
      const action = parts.plan(o, s);
      return action.kind === "restoreFinalizer" || (action.kind === "link" && o.annotations.recordedID !== undefined)
        ? { kind: "noop" }
        : action;
    }),
    configuration: replica({ post: 2, replace: 1, loss: 1 }),
    breaks: /finalizer is missing|not linked/,
  },
  "an annotation that proves": {
    parts: planning(
      (o, s) => {
        const action = parts.plan(o, s);
        const id = o.annotations.recordedID;
        const isReleased = action.kind === "release" && o.kind === "observed" && o.links.link !== undefined;
        return isReleased && id !== undefined ? { kind: "delete", endpointID: id, why: "deleted" } : action;
      },
      // The last guard would stop it.
      { guard: () => undefined },
    ),
    configuration: replica({ post: 1, type: 1, delete: 1 }, strangerStands),
    breaks: /never a stranger's/,
  },
  "lists through another base URL that settle a record": {
    parts: {
      ...parts,
      observe: async (...args) => elsewhereIsHere(await parts.observe(...args)),
      plan: (o, s) => parts.plan(elsewhereIsHere(o), s),
    },
    configuration: primary({ post: 2, reconnect: 1, late: 1 }),
    breaks: /never twice/,
  },
  "a disable that is not noted": {
    parts: patching((ops) => ops.map((op) => inStatus(op, (status) => without(status, "disabledByUs")))),
    configuration: primary({ post: 1, disable: 2 }),
    breaks: /disabled/,
  },
  "a restart that is not recorded as done": {
    parts: patching((ops) => ops.map((op) => inStatus(op, (status) => without(status, "restartedAt")))),
    configuration: primary({ post: 1, restart: 1, death: 1 }),
    breaks: /restarted too often|not reported|for ever/,
  },
  "a proof that vanished and means nothing": {
    parts: seeing((state, compute, now) => {
      Object.assign(state.known, { proved: undefined });
      parts.seen(state, compute, now);
    }),
    configuration: replica(
      { post: 2, wipe: 1, replace: 1, term: 1 },
      { showsNames: false, lagInstants: 0, stallInstants: 0 },
    ),
    breaks: /never twice/,
  },
  "an own endpoint that closes the record, though it is not the answered one": {
    parts: {
      ...parts,
      observe: async (...args) => {
        const o = await parts.observe(...args);
        const isOwn = o.kind === "observed" && o.links.link?.proof === "signature";
        return isOwn ? { ...o, startedAt: o.startedAt + 10_000 } : o;
      },
    },
    configuration: replica({ post: 2, kill: 1, late: 1, term: 1 }),
    breaks: /never twice/,
  },
  "a takeover that is not waited for": {
    parts: planning((o, s) => {
      const action = parts.plan(o, s);
      return isDeleting(o) && action.kind === "wait" ? { kind: "release", event: "Released", message: "" } : action;
    }),
    configuration: primary({ post: 1, delete: 1, late: 1 }, formerStands),
    breaks: /never leaked/,
  },
};

export function planning(plan: Parts["plan"], more: Partial<Parts> = {}): Parts {
  return { ...parts, plan, ...more };
}

function remembering(remembers: (known: ComputeMemory, before: ComputeMemory | undefined) => ComputeMemory): Parts {
  return { ...parts, remembers };
}

export function seeing(seen: Parts["seen"]): Parts {
  return { ...parts, seen };
}

function forget({ known }: Parameters<Parts["seen"]>[0]): void {
  Object.assign(known, { write: undefined });
}

export function patching(change: (ops: JsonPatchOperation[]) => JsonPatchOperation[]): Parts {
  return { ...parts, patch: (ops) => change([...ops]) };
}

function isDeleting({ compute }: Observed): boolean {
  return compute.metadata.deletionTimestamp !== undefined;
}

/** The same observation with a shorter settle time. */
function sooner<T extends Observed>(o: T, ms: number): T {
  return { ...o, createSettleMs: o.createSettleMs - ms };
}

function observingSooner(ms: number): Parts["observe"] {
  return async (...args) => sooner(await parts.observe(...args), ms);
}

function elsewhereIsHere<T extends Observed>(o: T): T {
  const { through } = o.compute.status.pendingWrite ?? {};
  return o.kind === "observed" && through !== undefined ? { ...o, baseURL: through, fingerprint: through } : o;
}

export function inStatus(
  op: JsonPatchOperation,
  change: (status: Record<string, unknown>) => Record<string, unknown>,
): JsonPatchOperation {
  if (op.op === "test" || op.op === "remove" || op.path !== "/status") return op;
  return { ...op, value: change(trusted<Record<string, unknown>>(op.value)) };
}

export function without(status: Record<string, unknown>, field: string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(status).filter(([name]) => name !== field));
}

/** The record stands only in the patch before the request. */
function withoutRecord(op: JsonPatchOperation): JsonPatchOperation {
  return inStatus(op, (status) => {
    const { pendingWrite, ...rest } = status;
    const ready = trusted<{ type: string; reason: string }[] | undefined>(status["conditions"])?.find(
      ({ type }) => type === "Ready",
    );
    return ready?.reason === "Creating" ? { pendingWrite, ...rest } : rest;
  });
}

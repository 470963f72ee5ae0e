import type { Endpoint } from "../../src/api/endpoint.ts";
import type { ComputeMemory } from "../../src/operator/compute/memory.ts";
import { ReconcileState } from "../../src/operator/compute/reconcile-state.ts";
import type { JsonPatchOperation } from "../../src/operator/kube/json-patch.ts";
import type { Answer } from "../../src/operator/service-client/answer.ts";
import type { Written } from "../../src/operator/service-client/client.ts";
import { nowMs, tickMs, trusted } from "./canonical.ts";

/** A version of the object: its content by number, and how new it is. */
export interface Version {
  content: number;
  /** As text, so that versions in a memory are found and numbered again. */
  version: string;
}

/** A request that one reconcile sends, and after which it waits for the answer. */
export type Effect =
  | { kind: "patch"; ops: JsonPatchOperation[]; status: boolean }
  | { kind: "write"; method: "POST" | "PATCH" | "DELETE" | "RESTART"; baseURL: string; id: string; body: unknown }
  | { kind: "get"; baseURL: string; id: string };

/** What came of it. */
export type Reply =
  | { kind: "object"; object: Version }
  | { kind: "error"; error: "stale" | "gone" | "unreachable" | "refused" }
  | { kind: "answer"; answer: Answer<Written> | Answer<Endpoint> };

/** What happens to a process; each is answered with its memory afterwards. */
export type Happening =
  /** It sees the Compute for the first time in this term. */
  | { kind: "begins"; term: string; seen: Version; entered?: true }
  /** The watch, or an answer of the API server, shows a newer version of the Compute. */
  | { kind: "changed"; to: Version }
  /** A reconcile: with a new list, with the one it has, or with none. */
  | { kind: "reconciles"; seen: Version; list: readonly Endpoint[] | "held" | "none"; serviceNow: number }
  /** The request that the reconcile waits for is over. */
  | { kind: "replied"; reply: Reply };

export interface Lists {
  list?: { startedAt: number; endpoints: readonly Endpoint[] } | undefined;
  answered: { endpoint: Endpoint; at: number; contradicted: number }[];
  written: [string, number][];
  unlisted: string[];
  baseURL: string;
}

/** A reconcile that waits for an answer: what it began with, and all that has happened to it since. */
export interface Run {
  seen: Version;
  at: number;
  /** By the service's clock. */
  serviceNow: number;
  since: ({ kind: "reply"; reply: Reply; at: number } | { kind: "changed"; to: Version; at: number })[];
  effect: Effect;
}

/** A reconcile that found nothing to do: another one comes with another object, another list, or the time. */
export interface Rest {
  content: number;
  list: number;
  /** By the service's clock. */
  wakesAt: number;
}

/** What a process knows of the Compute between two reconciles, or knew when the present one began. */
export interface Memory {
  known: ComputeMemory;
  lists: Lists;
  term: string;
  /** The version that a patch found outdated. */
  outdated?: string | undefined;
  /** The last reconcile, where it found nothing to do. */
  rest?: Rest | undefined;
}

/** A memory as text: what is known on its first line, and on a second one the reconcile that waits for an answer. */
export function partsOf(text: string): { memory: string; run: string | undefined } {
  const [memory = "", run] = text.split("\n");
  return { memory, run };
}

/** The steps of a reconcile within one instant share a moment. */
export function momentIn({ at, since }: Run, now: number): number {
  const last = since.at(-1)?.at ?? at;
  return last >= nowMs ? last : now;
}

/** A state that remembers this. */
export function stateOf({ known, term }: Memory): ReconcileState {
  const state = new ReconcileState(0, term);
  const { deletes = state.known.deletes, write } = known as Partial<ComputeMemory>;
  Object.assign(state.known, known, {
    deletes,
    write: write && { ...write, firstShown: write.firstShown ?? new Map() },
  });
  return state;
}

/** Without when it is due again, and how often something failed or was said: the model reconciles at any time. */
export function forgetful(known: ComputeMemory): ComputeMemory {
  const { failedWrite, missing, write, patched, deletes = new Map<string, never>() } = known as Partial<ComputeMemory>;
  return trusted<ComputeMemory>({
    ...known,
    requeue: { reason: "", count: 0, dueAt: undefined },
    told: { ...known.told, writeAt: undefined },
    corrections: [],
    write: write && {
      ...write,
      openedAt: write.phase === "open" ? write.openedAt : 0,
      firstShown: write.phase === "open" && write.firstShown.size > 0 ? write.firstShown : undefined,
    },
    // What waits longer than the model tells times apart is due.
    patched: patched && {
      ...patched,
      tries: 0,
      at: patched.at < nowMs - 2 * tickMs ? Number.NEGATIVE_INFINITY : patched.at,
    },
    missing: missing && { ...missing, shown: undefined },
    failedWrite: failedWrite && { ...failedWrite, failures: 0, message: "" },
    deletes:
      deletes.size === 0 ? undefined : new Map([...deletes].map(([id, one]) => [id, { ...one, before: 0, shown: 0 }])),
  });
}

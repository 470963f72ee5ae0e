import type { BranchMemory } from "../../../src/operator/branch/memory.ts";
import { planReset } from "../../../src/operator/branch/plan/reset.ts";
import { never, unmade } from "../../../src/operator/life/record.ts";
import type { Branch } from "../../../src/operator/resources/branch.ts";
import { lateCreates, policies } from "./configurations.ts";
import { parentID } from "./service.ts";
import type { Parts } from "./world.ts";

// Each switches one guard of the operator off, from outside: the product itself carries no switch for it.

const hourMs = 3_600_000;

export interface PlantedBug {
  parts: Parts;
  /** The promise that it breaks. */
  breaks: RegExp;
  /** The service does not show when a branch was last reset. */
  showsResets?: false;
  /** Of the Branch; without an end otherwise. */
  expiry?: object;
  /** So many things have to happen for it, each at one of so many steps, and these alone. */
  happenings?: 3 | 4;
  steps?: 4;
  among?: readonly string[];
}

export const plantedBugs: Readonly<Record<string, PlantedBug>> = {
  "a create without an answer that is forgotten": {
    parts: { stepped: posting((post) => (post.record.by === "own" ? { ...post, openedAt: never } : post)) },
    breaks: /never left/,
  },
  "an answered create that is forgotten": {
    parts: { stepped: posting((post) => ({ ...post, closedAt: undefined })) },
    breaks: /never left/,
  },
  "a finalizer that goes before a late create is carried out": {
    parts: { planned: (observed) => ({ ...observed, createSettleMs: 0 }) },
    breaks: /never left/,
  },
  "a process that takes no create of an earlier one into account": {
    parts: {
      stepped: posting(withoutEarlier),
      planned: (observed, memory) => (posting(withoutEarlier)(memory), observed),
    },
    happenings: 3,
    breaks: /never left/,
  },
  "a young branch that passes for old, while another create of an earlier process is on its way": {
    parts: {
      planned: (observed) => {
        const { object, serviceNow } = observed;
        return object.metadata.deletionTimestamp === undefined
          ? observed
          : { ...observed, serviceNow: serviceNow + hourMs };
      },
    },
    ...lateCreates,
    breaks: /never left/,
  },
  "a reset that is not recorded": {
    parts: { stored: (object) => withStatus(object, { pendingWrite: undefined }) },
    breaks: /reset once/,
    showsResets: false,
    happenings: 3,
    among: ["a person asks for a reset", "an answer that is lost", "the process dies"],
  },
  "an unanswered reset that counts as refused": {
    parts: {
      planned: (observed, memory) => {
        if (memory.reset?.phase === "open") memory.reset = unmade(memory.reset);
        return observed;
      },
    },
    breaks: /reset once/,
    showsResets: false,
  },
  "a reset that is not carried out and stops the renewal of the lease": {
    parts: {
      planned: (observed, memory) =>
        planReset(observed, memory)?.kind === "show" ? { ...observed, serviceNow: 0 } : observed,
    },
    breaks: /never lost/,
    expiry: { lease: "6m" },
    showsResets: false,
  },
  "a branch that is made again when it is gone": {
    parts: {
      stored: (object) =>
        object.status.gone === undefined ? object : withStatus(object, { gone: undefined, branchID: undefined }),
    },
    breaks: /never again/,
  },
  "a name that counts as a proof": {
    parts: {
      planned: (observed) => {
        const named = [...observed.listing.all].find(({ id, name }) => id !== parentID && name === "shop/pr");
        if (named === undefined || observed.linked !== undefined) return observed;
        return { ...observed, linked: { listed: named, by: "note" } };
      },
    },
    breaks: /never another's|all is well/,
  },
  "a policy that was declared once and decides while no branch is linked": {
    parts: {
      planned: (observed) => {
        const { object, linked } = observed;
        // Declared and taken back: two edits.
        if ((object.metadata.generation ?? 1) < 3 || linked !== undefined) return observed;
        return { ...observed, object: { ...object, spec: { ...object.spec, deletionPolicy: "Retain" } } };
      },
    },
    ...policies,
    breaks: /never left/,
  },
  "a finalizer that is not put back": {
    parts: { stored: (object) => ({ ...object, metadata: { ...object.metadata, finalizers: [] } }) },
    breaks: /never left/,
  },
};

type Post = NonNullable<BranchMemory["post"]>;

function posting(change: (post: Post) => Post | undefined): (memory: BranchMemory) => void {
  return (memory) => {
    if (memory.post !== undefined) memory.post = change(memory.post);
  };
}

function withoutEarlier(post: Post): Post | undefined {
  return post.record.by === "earlier" ? undefined : post;
}

function withStatus(object: Branch, fields: Partial<Branch["status"]>): Branch {
  return { ...object, status: { ...object.status, ...fields } };
}

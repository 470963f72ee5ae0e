import { stoppedByGuard } from "../conditions/messages.ts";

// The last guard: after all rules, no write leaves without the proof and the claim that design.md asks for. Each kind
// reads the facts of a planned write from the object, the list and the claims, with none of the rules' helpers, so that
// a bug in one of them is not believed twice. What the guard stops is a defect of the operator.

/** The evidence of whose the target of a write is. */
export type Shown =
  /** The target bears our signature: an endpoint by its name, a branch by its note. */
  | "signature"
  /** The target shows no signature, and the status says that a create of this object made it. */
  | "created"
  /** A former object of this fleet and name made it, and `spec.adopt.former` asks for it, or the status says so. */
  | "former"
  /** `spec.adopt` names the target. */
  | "adopted"
  /** The object is linked to the target, and nothing proves it. */
  | "none"
  /** The target bears the signature of another object, which outranks what the status says. */
  | "foreign"
  /** The target is not linked to the object, or no list shows it. */
  | "stranger"
  /** No endpoint or branch of this object is there, and the one that it had is proved gone: for a create. */
  | "absent";

/**
 * Each write at the service, and what has to be shown of its target. Everything else that is planned changes objects of
 * the API server alone, the owned Compute of a Branch too.
 */
const allowed = {
  "endpoint create": ["absent"],
  "endpoint takeover": ["former"],
  "endpoint sign": ["signature"],
  "endpoint patch": ["signature", "created", "adopted", "none"],
  "endpoint move": ["signature", "created", "adopted", "none"],
  "endpoint restart": ["signature", "created", "adopted"],
  // Of what was adopted only with `deletionPolicy: Delete`; otherwise it counts as `none`.
  "endpoint delete": ["signature", "created", "adopted"],
  // One of several that an object made, while that is not deleted.
  "endpoint surplus": ["signature"],
  // The target is a role on the branch of an endpoint: what is shown is the endpoint's.
  "role reset": ["signature", "created", "adopted"],
  "branch create": ["absent"],
  "branch end": ["signature", "created", "former"],
  "branch protection": ["signature", "created", "former", "adopted"],
  "branch reset": ["signature", "created", "former"],
  "branch delete": ["signature", "created", "former"],
} as const satisfies Readonly<Record<string, readonly Shown[]>>;

export type GuardedWrite = keyof typeof allowed;

/** The kinds of evidence that a write may lack. */
export type Lack = "proof" | "claim" | "record" | "policy";

/** Facts of one planned write. */
export interface Facts {
  write: GuardedWrite;
  /** Id of the endpoint or branch, or the name of the branch that a create makes. */
  target: string;
  shown: Shown;
  /** Another object whose claim on the target, or on the branch that it comes to be on, is the better one. */
  rival?: string | undefined;
  /** An earlier create or takeover of this object may still take effect. */
  isOpen?: boolean;
  /** The object is being deleted, and its deletionPolicy is Retain. */
  isRetained?: boolean;
  /** The object only observes: nothing is ever written for it. */
  onlyObserves?: boolean;
}

/** A write that the guard stopped. `rule`: the write and what it lacks, for the metric. */
export interface Stop {
  rule: string;
  message: string;
}

/** Every value of the metric's label. */
export const guardRules: readonly string[] = Object.keys(allowed).flatMap((write) => [
  ruleOf(write, "proof"),
  ruleOf(write, "claim"),
  ...(["endpoint create", "endpoint takeover"].includes(write) ? [ruleOf(write, "record")] : []),
  ruleOf(write, "policy"),
]);

/** The stop of a write that lacks something; `undefined`: it passes. */
export function stopOf(facts: Facts, isBeingDeleted: boolean): Stop | undefined {
  const lack = lackOf(facts);
  if (lack === undefined) return undefined;
  const rule = ruleOf(facts.write, lack);
  const why = reasonOf(lack, facts);
  return { rule, message: stoppedByGuard({ why, rule, target: facts.target, isBeingDeleted }) };
}

function lackOf({ write, shown, rival, isOpen = false, ...policy }: Facts): Lack | undefined {
  const proofs: readonly Shown[] = allowed[write];
  if (policy.isRetained === true || policy.onlyObserves === true) return "policy";
  if (isOpen) return "record";
  if (!proofs.includes(shown)) return "proof";
  return rival === undefined ? undefined : "claim";
}

function reasonOf(lack: Lack, { write, shown, rival, onlyObserves }: Facts): string {
  switch (lack) {
    case "policy":
      return onlyObserves === true ? "managementPolicy is Observe" : "deletionPolicy is Retain";
    case "record":
      return "an earlier create may still take effect";
    case "claim":
      return `${rival} has the earlier claim`;
    case "proof":
      if (shown === "foreign") return "its target bears the signature of another object";
      return write.endsWith("create")
        ? "the object may still have what it made before"
        : "nothing proves its target the object's own";
  }
}

function ruleOf(write: string, lack: Lack): string {
  return `${write.replace(" ", "-")}-${lack}`;
}

import type { Proof } from "./observe/link.ts";
import type { CreateMark } from "./observe/marks.ts";
import type { Attributes, Difference } from "./plan/fields.ts";
import type { Progress, Reason } from "./reasons.ts";

/** The one thing to do next for a Compute. */
export type Step =
  | {
      step: "create";
      attributes: Attributes & { type: string };
      mark: Omit<CreateMark, "uid" | "since">;
      lost: boolean;
    }
  | {
      step: "patch";
      endpointID: string;
      attributes: Attributes;
      fields: readonly string[];
      progress: Progress;
      /** What the service had changed on its own, where that is why. */
      corrects: readonly Difference[];
    }
  | { step: "restart"; endpointID: string; value: string }
  /** A marked restart shows at the service: it counts as carried out. */
  | { step: "restarted"; endpointID: string; value: string }
  | { step: "delete"; endpointID: string; why: "deleted" | "surplus" }
  /** Writes into the Compute which endpoint is its own. */
  | { step: "link"; endpointID: string; proof: Proof; news: "none" | "adopted" | "created"; keepsMark?: CreateMark }
  /** Puts a mark back that was dropped together with our finalizer. */
  | { step: "remark"; mark: CreateMark }
  /** Takes a mark away that has done its work. */
  | { step: "unmark"; mark: "pendingCreate" | "pendingRestart" }
  /** Asks the service for the one endpoint that lists lack. */
  | { step: "confirmGone"; endpointID: string; after: "lost" | "deleted" }
  /** Lets the Compute go without, or after, deleting. */
  | { step: "release"; event: "Deleted" | "Released"; message: string }
  /** Nothing to do but to wait for the service, or to try again later. `foreign` as below. */
  | { step: "wait"; reason: Reason; message: string; lookInMs?: number; foreign?: true }
  /** What is known is too old to say anything: the status stays as it is. */
  | { step: "hold"; lookInMs?: number }
  /** Only a person can help. `foreign`: the endpoint that is linked is another Compute's, and not to be shown here. */
  | { step: "refuse"; reason: Reason; message: string; lookInMs?: number; foreign?: true }
  | {
      step: "settled";
      reason: "Active" | "Idle" | "Disabled" | "Drifted";
      message: string;
      drift: readonly Difference[];
      lookInMs?: number;
      /** No write that disables the endpoint can take effect any more. */
      disablesOver?: true;
    };

/** The steps that send a write to the service. */
export type Write = Extract<Step, { step: "create" | "patch" | "restart" | "delete" }>;

export function isWrite(step: Step): step is Write {
  return step.step === "create" || step.step === "patch" || step.step === "restart" || step.step === "delete";
}

/** Whether a step would bring the service to what the spec says. */
export function sendsSpec(step: Step): boolean {
  return step.step === "create" || step.step === "patch";
}

/** Names a write, so that one that failed is not tried again too soon, and another is tried at once. */
export function identityOf(write: Write, generation: number): string {
  switch (write.step) {
    case "create":
      return JSON.stringify(["create", generation, write.attributes]);
    case "patch":
      return JSON.stringify(["patch", generation, write.attributes]);
    case "restart":
      return JSON.stringify(["restart", generation, write.value]);
    case "delete":
      return JSON.stringify(["delete", generation, write.endpointID]);
  }
}

/** Leaves everything as it is until there is news, or until then. */
export function hold(lookInMs: number | undefined): Step {
  return lookInMs === undefined ? { step: "hold" } : { step: "hold", lookInMs };
}

import type { EventInput } from "../kube/event-record.ts";
import type { Failure } from "../service-client/answer.ts";

/** Outcome for the connection Secret. `left`: those that were to be removed, and stay. */
export type Binding =
  | { kind: "none"; left?: readonly EventInput[] }
  /**
   * `event` if a Secret that stood was written again. `isStored` if the service was asked for the password; false: it
   * stores none.
   */
  | {
      kind: "bound";
      name: string;
      event?: EventInput | undefined;
      left?: readonly EventInput[];
      isStored?: boolean;
    }
  /** The service is asked for its data when the budget allows. */
  | { kind: "later" }
  /** The service did not give its data: `doing` is the purpose of the request. */
  | { kind: "unread"; failure: Failure; doing: string }
  | { kind: "failed"; reason: "Conflict" | "Forbidden" | "Rejected" | "SecretNotAllowed"; message: string };

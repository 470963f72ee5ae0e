import type { Endpoint } from "../../../api/endpoint.ts";
import type { Operation } from "../../../api/operation.ts";
import type { Proof } from "../../claims/ownership.ts";
import type { SecretStatus, WriteRecord } from "../../resources/compute.ts";
import type { Annotations } from "../observe/annotations.ts";
import type { Moment } from "../observe/moment.ts";

/** The facts from which a status is written, besides the outcome of the reconcile. */
export interface Seen {
  /** Of the Compute as the outcome has it. */
  annotations: Annotations;
  /** The linked endpoint as newest known; `undefined` where none is, or it cannot be seen. */
  endpoint: Endpoint | undefined;
  /** True if a list says that there is no such endpoint. */
  absent: boolean;
  /** True if the branch of an endpoint that is missing has gone too. */
  branchGone?: boolean;
  /** True if there is no loss that a person could confirm. */
  lossOver: boolean;
  /** True if this reconcile answers a person's request for one. */
  answers: boolean;
  /** True if the endpoint is as the spec says; `undefined`: that was not seen. */
  compared: boolean | undefined;
  /** The proof that the linked endpoint is this Compute's own. */
  proof: Proof;
  /** The operation of the record, if its request was sent and may have made or signed an endpoint. */
  sent: string | undefined;
  /** The record of a write that this term remembers, unless it is closed. */
  record: WriteRecord | undefined;
  /** A list shows the endpoint from so late that no request of ours can disable it any more. */
  clearsDisabling: boolean;
  operations: readonly Operation[];
  /** The value of `restartedAt` that this process last carried out. */
  restarted?: string | undefined;
  /** Name at the service of the Branch that `spec.branchRef` names, where there is one. */
  referredName?: string | undefined;
  /** Of the base URL and key through which the endpoint was seen. */
  fingerprint: string | undefined;
  /** The connection Secret that goes with the Compute. */
  secret: SecretStatus | undefined;
  /** Schedule and windows by the service's clock. */
  moment?: Moment | undefined;
  /** The entry of the schedule that the service was last brought to; absent where nobody knows. */
  broughtTo?: string | undefined;
  /** True if the reason has held for so long that it stalls, if it does so later. */
  stalls?: boolean;
  /** Wall time, milliseconds since the epoch. */
  now: number;
}

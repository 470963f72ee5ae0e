import type { Endpoint } from "../../api/endpoint.ts";
import type { Compute } from "../resources/compute.ts";
import type { Failure } from "../service-client/answer.ts";
import type { ServiceClient } from "../service-client/client.ts";
import { connectionDetails, type Details, type Login } from "./details.ts";
import { readingDetails, secretRejected } from "./messages.ts";
import { filledIn } from "./template.ts";

/** The data of a connection Secret with what its template adds, or the reason why there is none. */
export type FilledDetails = Details | { kind: "rejected"; message: string; isStored?: boolean };

/** The data that a Compute's connection Secret holds. */
export async function filledDetails(
  compute: Compute,
  endpoint: Endpoint,
  login: Login,
  client: Pick<ServiceClient, "connectionURI">,
  signal: AbortSignal,
): Promise<FilledDetails> {
  const details = await connectionDetails(compute, endpoint, login, client, signal);
  if (details.kind !== "read") return details;
  const added = filledIn(compute.spec.connectionSecret?.template ?? {}, details.data);
  switch (added.kind) {
    case "filled":
      return { ...details, data: { ...details.data, ...added.data } };
    case "missing":
      return { kind: "rejected", message: secretRejected.template(added) };
    case "tooLarge":
      return { kind: "rejected", message: secretRejected.tooLarge };
  }
}

type Wanted = NonNullable<Compute["spec"]["connectionSecret"]>;

/** The meaning of a failed call for the details: `doing` is its purpose. */
export function whyUnread(
  failure: Failure,
  wanted: Wanted,
  branchID: string,
): { kind: "unread"; failure: Failure; doing: string } | { kind: "failed"; reason: "Rejected"; message: string } {
  if (failure.kind !== "notFound") return { kind: "unread", failure, doing: readingDetails(wanted.name) };
  // A 404 is about the database or the role, or the very call, which not every service has.
  return { kind: "failed", reason: "Rejected", message: secretRejected.notFound(wanted, branchID, failure.message) };
}

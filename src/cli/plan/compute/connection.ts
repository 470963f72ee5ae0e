import { meaningOf } from "../../../operator/compute/words/failures.ts";
import { filledDetails, whyUnread } from "../../../operator/connection-secret/filled-details.ts";
import { rolesOf } from "../../../operator/connection-secret/rotation.ts";
import type { Inventory } from "../inventory.ts";
import { saidOnce } from "../messages.ts";
import type { TrackedCompute } from "../tracked.ts";
import { linkedEndpoint } from "./linked.ts";

/** The data of a connection Secret that no cluster holds. */
export type ConnectionData =
  | { kind: "read"; data: Readonly<Record<string, string>> }
  | { kind: "noEndpoint" }
  | { kind: "failed"; message: string };

/** Asks the service for what the connection Secret of a Compute would hold. */
export async function connectionDataOf(tracked: TrackedCompute, inventory: Inventory): Promise<ConnectionData> {
  const { object: compute, project } = tracked;
  const { listing, client } = project;
  if (listing?.kind === "unavailable") return { kind: "failed", message: listing.message };
  const wanted = compute.spec.connectionSecret;
  const endpoint = linkedEndpoint(tracked, inventory.scope.fleet);
  if (wanted === undefined || endpoint?.host === undefined) return { kind: "noEndpoint" };
  const details = await filledDetails(
    compute,
    endpoint,
    { role: rolesOf(wanted)[0] },
    client,
    inventory.options.signal,
  );
  switch (details.kind) {
    case "read":
      if (!details.isStored) return { kind: "failed", message: storesNone(wanted) };
      return details;
    case "same":
      throw new Error("the service's answer was compared with no URI");
    case "rejected":
      return { kind: "failed", message: details.message };
    case "failed": {
      const why = whyUnread(details.failure, wanted, endpoint.branch_id);
      const meaning = why.kind === "failed" ? why : meaningOf(why.failure, why.doing);
      return { kind: "failed", message: saidOnce(meaning, client.account.baseURL, "manifests") };
    }
  }
}

/** A URI without a password would pass for one that works. */
function storesNone({
  roles,
  role = roles?.[0] ?? "",
}: {
  role?: string | undefined;
  roles?: string[] | undefined;
}): string {
  return `The service stores no passwords in this project, so it shows none for role ${role}: keep the one that it showed when the role was made or reset.`;
}

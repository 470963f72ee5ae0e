import type { ServiceClient } from "../service-client/client.ts";
import type { KeyType } from "./health.ts";

export interface Reach {
  client: ServiceClient;
  signal: AbortSignal;
  keyType: KeyType;
  /** Whose projects are to be listed: of a personal key's the project's owner, as far as that is known. */
  organizationID: string | undefined;
}

/**
 * Whether a project is proved to be gone: its own GET is 404, and a complete list by a personal key or an
 * organization's lacks it. A list that holds no other project could be that of a key confined to this one; and whoever
 * has left the organization is not shown its list, so that they take nothing for gone that they only cannot see.
 */
export async function projectIsGone(
  projectID: string,
  { client, signal, keyType, organizationID }: Reach,
): Promise<boolean> {
  const single = await client.getProject(projectID, signal);
  if (single.kind !== "notFound") return false;
  const listed = await client.listProjects(organizationID, signal);
  if (listed.kind !== "ok" || !listed.value.complete) return false;
  if (listed.value.projects.some(({ id }) => id === projectID)) return false;
  if (keyType === "personal") return true;
  return keyType === "organization" && listed.value.projects.length > 0;
}

import { unlessStopped } from "../runtime/unattended.ts";
import type { Answer } from "../service-client/answer.ts";
import type { ServiceClient } from "../service-client/client.ts";
import type { ConnectionState, KeyType } from "./connection-state.ts";

export interface ProbeOptions {
  state: Pick<ConnectionState, "probeBegins" | "authShows" | "projectsShow" | "probeEnds">;
  /** Sends with a refused key too: only a probe does. Reports each answer to the state. */
  client: ServiceClient;
  organizationID: string | undefined;
  signal: AbortSignal;
  /** The probe has ended; not called if the signal aborted. */
  onEnd: () => void;
}

/** Asks /auth, which a service may lack, and /projects, which every service has. */
export async function probe({ state, client, organizationID, signal, onEnd }: ProbeOptions): Promise<void> {
  state.probeBegins();
  try {
    const auth = await client.auth(signal);
    if (isKeyRefused(auth)) return;
    if (auth.kind === "ok") state.authShows(auth.value.auth_method);
    const listed = await client.listProjects(organizationID, signal);
    if (!isKeyRefused(listed)) state.projectsShow(listed, organizationID);
  } catch (error) {
    unlessStopped(signal)(error);
  } finally {
    state.probeEnds();
    if (!signal.aborted) onEnd();
  }
}

function isKeyRefused({ kind }: Answer<unknown>): boolean {
  return kind === "unauthorized" || kind === "refusedOnce";
}

export interface ProjectAccess {
  client: ServiceClient;
  signal: AbortSignal;
  keyType: KeyType;
  /** The organization to list; for a personal key, the organization of the project if known. */
  organizationID: string | undefined;
}

/**
 * True if a project is proved to be gone: its own GET is 404, and a complete list by a personal key or an organization
 * key lacks it. An organization key with an empty list proves nothing, because it may be a key of this project alone. A
 * person who has left the organization gets no list of it, so an invisible project is not taken for deleted.
 */
export async function projectIsGone(
  projectID: string,
  { client, signal, keyType, organizationID }: ProjectAccess,
): Promise<boolean> {
  const single = await client.getProject(projectID, signal);
  if (single.kind !== "notFound") return false;
  const listed = await client.listProjects(organizationID, signal);
  if (listed.kind !== "ok" || !listed.value.complete) return false;
  if (listed.value.projects.some(({ id }) => id === projectID)) return false;
  if (keyType === "personal") return true;
  return keyType === "organization" && listed.value.projects.length > 0;
}

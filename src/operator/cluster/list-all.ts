import type { ClusterClient, ListSelection } from "./client.ts";
import type { KubeObject, ResourceKind } from "./objects.ts";

/**
 * Reads a complete list page by page, as it stands at one moment: all pages are of the version that the first had.
 * Throws where any page fails, `isGone` where the history that the pages need was forgotten meanwhile: start over.
 */
export async function listAll<T extends KubeObject>(
  client: ClusterClient,
  kind: ResourceKind<T>,
  selection: ListSelection & { limit: number },
  signal?: AbortSignal,
): Promise<{ items: unknown[]; resourceVersion: string }> {
  const items: unknown[] = [];
  let token: string | undefined;
  for (;;) {
    const page = await client.listPage(kind, { ...selection, continue: token }, signal && { signal });
    signal?.throwIfAborted();
    for (const item of page.items) items.push(item);
    if (page.continue === undefined) return { items, resourceVersion: page.resourceVersion };
    token = page.continue;
  }
}

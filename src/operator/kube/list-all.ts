import type { ClusterClient, ListPage, ListSelection } from "./client.ts";
import { isTooLarge } from "./errors.ts";
import type { KubeObject, ResourceKind } from "./objects.ts";

/**
 * Reads a complete list page by page; all pages have the version of the first. If an answer is too large, the next
 * pages are smaller. Throws if a page fails; on `isGone`, because the server dropped the history that the pages need,
 * start over. Each item is read with its page, so that a long list is neither kept twice nor read in one task.
 */
export async function listAll<T extends KubeObject, R>(
  client: ClusterClient,
  kind: ResourceKind<T>,
  selection: ListSelection & { limit: number },
  read: (item: unknown) => R | Promise<R>,
  signal?: AbortSignal,
): Promise<{ items: R[]; resourceVersion: string }> {
  const items: R[] = [];
  let token: string | undefined;
  let { limit } = selection;
  for (;;) {
    let page: ListPage;
    try {
      page = await client.listPage(kind, { ...selection, limit, continue: token }, signal && { signal });
    } catch (error) {
      if (!isTooLarge(error) || limit <= 1) throw error;
      limit = Math.ceil(limit / 8);
      continue;
    }
    signal?.throwIfAborted();
    for (const item of page.items) items.push(await read(item));
    if (page.continue === undefined) return { items, resourceVersion: page.resourceVersion };
    token = page.continue;
  }
}

import type { Endpoint } from "../../src/api/endpoint.ts";
import type { EndpointLister } from "../../src/operator/project/endpoint-lister.ts";
import type { Listing } from "../../src/operator/project/list-changes.ts";
import { Overlay } from "../../src/operator/project/overlay.ts";
import type { Lists } from "./memory.ts";
import type { Replay } from "./replay.ts";

/** A new list came in: what it shows of earlier answers is laid over it no more. */
export function listed(lists: Lists, endpoints: readonly Endpoint[], startedAt: number): void {
  const listing = { endpoints, startedAt, endedAt: startedAt };
  lists.list = { startedAt, endpoints };
  lists.written = lists.written.filter(([, at]) => at >= startedAt);
  lists.unlisted = lists.unlisted.filter((id) => !endpoints.some((endpoint) => endpoint.id === id));
  lists.answered = lists.answered.flatMap((answer) => {
    const overlay = overlayOf([answer]);
    overlay.listed(listing, () => Number.NEGATIVE_INFINITY);
    const contradicted = answer.contradicted + (startedAt > answer.at ? 1 : 0);
    return overlay.has(answer.endpoint.id) ? [{ ...answer, contradicted }] : [];
  });
}

/** The operator's own overlay, in the state that it would be in. */
function overlayOf(answered: Lists["answered"]): Overlay {
  const overlay = new Overlay();
  for (const { endpoint, at, contradicted } of answered) {
    overlay.lay(endpoint, at);
    for (let n = 0; n < contradicted; n++)
      overlay.listed({ endpoints: [], startedAt: at + 1, endedAt: at + 1 }, () => Number.NEGATIVE_INFINITY);
  }
  return overlay;
}

/** What a reconcile asks its project's lister for. */
export function lister(lists: Lists, { clock }: Replay): object {
  const listing: Listing | undefined = lists.list && { ...lists.list, endedAt: lists.list.startedAt };
  const overlay = () => lists.answered.reduce((list, one) => list && overlayOf([one]).over(list), listing);
  const wrote = (id: string) => {
    const now = clock.monotonic();
    lists.written = [...lists.written.filter(([other]) => other !== id), [id, now]];
    return now;
  };
  const withoutAnswer = (id: string) => lists.answered.filter(({ endpoint }) => endpoint.id !== id);
  return {
    listing,
    unseen: undefined,
    failure: undefined,
    get observed() {
      return overlay();
    },
    operations: {
      follow: () => {},
      showsResultAt: () => undefined,
      latest: () => Promise.resolve({ kind: "unsupported" }),
      followed: {
        of: () => [],
        endedAt: () => Number.NEGATIVE_INFINITY,
        isBusyWith: () => false,
        wereOverBefore: () => false,
      },
    },
    answers: {
      has: (id: string) => lists.answered.some(({ endpoint }) => endpoint.id === id),
      makerOf: () => undefined,
    },
    // Every branch is there, in lists of branches that are never late.
    branches: {
      lookup: () => undefined,
      found: () => {},
      shows: (_: string, __: string, after: number) => (clock.monotonic() > after ? "shown" : undefined),
      lacks: () => false,
    } satisfies Pick<EndpointLister["branches"], "lookup" | "found" | "shows" | "lacks">,
    busySince: () => undefined,
    underWay: new Set<string>(),
    isUnlisted: (id: string) => lists.unlisted.includes(id),
    isExpected: () => true,
    writtenAt: (id: string | undefined) =>
      lists.written.find(([other]) => other === id)?.[1] ?? Number.NEGATIVE_INFINITY,
    listedAfter: (after: number) => (listing !== undefined && listing.startedAt > after ? overlay() : undefined),
    wrote(id: string) {
      lists.answered = withoutAnswer(id);
      return wrote(id);
    },
    answered(endpoint: Endpoint, isMade = false) {
      const at = wrote(endpoint.id);
      if (isMade) lists.unlisted = [...lists.unlisted, endpoint.id];
      lists.answered = [...withoutAnswer(endpoint.id), { endpoint, at, contradicted: 0 }];
      return at;
    },
  };
}

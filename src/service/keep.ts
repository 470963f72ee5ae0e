import { changeInParts } from "./change-in-parts.ts";
import { setBack } from "./computes/set-back.ts";
import { mostAtOnce } from "./domain/due-events.ts";
import type { Service } from "./service.ts";

/** The longest that Node's timers can wait, in milliseconds. */
const longestWait = 2 ** 31 - 1;

/** Wait after an internal error before the timers are checked again, in milliseconds. */
const retryMs = 1000;

const never = Number.POSITIVE_INFINITY;

/** Lets things happen when they are due, also while nobody calls, so that the store is never far behind. */
export function keepTime(service: Service): () => void {
  const { clock } = service.context;
  let latest = clock.now();
  // A machine's clock that was set back: what is to end soon would wait until it has caught up.
  const isSetBack = () => clock.now() < latest;
  const left = () => {
    if (isSetBack()) return 0;
    latest = clock.now();
    return (service.nextDue() ?? never) - latest;
  };
  return keep(service, left, () => {
    if (isSetBack()) changeInParts(service, setBack);
    const now = clock.now();
    latest = now;
    service.settle(now, mostAtOnce);
  });
}

/** Rest between two turns of clearing, in milliseconds: others have half of the loop meanwhile. */
const restMs = 25;

/** Clears what was deleted, also by an earlier process. */
export function keepClear(service: Service): () => void {
  const { clock, store } = service.context;
  let restedAt = 0;
  const left = () => (store.removed.any() ? Math.min(restMs, restedAt - clock.now()) : never);
  return keep(service, left, () => {
    try {
      service.clear();
    } finally {
      restedAt = clock.now() + restMs;
    }
  });
}

/** Acts when no time is left, until the returned function is called; `left`, in milliseconds, is asked at changes. */
function keep(service: Service, left: () => number, act: () => void): () => void {
  const { clock } = service.context;
  let cancel = () => {};
  const go = () => {
    try {
      act();
      wait();
    } catch (error) {
      service.internalError(error);
      cancel();
      cancel = clock.after(retryMs, go);
    }
  };
  const wait = () => {
    // A store that cannot be read now leaves the timer that there is.
    const ms = left();
    cancel();
    if (ms !== never) cancel = clock.after(Math.min(longestWait, Math.max(0, ms)), go);
  };
  const stopFollowing = service.onChange(wait);
  wait();
  return () => {
    stopFollowing();
    cancel();
  };
}

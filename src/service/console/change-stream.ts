import type { Changes } from "../changes.ts";
import type { EventStream } from "../http/exchange.ts";

/** The path on which an open page follows the service's changes. */
export const changesPath = "/app/changes";

/**
 * A page's script sends this header when it fetches the page again, so that a secret shown once stays for the person.
 */
export const refreshHeader = "x-console-refresh";

/** The most pages that follow changes; further pages show them on reload. */
const maxStreams = 200;

/** The most of one account, so that none takes the places of all. */
const maxOfAccount = 50;

/** The streams of changes to open pages. Each event contains the number of changes so far and nothing else. */
export class ChangeStreams {
  readonly #changes: Changes;
  /** The account of each open stream, by the function that ends it. */
  readonly #open = new Map<() => void, string>();

  constructor(changes: Changes) {
    this.#changes = changes;
  }

  isFullFor(accountId: string): boolean {
    const own = [...this.#open.values()].filter((one) => one === accountId).length;
    return this.#open.size >= maxStreams || own >= maxOfAccount;
  }

  /** A stream that ends with its session: `isSignedIn` is checked before every event. */
  stream(accountId: string, isSignedIn: () => boolean): EventStream {
    return (sink) => {
      const close = () => {
        stopFollowing();
        this.#open.delete(finish);
      };
      const finish = () => {
        close();
        sink.end();
      };
      const report = () => {
        if (isSignedIn()) sink.send(`event: changes\ndata: ${this.#changes.count}\n\n`);
        else finish();
      };
      const stopFollowing = this.#changes.follow(report);
      this.#open.set(finish, accountId);
      report();
      return close;
    };
  }

  /** Ends every stream. */
  close(): void {
    for (const finish of this.#open.keys()) finish();
  }
}

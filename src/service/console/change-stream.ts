import type { Changes } from "../changes.ts";
import type { EventStream } from "../http/exchange.ts";
import { Shares } from "../sharing/shares.ts";

/** The path on which an open page follows the service's changes. */
export const changesPath = "/app/changes";

/**
 * A page's script sends this header when it fetches the page again, so that a secret shown once stays for the person.
 */
export const refreshHeader = "x-console-refresh";

/** The most pages that follow changes, of which one account has half; further pages show them on reload. */
const maxStreams = 200;

/** The streams of changes to open pages. Each event contains the number of changes so far and nothing else. */
export class ChangeStreams {
  readonly #changes: Changes;
  readonly #shares = new Shares(maxStreams);
  /** The functions that end the open streams. */
  readonly #open = new Set<() => void>();

  constructor(changes: Changes) {
    this.#changes = changes;
  }

  /**
   * A stream that ends with its session: `isSignedIn` is checked at every change. `undefined` where the account has its
   * share of them.
   */
  stream(accountId: string, isSignedIn: () => boolean): EventStream | undefined {
    const part = this.#shares.of(accountId);
    if (!part.take(1)) return undefined;
    return (sink) => {
      const close = () => {
        part.release();
        stopFollowing();
        this.#open.delete(finish);
      };
      const finish = () => {
        close();
        sink.end();
      };
      const send = () => sink.send(`event: changes\ndata: ${this.#changes.count}\n\n`);
      const stopFollowing = this.#changes.follow(() => (isSignedIn() ? send() : finish()));
      this.#open.add(finish);
      send();
      return close;
    };
  }

  /** Ends every stream. */
  close(): void {
    for (const finish of this.#open) finish();
  }
}

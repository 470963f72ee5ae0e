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

/** The most of one session: browsers open six connections to one service, some of which pages and forms need. */
const maxOfSession = 4;

/** The streams of changes to open pages. Each event contains the number of changes so far and nothing else. */
export class ChangeStreams {
  readonly #changes: Changes;
  readonly #shares = new Shares(maxStreams);
  /** The functions that end the open streams, with the cookies of their sessions. */
  readonly #open = new Map<() => void, string>();

  constructor(changes: Changes) {
    this.#changes = changes;
  }

  /**
   * A stream that ends with its session: `isSignedIn` is checked at every change. `undefined` where the account has its
   * share of them, or the session.
   */
  stream(of: { accountId: string; cookie: string }, isSignedIn: () => boolean): EventStream | undefined {
    const ofSession = [...this.#open.values()].filter((cookie) => cookie === of.cookie).length;
    const part = this.#shares.of(of.accountId);
    if (ofSession >= maxOfSession || !part.take(1)) return undefined;
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
      this.#open.set(finish, of.cookie);
      send();
      return close;
    };
  }

  /** Ends every stream. */
  close(): void {
    for (const finish of this.#open.keys()) finish();
  }
}

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

/** The streams of changes to open pages. Each event contains the number of changes so far and nothing else. */
export class ChangeStreams {
  readonly #changes: Changes;
  readonly #open = new Set<() => void>();

  constructor(changes: Changes) {
    this.#changes = changes;
  }

  get full(): boolean {
    return this.#open.size >= maxStreams;
  }

  /** A stream that ends with its session: `isSignedIn` is checked before every event. */
  stream(isSignedIn: () => boolean): EventStream {
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
      this.#open.add(finish);
      report();
      return close;
    };
  }

  /** Ends every stream. */
  close(): void {
    for (const finish of this.#open) finish();
  }
}

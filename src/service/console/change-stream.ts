import type { Changes } from "../changes.ts";
import type { EventStream } from "../http/exchange.ts";

/** Where an open page follows the service's changes. */
export const changesPath = "/app/changes";

/** With this header a page is fetched by its own script: what is shown once is left for the person. */
export const refreshHeader = "x-console-refresh";

/** Pages that follow changes at most; further ones show them when they are loaded again. */
const maxStreams = 200;

/** The streams of changes to the pages that are open. Each event has the number of changes so far, and no more. */
export class ChangeStreams {
  readonly #changes: Changes;
  readonly #open = new Set<() => void>();

  constructor(changes: Changes) {
    this.#changes = changes;
  }

  get full(): boolean {
    return this.#open.size >= maxStreams;
  }

  /** A stream that ends with the session that it belongs to: `isSignedIn` is asked before every event. */
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

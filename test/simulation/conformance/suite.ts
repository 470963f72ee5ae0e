import { describe } from "vitest";
import { builtInsConform } from "./built-ins.ts";
import { controllersConform } from "./controllers.ts";
import { createsConform } from "./creates.ts";
import { deletionConforms } from "./deletion.ts";
import { expiryConforms } from "./expiry.ts";
import type { Cluster } from "./kube.ts";
import { listsConform } from "./lists.ts";
import { patchesConform } from "./patches.ts";
import { statusesConform } from "./statuses.ts";
import { updatesConform } from "./updates.ts";
import { watchesConform } from "./watches.ts";
import type { Widgets } from "./widget.ts";

/** What the suite runs on, created for each test. */
export interface Bench {
  cluster: Cluster;
  widgets: Widgets;
}

/** How one kind of cluster is had. */
export interface Host {
  /** A new namespace, on a cluster where widgets are served and the controllers run. */
  open(): Promise<Bench>;
  /** A definition of its own that a test may delete. */
  openOwnWidgets(): Promise<Bench>;
  /** A cluster that can be made to forget its history. */
  openForgetful(): Promise<Bench & { forgetHistory: () => Promise<void> }>;
}

/** Everything that the operator relies on of an API server: run against the one in memory and against a real one. */
export function conformance(name: string, host: Host): void {
  describe(`${name} behaves as the operator relies on`, () => {
    createsConform(host);
    updatesConform(host);
    patchesConform(host);
    statusesConform(host);
    builtInsConform(host);
    deletionConforms(host);
    listsConform(host);
    watchesConform(host);
    controllersConform(host);
    expiryConforms(host);
  });
}

import { describe } from "vitest";
import { builtInsConform } from "./built-ins.ts";
import { controllersConform } from "./controllers.ts";
import { createsConform } from "./creates.ts";
import { deletionConforms } from "./deletion.ts";
import { expiryConforms } from "./expiry.ts";
import type { Host } from "./host.ts";
import { listsConform } from "./lists.ts";
import { patchesConform } from "./patches.ts";
import { statusesConform } from "./statuses.ts";
import { updatesConform } from "./updates.ts";
import { watchesConform } from "./watches.ts";

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

import type { ServiceAccess } from "../../operator/project/service-access.ts";
import type { Clock } from "../../operator/runtime/clock.ts";
import type { Project } from "./tracked.ts";

/** A write is never aborted: it has a deadline of its own, and its outcome must be known. */
export const uninterrupted = new AbortController().signal;

/** Access of a command, which runs alone: no gate and no reservation. The client respects the service's limits. */
export function accessTo(project: Project, clock: Clock): ServiceAccess {
  const { client, listing } = project;
  const listed = listing?.kind === "listed" ? listing : undefined;
  const lister: ServiceAccess["lister"] = {
    listing: listed,
    observed: listed,
    underWay: new Set(),
    wrote: () => clock.monotonic(),
    answered: () => clock.monotonic(),
    operations: {
      follow: (operations) => {
        for (const operation of operations) project.operations.set(operation.id, operation);
      },
    },
  };
  const reservation = { tryTake: () => true, waitMs: 0, closedForMs: 0 };
  return { lister, client, reservation, gate: { pass: () => undefined, answered: () => {}, waitsAgain: false } };
}

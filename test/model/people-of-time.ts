import { annotations } from "../../src/operator/resources/names.ts";
import { entryIn, sized, wallIn } from "./calendar.ts";
import { annotated, edited, type Person } from "./people.ts";
import type { Service, Standing } from "./service.ts";
import type { Kube } from "./terms.ts";

// What people do in worlds with schedules and windows, and what the service does by itself.

function changed(service: Service, change: (endpoint: Standing) => Partial<Standing>): Service {
  return { ...service, endpoints: service.endpoints.map((endpoint) => ({ ...endpoint, ...change(endpoint) })) };
}

/** The entries with those in place of others. */
function withEntries(object: Kube, change: (entry: NonNullable<Kube["spec"]["schedule"]>[number]) => object) {
  const { schedule = [] } = object.spec;
  return edited(object, { schedule: schedule.map((entry) => ({ ...entry, ...change(entry) })) });
}

export const peopleOfTime: readonly Person[] = [
  {
    name: "somebody edits the size",
    needs: "resize",
    change: ({ object }) => edited(object, { computeUnits: sized(object.spec.computeUnits?.max === 2 ? 1 : 2) }),
  },
  {
    name: "somebody edits a setting and passwordlessAccess",
    needs: "tune",
    change: ({ object: { spec }, object }) =>
      edited(object, { postgresSettings: { work_mem: "8MB" }, passwordlessAccess: spec.passwordlessAccess !== true }),
  },
  {
    name: "somebody edits the size of the entry",
    needs: "reentry",
    change: ({ object }) =>
      withEntries(object, ({ computeUnits }) => ({ computeUnits: sized(computeUnits.max === 8 ? 4 : 8) })),
  },
  {
    name: "somebody gives the entry another name and size",
    needs: "rename",
    change: ({ object, facts: { broughtTo } }) =>
      withEntries(object, () => ({ name: "desk", computeUnits: sized(6) })).map(([what, change]) => [
        what,
        // The name before is lost where no status tells of the write.
        object.status.appliedEntry === broughtTo ? change : { ...change, facts: { isBlurred: true } },
      ]),
  },
  {
    name: "somebody lets connections be cut at any time",
    needs: "anyTime",
    change: ({ object }) => edited(object, { disruption: { anyTime: true } }),
  },
  {
    name: "somebody sets disruptionUntil",
    needs: "allow",
    change: ({ object }, { allowedUntil = "" }) => annotated(object, annotations.disruptionUntil, allowedUntil),
  },
  {
    name: "somebody edits managementPolicy",
    needs: "observe",
    change: ({ object }) =>
      edited(object, { managementPolicy: object.spec.managementPolicy === "Observe" ? "Manage" : "Observe" }),
  },
  {
    name: "somebody resizes the endpoint at the service",
    needs: "drift",
    // Nobody can tell whether this or a write that no status tells of changed the size last.
    change: ({ service, phase, object, facts: { broughtTo } }, configuration) => {
      const entry = entryIn(configuration, phase, object);
      const isBlurred =
        object.spec.schedule !== undefined && (entry !== broughtTo || entry !== object.status.appliedEntry);
      const now = wallIn(configuration, phase);
      const resized = changed(service, () => ({ size: 3, changedAt: now }));
      return [["", { service: resized, facts: isBlurred ? { isBlurred } : {} }]];
    },
  },
  {
    name: "the service suspends the compute",
    needs: "idle",
    change: ({ service }) => [["", { service: changed(service, () => ({ isIdle: true })) }]],
  },
  {
    name: "a client wakes the compute",
    needs: "wake",
    change: ({ service }) => [["", { service: changed(service, () => ({ isIdle: undefined })) }]],
  },
];

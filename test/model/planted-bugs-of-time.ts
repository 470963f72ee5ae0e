import type { Observation, Observed } from "../../src/operator/compute/observe/observation.ts";
import type { Compute } from "../../src/operator/resources/compute.ts";
import { annotations } from "../../src/operator/resources/names.ts";
import { schedule, sized, windows } from "./calendar.ts";
import { trusted } from "./canonical.ts";
import { officeDay, timed, windowNight } from "./configuration-of-time.ts";
import { type Parts, parts } from "./operator.ts";
import { inStatus, type PlantedBug, patching, planning, seeing, without } from "./planted-bugs.ts";

// One for each clause of what the operator promises of schedules, windows and observing.

const scheduled = (may: Record<string, number>) =>
  timed("a schedule", { clock: 1, ...may }, { phases: officeDay, spec: { schedule } });
const windowed = (may: Record<string, number>, fields = {}) =>
  timed("a window", { clock: 1, ...may }, { phases: windowNight, ...fields });

/** A change that is sent though it is to wait is stopped right before the request, or cuts connections. */
const notHeld = /waits, and it shows|cut outside a window/;
const isHeld = ({ moment }: Observed) => moment?.closed !== undefined;
const correction = {
  kind: "patch",
  attributes: { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 1 },
  fields: ["computeUnits.min", "computeUnits.max"],
  progress: "Updating",
  corrects: [],
} as const;
const wait = { kind: "noop", requeueAfterMs: 60_000 } as const;

export const plantedBugsOfTime: Readonly<Record<string, PlantedBug>> = {
  "an entry that begins and nobody looks": {
    parts: { ...parts, clockDueAt: () => Number.POSITIVE_INFINITY },
    configuration: scheduled({}),
    breaks: /boundary is missed/,
  },
  "a window that opens and nobody looks": {
    parts: { ...parts, clockDueAt: (o, s) => parts.clockDueAt(opened(o), s) },
    configuration: windowed({ resize: 1 }),
    breaks: /window is missed/,
  },
  "a schedule by the clock of the machine": {
    parts: { ...parts, now: (_, machine) => machine },
    configuration: scheduled({}),
    breaks: /the entry ends at/,
  },
  "an entry that waits for a window": {
    parts: broughtTo(({ moment }) => moment?.entry ?? ""),
    configuration: scheduled({}),
    breaks: /boundary is missed/,
  },
  "an edit of the entry in force that does not wait": {
    parts: seeing((state, compute, now) => {
      parts.seen(state, compute, now);
      const { accepted } = state.known;
      if (accepted !== undefined) Object.assign(state.known, { accepted: { ...accepted, entry: "another" } });
    }),
    configuration: scheduled({ reentry: 1 }),
    breaks: notHeld,
  },
  "an entry that leaves behind what waits": {
    parts: planning((o, s) => {
      const action = parts.plan(o, s);
      if (action.kind !== "patch" || action.entry === undefined || !isHeld(o)) return action;
      const { settings: _, ...attributes } = action.attributes;
      return { ...action, attributes };
    }),
    configuration: scheduled({ tune: 1 }),
    breaks: /left behind/,
  },
  "an entry that the status does not remember": {
    parts: patching((ops) => ops.map((op) => inStatus(op, (status) => without(status, "appliedEntry")))),
    configuration: scheduled({}),
    breaks: /appliedEntry is/,
  },
  "a status held back that names the entry of its own moment": {
    parts: {
      ...parts,
      updateStatus: (latest, o, ...rest) => {
        const { held } = rest[1].state.known;
        if (held?.effect.kind === "accepted") Object.assign(held.effect, { entry: o.moment?.entry ?? "" });
        return parts.updateStatus(latest, o, ...rest);
      },
    },
    configuration: timed("a create", { loss: 1 }, { phases: officeDay, startsMade: false, spec: { schedule } }),
    breaks: /boundary is missed/,
  },
  "a write without a status whose entry nobody looks for": {
    parts: observing((o) => withEndpoint(o, { updated_at: undefined })),
    configuration: scheduled({ reentry: 1, death: 1, clock: 2 }),
    breaks: /cut outside a window|boundary is missed/,
  },
  "a size that passes for harmless": {
    parts: openFor(({ computeUnits }) => computeUnits?.max === 2),
    configuration: windowed({ resize: 1 }),
    breaks: notHeld,
  },
  "a setting that passes for harmless": {
    parts: openFor(({ postgresSettings }) => postgresSettings !== undefined),
    configuration: windowed({ tune: 1 }),
    breaks: /what cuts nothing waits/,
  },
  "a move that passes for harmless": {
    parts: openFor(({ branchID }) => branchID === "br-1"),
    configuration: windowed({ edit: 1 }),
    breaks: notHeld,
  },
  "drift that is corrected at any time": {
    parts: planning((o, s) => {
      const { metadata, status } = o.compute;
      return parts.plan(metadata.generation === status.appliedGeneration ? opened(o) : o, s);
    }),
    configuration: windowed({ drift: 1 }),
    breaks: notHeld,
  },
  "an edit that waits whole": {
    parts: planning((o, s) => {
      const action = parts.plan(o, s);
      if (action.kind !== "patch" || action.waiting === undefined) return action;
      const { waiting } = action;
      return { kind: "settled", reason: "WaitingForWindow", message: "", drift: [], waiting };
    }),
    configuration: windowed({ tune: 1 }),
    breaks: /what cuts nothing waits/,
  },
  "a create that waits for a window": {
    parts: waitingFor(({ kind }) => kind === "create"),
    configuration: windowed({}, { startsMade: false }),
    breaks: /there is no endpoint/,
  },
  "a restart that waits for a window": {
    parts: waitingFor(({ kind }) => kind === "restart"),
    configuration: windowed({ restart: 1 }),
    breaks: /the restart r1 is not reported/,
  },
  "a disable that waits for a window": {
    parts: waitingFor((action) => action.kind === "patch" && action.attributes.disabled !== undefined),
    configuration: windowed({ disable: 1 }),
    breaks: /it is not disabled/,
  },
  "a deletion that waits for a window": {
    parts: waitingFor(({ kind }) => kind === "delete"),
    configuration: windowed({ delete: 1 }),
    breaks: /the Compute is not let go/,
  },
  "a suspended compute that waits for a window": {
    parts: observing((o) => withEndpoint(o, { current_state: "active" })),
    configuration: windowed({ resize: 1, idle: 1, clock: 0 }),
    breaks: /nobody is connected/,
  },
  "a list of long ago that shows a compute suspended": {
    parts: observing((o) => (o.kind === "observed" ? { ...o, startedAt: o.now } : o)),
    configuration: windowed({ resize: 1, idle: 1, clock: 0 }, { held: true }),
    breaks: /cut outside a window/,
  },
  "anyTime that does not overrule the connection": {
    parts: {
      ...parts,
      momentOf: ({ metadata, spec }, of, now) => {
        const { disruption } = spec;
        const isAny = disruption !== undefined && "anyTime" in disruption;
        return parts.momentOf({ metadata, spec: isAny ? { ...spec, disruption: of } : spec }, of, now);
      },
    },
    configuration: windowed({ resize: 1, anyTime: 1, clock: 0 }, { ofConnection: { windows }, spec: onlySized() }),
    breaks: /window is missed/,
  },
  "a default of the connection that is not looked at": {
    parts: { ...parts, momentOf: (compute, _, now) => parts.momentOf(compute, undefined, now) },
    configuration: windowed({ resize: 1, clock: 0 }, { ofConnection: { windows }, spec: onlySized() }),
    breaks: notHeld,
  },
  "a disruptionUntil that is not read": {
    parts: allowingUntil(""),
    configuration: allowed(),
    breaks: /window is missed/,
  },
  "a disruptionUntil that has passed and counts": {
    parts: allowingUntil("2100-01-01T00:00:00Z"),
    configuration: allowed(),
    breaks: notHeld,
  },
  "a change that waits, and no status says so": {
    parts: patching((ops) => ops.map((op) => inStatus(op, (status) => without(status, "waiting")))),
    configuration: windowed({ resize: 1 }),
    breaks: /the status does not say so/,
  },
  "a window that no status names": {
    parts: patching((ops) => ops.map((op) => inStatus(op, (status) => without(status, "nextWindow")))),
    configuration: windowed({ resize: 1 }),
    breaks: /the next window opens/,
  },
  "a Compute that only observes, and writes": {
    parts: planning(
      (o, s) => {
        const action = parts.plan(o, s);
        const id = o.kind === "observed" ? o.links.link?.endpoint.id : undefined;
        const isDrift = action.kind === "settled" && action.reason === "Observed" && action.drift.length > 0;
        return isDrift && id !== undefined ? { ...correction, endpointID: id } : action;
      },
      // The last guard would stop it.
      { guard: () => undefined },
    ),
    configuration: windowed({ observe: 1, drift: 1 }, { spec: onlySized() }),
    breaks: /observe: PATCH/,
  },
  "a Compute that only observes, and keeps its finalizer": {
    parts: planning((o, s) => {
      const action = parts.plan(o, s);
      return action.kind === "dropFinalizer" ? { kind: "settled", reason: "Observed", message: "", drift: [] } : action;
    }),
    configuration: windowed({ observe: 1, clock: 0 }),
    breaks: /the finalizer holds/,
  },
  "a Compute that only observes, and shows its drift as waiting": {
    parts: patching((ops) =>
      ops.map((op) =>
        inStatus(op, (status) =>
          status["managementPolicy"] === "Observe"
            ? { ...status, waiting: [{ field: "computeUnits", ours: "" }] }
            : status,
        ),
      ),
    ),
    configuration: windowed({ observe: 1, clock: 0 }),
    breaks: /something waits of what is only observed/,
  },
};

function onlySized() {
  return { computeUnits: sized(1), disruption: undefined };
}

function allowed() {
  return windowed(
    { resize: 1, allow: 1 },
    {
      phases: [windowNight[0], windowNight[2]],
      allowedUntil: windowNight[2]?.at,
    },
  );
}

function opened<T extends Observed>(o: T): T {
  if (o.moment === undefined) return o;
  const { closed: _, ...moment } = o.moment;
  return { ...o, moment };
}

/** No window is closed for a spec like this. */
function openFor(isSo: (spec: Compute["spec"]) => boolean): Parts {
  return planning((o, s) => parts.plan(isSo(o.compute.spec) ? opened(o) : o, s));
}

/** Actions like this wait for a window. */
function waitingFor(waits: (action: ReturnType<Parts["plan"]>) => boolean): Parts {
  return planning((o, s) => {
    const action = parts.plan(o, s);
    return isHeld(o) && waits(action) ? wait : action;
  });
}

function observing(change: (o: Observed) => Observed): Parts {
  return { ...parts, observe: async (...args) => change(await parts.observe(...args)) };
}

function withEndpoint(o: Observed, fields: object): Observed {
  if (o.kind !== "observed" || o.links.link === undefined) return o;
  const { link } = o.links;
  return trusted<Observation>({
    ...o,
    links: { ...o.links, link: { ...link, endpoint: { ...link.endpoint, ...fields } } },
  });
}

/** The service counts as brought to this entry. */
function broughtTo(entryOf: (o: Observed) => string): Parts {
  return planning((o, s) => {
    const entry = entryOf(o);
    const status = { ...o.compute.status, appliedEntry: entry };
    const accepted = s.accepted && { ...s.accepted, entry };
    return parts.plan({ ...o, compute: { ...o.compute, status } }, { ...s, accepted });
  });
}

function allowingUntil(time: string): Parts {
  const given = (all: Record<string, string> = {}) =>
    all[annotations.disruptionUntil] === undefined ? all : { ...all, [annotations.disruptionUntil]: time };
  return {
    ...parts,
    momentOf: ({ metadata, spec }, of, now) =>
      parts.momentOf({ metadata: { ...metadata, annotations: given(metadata.annotations) }, spec }, of, now),
  };
}

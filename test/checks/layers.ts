import type { Import, Source } from "./sources.ts";

/** What the files of each layer may import, besides files of their own. Nothing else points anywhere. */
const layers: Readonly<Record<string, readonly string[]>> = {
  main: ["cli", "operator", "service", "api"],
  cli: ["operator", "api", "command-line"],
  operator: ["api", "command-line"],
  service: ["api", "command-line"],
  "command-line": [],
  api: [],
};

const clients = ["service-client", "kube", "metrics", "runtime", "objects", "resources", "conditions"];

/** The same inside the operator. Files directly below src/operator join the layers and may import all of them. */
const operatorLayers: Readonly<Record<string, readonly string[]>> = {
  manager: [
    "compute",
    "branch",
    "pool",
    "life",
    "fields",
    "claims",
    "connection-secret",
    "connection",
    "project",
    ...clients,
  ],
  compute: ["life", "fields", "claims", "connection-secret", "connection", "project", ...clients],
  // What a spec and an endpoint say of the same fields: neither claims nor plans are asked.
  fields: ["objects", "resources"],
  // Who owns which endpoint follows from Computes and lists alone: no connection, no reason, no memory of a reconcile.
  claims: ["kube", "runtime", "objects", "resources"],
  // A Secret follows from a Compute and its endpoint: no reconcile, no list, no session.
  "connection-secret": ["service-client", "kube", "runtime", "objects", "resources"],
  // What the reconcile of every kind has, once.
  life: ["project", ...clients],
  branch: ["life", "connection", "project", ...clients],
  pool: ["life", "connection", ...clients],
  connection: ["life", "project", ...clients],
  // What Computes and Branches share of a project; no connection is known.
  project: clients,
  "service-client": ["runtime", "objects", "resources"],
  kube: ["runtime", "objects"],
  metrics: ["runtime", "objects", "resources"],
  runtime: [],
  objects: [],
  resources: ["objects"],
  conditions: ["objects", "resources"],
  tracing: ["runtime"],
};

/** The same inside the service: who owns, computes, branches, and the three ways in. */
const serviceRooms: Readonly<Record<string, readonly string[]>> = {
  // Budgets and lines of all clients: nothing of the service is known.
  sharing: [],
  store: [],
  accounts: ["store"],
  computes: ["accounts", "store"],
  domain: ["computes", "accounts", "store"],
  http: ["domain", "computes", "accounts", "store", "sharing"],
  console: ["http", "domain", "computes", "accounts", "store", "sharing"],
  // The driver's calls come through the HTTP server.
  postgres: ["http", "domain", "computes", "accounts", "store", "sharing"],
  seed: ["domain", "computes", "accounts", "store"],
};

/** The rooms of real servers from the ground floor up, as those of a Compute's reconcile. */
const postgresFloors = [
  "host",
  "session",
  "data",
  "server",
  "schema",
  "catalog",
  "history",
  "branches",
  "fleet",
  "proxy",
  "driver",
];

/** The rooms of a Compute's reconcile from the ground floor up: each imports from floors below its own, types too. */
const computeFloors = [
  "words",
  "outcome",
  "memory",
  "observe",
  "held",
  "candidates",
  "record",
  "plan",
  "guard",
  "requeue",
  "reconcile-state",
  "execute",
  "status",
  "update-status",
  "bind",
  "kind",
  "steps",
  "reconciler",
];

/** The only readers of `status/`: what it writes, nothing else is decided from. */
const statusReaders: readonly (string | undefined)[] = ["status", "update-status", "kind"];

/** The floor that any operator could stand on: it knows nothing of computes, the wire format included. */
const groundFloor = /^src\/operator\/(runtime|objects|kube)\//;

/** Packages that only one place may know, so that the rest can be run without it. */
const owners: Readonly<Record<string, RegExp>> = {
  "@kubernetes/client-node": /^src\/operator\/kube\//,
  "p-retry": /^src\/operator\/service-client\/http-transport\.ts$/,
  undici: /^src\/operator\/(runtime\/http|(kube|service-client)\/http-transport)\.ts$/,
  "@opentelemetry": /^src\/operator\/tracing\//,
  commander: /^src\/command-line\.ts$/,
  "node:sqlite": /^src\/service\//,
  // What the clock and the process stand for, by another door.
  "node:timers": /^src\/main\.ts$/,
  "node:process": /^src\/main\.ts$/,
};

/** What only `main.ts` may touch: all else is given time, chance, network and environment. */
const effects = [
  /^(process|setTimeout|setInterval|setImmediate|fetch|performance|globalThis)\b/,
  /^(new Date\(\)|Date\(.*\)|Date\.now|Math\.random|AbortSignal\.timeout)$/,
  // As a whole they can be taken apart anywhere.
  /^(Date|Math|AbortSignal)$/,
];

/**
 * What can be driven by no port: the network adapter holds p-retry, which has timers of its own, and Node's loop has
 * turns of its own, in which sockets are read and answers made.
 */
const excepted: Readonly<Record<string, string>> = {
  "src/operator/service-client/http-transport.ts": "AbortSignal.timeout",
  "src/service/http/long-answers.ts": "setImmediate(…)",
  "src/service/postgres/session/sql-client.ts": "setImmediate(…)",
  "src/service/postgres/schema/steps.ts": "setImmediate(…)",
  "src/service/sharing/slices.ts": "setImmediate(…)",
};

/** Imports against the direction of the layers, or of a package by who may not know it. */
export function forbiddenImports(sources: readonly Source[]): string[] {
  const all = sources.flatMap(({ imports }) => imports);
  return all
    .filter(
      (each) =>
        crosses(each, layers, topLayer) ||
        crosses(each, operatorLayers, roomIn("operator")) ||
        crosses(each, serviceRooms, roomIn("service")) ||
        leavesFloor(each) ||
        isStranger(each),
    )
    .map(arrow);
}

/**
 * Imports inside `compute/`, or between the rooms of real servers, that run back up, from or into a room without a
 * floor, or into `status/` by a reader.
 */
export function upwardImports(sources: readonly Source[]): string[] {
  return sources
    .flatMap(({ imports }) => imports)
    .filter(({ from, to }) => {
      const [source, target] = [computeRoom(from), computeRoom(to)];
      const isRead = target === "status" && source !== "status" && !statusReaders.includes(source);
      return (
        isRead ||
        climbs(source, target, computeFloors) ||
        climbs(roomOfServers(from), roomOfServers(to), postgresFloors)
      );
    })
    .map(arrow);
}

function climbs(source: string | undefined, target: string | undefined, floors: readonly string[]): boolean {
  if (source === undefined || target === undefined || source === target) return false;
  const [floor, below] = [floors.indexOf(source), floors.indexOf(target)];
  return below < 0 || floor <= below;
}

/** What pure modules reach, however far away, that acts. */
export function impureReaches(sources: readonly Source[]): string[] {
  const acts = /^src\/operator\/(service-client|kube|connection|project)\//;
  const pure = /^src\/operator\/(compute|branch|life)\/(plan|status|words|guard)(\.ts|\/|-)/;
  const start = sources.filter(({ file }) => pure.test(file));
  return start.flatMap(({ file }) =>
    reachable(file, sources)
      .filter((to) => acts.test(to))
      .map((to) => `${file} → ${to}`),
  );
}

/** Circles of modules that import one another, types alone included, each once: a reader cannot begin anywhere. */
export function cycles(sources: readonly Pick<Source, "file" | "imports">[]): string[] {
  const imported = new Map(sources.map(({ file, imports }) => [file, imports.map(({ to }) => to)]));
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    const at = path.indexOf(file);
    if (at >= 0) found.push([...path.slice(at), file].join(" → "));
    if (at >= 0 || done.has(file)) return;
    for (const next of imported.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  };
  for (const { file } of sources) visit(file, []);
  return found;
}

/** Where a module reaches for an effect that it should have been given. */
export function ungivenEffects(sources: readonly Source[]): string[] {
  return sources
    .filter(({ file }) => file !== "src/main.ts")
    .flatMap(({ globals }) => globals)
    .filter(({ file, name }) => effects.some((effect) => effect.test(name)) && excepted[file] !== name)
    .map(({ file, line, name }) => `${file}:${line}: ${name}`);
}

function crosses(
  { from, to }: Import,
  table: Readonly<Record<string, readonly string[]>>,
  layerOf: (file: string) => string | undefined,
): boolean {
  const [source, target] = [layerOf(from), layerOf(to)];
  if (source === undefined || target === undefined || source === target) return false;
  return table[source]?.includes(target) !== true;
}

function leavesFloor({ from, to }: Import): boolean {
  return groundFloor.test(from) && to.startsWith("src/") && !groundFloor.test(to);
}

function isStranger({ from, to }: Import): boolean {
  const owner = Object.entries(owners).find(([name]) => to === name || to.startsWith(`${name}/`))?.[1];
  return owner !== undefined && !owner.test(from);
}

function topLayer(file: string): string | undefined {
  return /^src\/([^/]+?)(\.ts$|\/)/.exec(file)?.[1];
}

function roomIn(layer: "operator" | "service" | "service/postgres") {
  const room = new RegExp(`^src/${layer}/([^/]+)/`);
  return (file: string) => room.exec(file)?.[1];
}

const roomOfServers = roomIn("service/postgres");

function computeRoom(file: string): string | undefined {
  return /^src\/operator\/compute\/([^/]+?)(\.ts$|\/)/.exec(file)?.[1];
}

function loadsOf(sources: readonly Source[]): Map<string, string[]> {
  return new Map(
    sources.map(({ file, imports }) => [file, imports.filter(({ typeOnly }) => !typeOnly).map(({ to }) => to)]),
  );
}

/** Every file that is loaded when this one is. */
function reachable(start: string, sources: readonly Source[]): string[] {
  const loads = loadsOf(sources);
  const seen = new Set<string>();
  const follow = (file: string): void => {
    for (const next of loads.get(file) ?? []) {
      if (seen.has(next)) continue;
      seen.add(next);
      follow(next);
    }
  };
  follow(start);
  return [...seen];
}

/** Modules that run something, reached from these: they are loaded although only the flags are asked for. */
export function runnersLoaded(starts: readonly string[], sources: readonly Source[]): string[] {
  const runs =
    /^src\/(operator\/(command\.ts|operator\.ts|(manager|compute|branch|kube)\/)|service\/(command|run|service|[a-z]+\/(?!loopback)))/;
  return starts.flatMap((file) =>
    [file, ...reachable(file, sources)].filter((to) => runs.test(to)).map((to) => `${file} → ${to}`),
  );
}

function arrow({ from, to }: Import): string {
  return `${from} → ${to}`;
}

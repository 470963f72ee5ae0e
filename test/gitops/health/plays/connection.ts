import { storedKeySecret } from "../../../integration/support/manifests.ts";
import { goodKey, project } from "../../../integration/support/seeded-service.ts";
import { refusal } from "../answers.ts";
import type { Kind } from "../view.ts";
import { HealthWorld } from "../world.ts";
import type { Play } from "./play.ts";

/** The same for both kinds of connection. */
const connections = ["ServiceConnection", "ClusterServiceConnection"] as const satisfies readonly Kind[];
type ConnectionKind = (typeof connections)[number];

function connect(world: HealthWorld, kind: ConnectionKind, spec: Record<string, unknown> = {}): void {
  const reach = kind === "ClusterServiceConnection" ? { namespaceSelector: {}, allowedProjects: [project] } : {};
  const fields = { baseURL: "http://service.test/api/v2", apiKeySecretRef: { name: "service-api-key" } };
  world.create(kind, "own", { ...fields, ...reach, ...spec });
}

/** A world whose two namespaces for keys hold one. */
function worldWithKey(data = storedKeySecret(goodKey).data): HealthWorld {
  const world = new HealthWorld();
  for (const namespace of ["shop", "compute-operator-system"]) {
    world.send("POST", `/api/v1/namespaces/${namespace}/secrets`, { ...storedKeySecret(goodKey), data });
  }
  return world;
}

const life =
  (kind: ConnectionKind): Play =>
  async () => {
    const world = worldWithKey();
    connect(world, kind);
    await world.row(kind, { name: "own", reason: "", current: false, remark: "created, not seen by the operator yet" });
    await world.row(kind, { name: "own", reason: "Authenticated" });
    world.change(kind, "own", { refreshInterval: "10s" });
    const edited = { reason: "Authenticated", current: false, remark: "edited, not seen by the operator yet" };
    await world.row(kind, { name: "own", ...edited });
    world.declare("shop", "db", { connectionRef: { kind, name: "own" } });
    await world.ready("shop", "db");
    world.delete(kind, "own");
    await world.row(kind, { name: "own", reason: "Deleting", deleting: true, remark: "deletion in progress" });
    return world;
  };

/** A connection that the operator cannot use. */
const unusable =
  (
    kind: ConnectionKind,
    reason: string,
    spec: Record<string, unknown>,
    {
      remark = "",
      key = storedKeySecret(goodKey).data,
    }: { remark?: string; key?: Record<string, string> | undefined } = {},
  ): Play =>
  async () => {
    const world = worldWithKey(key);
    connect(world, kind, spec);
    await world.row(kind, { name: "own", reason, remark });
    return world;
  };

const failing =
  (kind: ConnectionKind, reason: string, status: number): Play =>
  async () => {
    const world = worldWithKey();
    world.host.instead = () => refusal(status, "not now");
    connect(world, kind);
    await world.row(kind, { name: "own", reason });
    return world;
  };

const unreadable = { caBundle: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" };

export const connectionPlays: readonly Play[] = connections.flatMap((kind) => [
  life(kind),
  failing(kind, "Unreachable", 503),
  unusable(kind, "Unreachable", unreadable, { remark: "`spec.caBundle` cannot be read" }),
  failing(kind, "Unauthorized", 401),
  unusable(kind, "NotAllowed", { baseURL: "http://elsewhere.example.com/api/v2" }),
  unusable(kind, "SecretNotFound", { apiKeySecretRef: { name: "missing" } }),
  unusable(kind, "InvalidSecret", {}, { key: { other: "eA==" } }),
]);

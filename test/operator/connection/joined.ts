import { SessionRegistry } from "../../../src/operator/connection/registry.ts";
import type { Secret } from "../../../src/operator/resources/secret.ts";
import type { ServiceConnection } from "../../../src/operator/resources/service-connection.ts";
import { Budgets } from "../../../src/operator/service-client/budgets.ts";
import type { ServiceRequest, ServiceResponse } from "../../../src/operator/service-client/transport.ts";
import { compute } from "../../support/builders.ts";
import { apiKeySecret, connection, withoutCluster } from "../../support/connections.ts";
import { json, ScriptedService } from "../../support/scripted-service.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

/** Connections of the team as the cache holds them, all to one service; the first joined and probed. */
export function setUp(options: { connections?: ServiceConnection[]; secrets?: Secret[]; budgetShare?: number } = {}) {
  const { connections: cached = [connection()], secrets = [apiKeySecret()], budgetShare = 1 } = options;
  const clock = new VirtualClock();
  const service = new ScriptedService();
  const answers: Record<string, (request: ServiceRequest) => ServiceResponse | Promise<ServiceResponse>> = {
    "/auth": () => json(200, { account_id: "acc", auth_method: "api_key_user" }),
    "/projects": () => json(200, { projects: [{ id: "shop" }] }),
  };
  service.script = (request) => answers[request.path]?.(request) ?? json(200, { endpoints: [] });
  const woken: string[] = [];
  const unused: string[] = [];
  const connections = new SessionRegistry({
    log: silentLogger,
    cache: {
      connection: (_, name) => cached.find(({ metadata }) => metadata.name === name),
      secret: (_, name) => secrets.find(({ metadata }) => metadata.name === name),
      ...withoutCluster,
    },
    allowedBaseURLs: ["https://service.example.com/api/v2"],
    budgetShare,
    transport: service,
    budgets: new Budgets(clock),
    namesShownBy: new Set<string>(),
    clock,
    beforeWrite: () => {},
    signal: new AbortController().signal,
    enqueue: () => {},
    enqueueConnections: (uids) => woken.push(...uids),
    onUnused: (project) => unused.push(project),
  });
  const join = (one: ServiceConnection) => {
    const resolved = connections.resolved(one);
    if (resolved.kind !== "account") throw new Error(resolved.message);
    return connections.join(one, resolved.account);
  };
  const probed = async (one = cached[0] ?? connection()) => {
    const session = join(one);
    session.probe();
    await clock.settle();
    return session;
  };
  const view = (name = "default", project = "shop") =>
    connections.view(compute({ spec: { projectID: project, connectionRef: { name } } }));
  return { clock, service, answers, connections, join, probed, view, woken, unused, cached, secrets };
}

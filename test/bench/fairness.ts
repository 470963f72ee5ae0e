import type { ServerResponse } from "node:http";
import { startWithCrds } from "../control-plane/crds.ts";
import { type Access, kubectl, listOf } from "../control-plane/kubectl.ts";
import { compute, connection, keySecret } from "../e2e/manifests.ts";
import { connect } from "../e2e/process-stage.ts";
import { HostileServer, json } from "../operator/kube/hostile-server.ts";
import { OperatorProcess, ServiceProcess } from "../support/processes.ts";
import { type Bench, type Figure, quantile } from "./figures.ts";
import { WatchedComputes } from "./watched-computes.ts";

const good = 50;
const bad = 500;
const projects = 10;
/** How long the operator is let run at the bad neighbour's Computes before the good one declares its own. */
const headStartMs = 10_000;
/** As often as that alone a median may be; what is left is the processor that both share. */
const promised = 2;

/** What a neighbour's service does with a request, `list` whether it only reads. */
type Misbehaviour = (response: ServerResponse, list: boolean, url: string) => void;

interface Neighbour {
  connections: number;
  behaviour: Misbehaviour;
}

function listsWell(response: ServerResponse, url: string): void {
  json(response, 200, { auth_method: "api_key_user", projects: [], endpoints: [], operations: [], url });
}

const neighbours: Readonly<Record<string, Neighbour>> = {
  "never answers": { connections: 1, behaviour: () => undefined },
  "answers 429 and asks for an hour": {
    connections: 1,
    behaviour: (response) => json(response, 429, { code: "", message: "slow down" }, { "retry-after": "3600" }),
  },
  "answers after three seconds": {
    connections: 1,
    behaviour: (response, _, url) => void setTimeout(() => listsWell(response, url), 3000),
  },
  "lists well and never answers a write": {
    connections: 1,
    behaviour: (response, list, url) => (list ? listsWell(response, url) : undefined),
  },
  "does so on 25 connections": {
    connections: 25,
    behaviour: (response, list, url) => (list ? listsWell(response, url) : undefined),
  },
};

/** How long a tenant's Computes take where another tenant's service is no good: both through one operator. */
export const fairness: Bench = {
  name: "fairness",
  measures: `from ADDED to Ready of ${good} Computes, alone and beside ${bad} of a tenant whose service is no good`,
  async run(progress) {
    await using controlPlane = await startWithCrds();
    const cluster = controlPlane.admin;
    const rounds = ["alone", ...Object.keys(neighbours)];
    await using service = await ServiceProcess.start({ seed: seedOf(rounds.length), timeScale: 20 });
    const figures: Figure[] = [];
    let alone = Number.NaN;
    for (const [round, name] of rounds.entries()) {
      progress(name);
      const samples = await timesToReady(cluster, service, round, neighbours[name]);
      const median = quantile(samples, 0.5);
      if (round === 0) alone = median;
      const beside = round === 0 ? "alone" : `beside a tenant whose service ${name}`;
      figures.push({ name: `time to Ready ${beside}`, unit: "s", samples });
      if (round > 0)
        figures.push({
          name: "  its median, in times of that alone",
          unit: "×",
          samples: [median / alone],
          below: promised,
        });
    }
    return figures;
  },
};

/** Seconds from ADDED to Ready of each of the good tenant's Computes. */
async function timesToReady(
  cluster: Access,
  service: ServiceProcess,
  round: number,
  neighbour: Neighbour | undefined,
): Promise<number[]> {
  const [ours, theirs] = [`good-${round}`, `bad-${round}`];
  for (const namespace of [ours, theirs]) await kubectl(["create", "namespace", namespace], cluster);
  await using _ = await OperatorProcess.start({
    kubeconfig: cluster.kubeconfig,
    namespaces: [ours, theirs],
  });
  await connect(ours, cluster, { baseURL: service.baseURL, key: keyOf(round), spec: budget });
  const server = neighbour === undefined ? undefined : await declareBad(cluster, theirs, neighbour);

  using watched = await WatchedComputes.start(cluster.kubeconfig, ours);
  const declared = Array.from({ length: good }, (__, index) => {
    const projectID = `project-${round}-${index % projects}`;
    const branchID = `br-${round}-${index % projects}-${Math.floor(index / projects)}`;
    return compute(`good-${index}`, { projectID, branchID });
  });
  await apply(cluster, ours, declared);
  await watched.allReady(good, 300_000);
  await server?.stop();
  return [...watched.moments.values()].map(({ addedAt, ready }) => ((ready?.at ?? Number.NaN) - addedAt) / 1000);
}

async function declareBad(
  cluster: Access,
  namespace: string,
  { connections, behaviour }: Neighbour,
): Promise<HostileServer> {
  const server = new HostileServer();
  server.behaviour = (request, response) => behaviour(response, request.method === "GET", request.url ?? "");
  const baseURL = `${await server.start()}/api/v2`;
  const names = Array.from({ length: connections }, (_, index) => (index === 0 ? "default" : `other-${index}`));
  const ways = names.flatMap((name) => [
    { ...keySecret(`key-of-${name}`), metadata: { name: `key-${name}` } },
    { ...connection(baseURL, { ...budget, apiKeySecretRef: { name: `key-${name}` } }), metadata: { name } },
  ]);
  await apply(cluster, namespace, ways);
  const computes = Array.from({ length: bad }, (_, index) => {
    const connectionRef = { name: names[index % connections] };
    return compute(`bad-${index}`, { projectID: `theirs-${index}`, branchID: "br-main", connectionRef });
  });
  await apply(cluster, namespace, computes);
  await new Promise((resolve) => setTimeout(resolve, headStartMs));
  return server;
}

/** Not what this is about. */
const budget = { requestBudget: { perMinute: 100_000, burst: 1000 } };

async function apply(cluster: Access, namespace: string, items: readonly object[]): Promise<void> {
  await kubectl(["--namespace", namespace, "create", "-f", "-"], { ...cluster, input: listOf(items) });
}

function keyOf(round: number): string {
  return `org-key-${round}`;
}

/** An organization for each round: its account may send only so much in a minute. */
function seedOf(rounds: number): string {
  const every = Array.from({ length: rounds }, (_, round) => round);
  return JSON.stringify({
    accounts: [{ id: "acc-ana", email: "ana@example.com", plan: "scale" }],
    organizations: every.map((round) => ({
      id: `org-${round}`,
      plan: "scale",
      members: [{ account: "acc-ana", role: "admin" }],
      apiKeys: [{ name: "ci", key: keyOf(round) }],
    })),
    projects: every.flatMap((round) =>
      Array.from({ length: projects }, (_, project) => ({
        id: `project-${round}-${project}`,
        owner: `org-${round}`,
        branches: [
          { id: `br-${round}-${project}`, name: "main", default: true },
          ...Array.from({ length: good / projects }, (__, branch) => ({
            id: `br-${round}-${project}-${branch}`,
            name: `b${branch}`,
          })),
        ],
      })),
    ),
  });
}

import { type KubectlOptions, kubectl } from "../control-plane/kubectl.ts";
import { eventually } from "../support/eventually.ts";
import { costOf } from "./cost.ts";
import { databaseClient } from "./database.ts";
import type { Samples } from "./samples.ts";
import type { Screen } from "./screen.ts";
import type { Stage } from "./stage.ts";

const namespace = "shop";
const project = "shiny-wind-028834";
const name = "shop-analytics";

const manifest = `apiVersion: compute-operator.dev/v1alpha1
kind: Compute
metadata: {name: ${name}, namespace: ${namespace}}
spec:
  projectID: ${project}
  branchID: br-preview-1
  type: read_only
  computeUnits: {min: 0.25, max: 2}
`;

/** Walks a person through the life of a Compute: every command and every output is real. */
export async function walk(screen: Screen, stage: Stage, samples: Samples): Promise<void> {
  const steps = new Steps(screen, stage);
  const inShop = ["-n", namespace];

  await steps.step(
    "Apply the samples",
    "A connection to the service, three Computes, and two read replicas.",
    async () => {
      await steps.run(["apply", "-k", samples.directory]);
      await steps.wait(["computepool/shop-readers", "--for=jsonpath={.status.readyReplicas}=2", ...inShop]);
      await steps.wait(["compute", "--all", "--for=condition=Ready", ...inShop]);
      await steps.run(["get", "computes,computepools", ...inShop]);
    },
  );

  await steps.step("Create", "One more Compute becomes one more endpoint at the service.", async () => {
    await steps.run(["apply", "-f", "-"], manifest);
    await steps.wait([`compute/${name}`, "--for=condition=Ready", ...inShop]);
    await steps.run(["get", "compute", name, ...inShop]);
  });

  await steps.step("Resize", "A changed field is sent, and nothing else.", async () => {
    const patch = '{"spec":{"computeUnits":{"min":1,"max":4}}}';
    await steps.run(["patch", "compute", name, "--type=merge", "-p", patch, ...inShop]);
    await steps.wait([`compute/${name}`, "--for=condition=Ready", ...inShop]);
    await steps.run(["get", "compute", name, ...inShop]);
  });

  await steps.step("Restart", "Any new value of an annotation asks for one restart.", async () => {
    await steps.run(["annotate", "compute", name, "compute-operator.dev/restartedAt=monday", ...inShop]);
    await steps.wait([`compute/${name}`, "--for=jsonpath={.status.restartedAt}=monday", ...inShop]);
    await steps.wait([`compute/${name}`, "--for=condition=Ready", ...inShop]);
    const operations = '{range .status.operations[*]}{.createdAt}{"  "}{.action}{"  "}{.status}{"\\n"}{end}';
    await steps.run(["get", "compute", name, `-o=jsonpath=${operations}`, ...inShop]);
  });

  if (stage.postgres) await useDatabase(steps);

  await steps.step(
    "A change outside the operator",
    "The next list shows it, and the operator puts the spec back.",
    async () => {
      const path = `/projects/${project}/endpoints/${await steps.endpointID(name)}`;
      const body = { endpoint: { autoscaling_limit_min_cu: 8, autoscaling_limit_max_cu: 8 } };
      const status = await steps.callService("PATCH", path, body);
      screen.note(`Somebody else: PATCH ${path} ${JSON.stringify(body)}, answered ${status}.`);
      const correction = eventually("the operator to find it", () => stage.counter.writes[0], { timeoutMs: 90_000 });
      await screen.waiting("until the next list, at most 30 s", correction);
      await steps.wait([`compute/${name}`, "--for=condition=Ready", ...inShop]);
      await steps.run(["events", `--for=compute/${name}`, ...inShop]);
      await steps.run(["get", "compute", name, ...inShop]);
    },
  );

  await steps.step("Delete", "The endpoint goes first, the object after it.", async () => {
    await steps.run(["delete", "compute", name, ...inShop]);
    await steps.run(["get", "computes", ...inShop]);
  });
}

/** What an application sees of a compute: its database, also while the compute sleeps and restarts. */
async function useDatabase(steps: Steps): Promise<void> {
  const primary = "shop-preview";
  const inShop = ["-n", namespace];
  const client = await databaseClient(steps.screen);
  let uri = "";

  await steps.step("Connect", "A connection Secret has the URI of a real Postgres server.", async () => {
    const secret = { name: "shop-preview-db", database: "neondb", role: "neondb_owner" };
    const patch = JSON.stringify({ spec: { connectionSecret: secret } });
    await steps.run(["patch", "compute", primary, "--type=merge", "-p", patch, ...inShop]);
    await steps.wait([`compute/${primary}`, "--for=jsonpath={.status.binding.name}=shop-preview-db", ...inShop]);
    uri = await steps.uriIn("shop-preview-db");
    steps.screen.command(
      `URI=$(kubectl get secret shop-preview-db -n ${namespace} -o jsonpath={.data.uri} | base64 -d)`,
    );
    await client.run(uri, "CREATE TABLE greeting (text text)");
    await client.run(uri, "INSERT INTO greeting VALUES ('hello from a compute') RETURNING text");
  });

  await steps.step("Sleep and wake", "A client that connects to an idle compute starts it.", async () => {
    const path = `/projects/${project}/endpoints/${await steps.endpointID(primary)}`;
    steps.screen.note(
      `Somebody: POST ${path}/suspend, answered ${await steps.callService("POST", `${path}/suspend`)}.`,
    );
    await steps.run(["annotate", "compute", primary, "compute-operator.dev/reconcileRequestedAt=now", ...inShop]);
    await steps.wait([`compute/${primary}`, "--for=jsonpath={.status.state}=Idle", ...inShop]);
    await client.run(uri, "TABLE greeting");
  });

  await steps.step("Restart drops connections", "As the server says it itself; the rows stay.", async () => {
    const waiting = client.run(uri, "SELECT pg_sleep(60)");
    await eventually("the query to run", () => client.runs(uri, "SELECT pg_sleep(60)"), { timeoutMs: 30_000 });
    await steps.run(["annotate", "compute", primary, "compute-operator.dev/restartedAt=tuesday", ...inShop]);
    await waiting;
    await steps.wait([`compute/${primary}`, "--for=jsonpath={.status.restartedAt}=tuesday", ...inShop]);
    await client.run(uri, "TABLE greeting");
  });
}

class Steps {
  readonly screen: Screen;
  readonly #stage: Stage;
  readonly #kubectl: KubectlOptions;

  constructor(screen: Screen, stage: Stage) {
    this.screen = screen;
    this.#stage = stage;
    const { kubeconfig, binaries } = stage.controlPlane;
    this.#kubectl = { kubeconfig, kubectl: binaries.kubectl };
  }

  /** One step, and what it cost the service. */
  async step(title: string, explanation: string, work: () => Promise<void>): Promise<void> {
    this.screen.heading(title, explanation);
    this.#stage.counter.clear();
    await work();
    this.screen.note(`This cost the service ${costOf(this.#stage.counter.requests)}.`);
  }

  /** Shows a kubectl command, runs it, and shows what it wrote. */
  async run(args: readonly string[], input?: string): Promise<void> {
    const line = ["kubectl", ...args].map(quoted).join(" ");
    this.screen.command(input === undefined ? line : `${line} <<'EOF'\n${input}EOF`);
    this.screen.output(await kubectl(args, { ...this.#kubectl, ...(input !== undefined && { input }) }));
  }

  /** Shows a `kubectl wait`, and how long it took. */
  async wait(args: readonly string[]): Promise<void> {
    const all = ["wait", ...args, "--timeout=120s"];
    this.screen.command(["kubectl", ...all].map(quoted).join(" "));
    const output = await this.screen.waiting("waited", kubectl(all, this.#kubectl));
    this.screen.output(output);
  }

  endpointID(compute: string): Promise<string> {
    return kubectl(["get", "compute", compute, "-n", namespace, "-o=jsonpath={.status.endpointID}"], this.#kubectl);
  }

  /** The URI in a connection Secret. */
  async uriIn(secret: string): Promise<string> {
    const data = await kubectl(["get", "secret", secret, "-n", namespace, "-o=jsonpath={.data.uri}"], this.#kubectl);
    return Buffer.from(data, "base64").toString();
  }

  /** A call of somebody else's, which the counter does not see; resolves with its status. */
  async callService(method: string, path: string, body?: unknown): Promise<number> {
    const response = await fetch(`${this.#stage.service.baseURL}${path}`, {
      method,
      headers: { authorization: "Bearer org-key", "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return response.status;
  }
}

/** A word as a shell needs it. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

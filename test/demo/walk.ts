import { eventually } from "../support/eventually.ts";
import { databaseClient } from "./database.ts";
import type { Stage } from "./demo-stage.ts";
import { pullRequest, pullRequestEnds } from "./pull-request.ts";
import type { Samples } from "./samples.ts";
import type { Screen } from "./screen.ts";
import { Steps } from "./steps.ts";

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
  const steps = new Steps(screen, stage, namespace);
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

  const about = { namespace, project, postgres: stage.postgres };
  await pullRequest(steps, about);

  await steps.step(
    "A change outside the operator",
    "The next list shows it, and the operator puts the spec back.",
    async () => {
      const path = `/projects/${project}/endpoints/${await steps.endpointID(name)}`;
      const body = { endpoint: { autoscaling_limit_min_cu: 8, autoscaling_limit_max_cu: 8 } };
      const status = await steps.callService("PATCH", path, body);
      screen.note(`Outside the operator: PATCH ${path} ${JSON.stringify(body)}, answered ${status}.`);
      const correction = eventually("the operator to find it", () => stage.counter.writes[0], { timeoutMs: 90_000 });
      await screen.waiting("until the next list, at most 30 s", correction);
      await steps.wait([`compute/${name}`, "--for=condition=Ready", ...inShop]);
      await steps.run(["events", `--for=compute/${name}`, ...inShop]);
      await steps.run(["get", "compute", name, ...inShop]);
    },
  );

  await pullRequestEnds(steps, about);

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
      `At the service: POST ${path}/suspend, answered ${await steps.callService("POST", `${path}/suspend`)}.`,
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

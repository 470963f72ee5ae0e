import { eventually } from "../support/eventually.ts";
import { databaseClient } from "./database.ts";
import type { Steps } from "./steps.ts";

const name = "pr-7";
const secret = `${name}-db`;

const manifest = (namespace: string, project: string) => `apiVersion: compute-operator.dev/v1alpha1
kind: Branch
metadata: {name: ${name}, namespace: ${namespace}}
spec:
  projectID: ${project}
  branchName: preview/${name}
  expiry: {after: 72h}
  compute:
    computeUnits: {min: 0.25, max: 1}
    connectionSecret: {name: ${secret}, database: neondb, role: neondb_owner}
`;

/** What the steps about a pull request need. */
export interface PullRequestStage {
  namespace: string;
  project: string;
  /** Real servers run behind the computes. */
  postgres: boolean;
}

/** The database of one pull request, from its manifest until its end is near. */
export async function pullRequest(steps: Steps, { namespace, project, postgres }: PullRequestStage): Promise<void> {
  const { screen } = steps;
  const inNamespace = ["-n", namespace];
  const client = postgres ? await databaseClient(screen) : undefined;
  let uri = "";

  await steps.step(
    "A database for a pull request",
    "One file becomes a branch with the parent's data, its compute and a Secret.",
    async () => {
      const began = performance.now();
      await steps.run(["apply", "-f", "-"], manifest(namespace, project));
      await steps.wait([`brn/${name}`, "--for=condition=Ready", ...inNamespace]);
      await steps.wait([`compute/${name}`, `--for=jsonpath={.status.binding.name}=${secret}`, ...inNamespace]);
      uri = await steps.uriIn(secret);
      screen.command(`URI=$(kubectl get secret ${secret} -n ${namespace} -o jsonpath={.data.uri} | base64 -d)`);
      await client?.run(uri, "SELECT 'hello from a branch' AS text");
      const seconds = ((performance.now() - began) / 1000).toFixed(1);
      const what = client === undefined ? "the connection Secret" : "psql's answer through its Secret";
      screen.note(`From the file to ${what}: ${seconds} s.`);
      await steps.run(["get", "brn,compute", name, ...inNamespace]);
    },
  );

  await steps.step("Back to the parent's data", "A new value of resetAt; host and Secret stay.", async () => {
    await client?.run(uri, "CREATE TABLE scratch (text text)");
    await steps.run(["annotate", "brn", name, "compute-operator.dev/resetAt=wednesday", ...inNamespace]);
    await steps.wait([`brn/${name}`, "--for=jsonpath={.status.resetAt}=wednesday", ...inNamespace]);
    await steps.wait([`brn/${name}`, "--for=condition=Ready", ...inNamespace]);
    await client?.run(uri, "SELECT count(*) AS tables_named_scratch FROM pg_tables WHERE tablename = 'scratch'");
  });

  await steps.step("Another end", "Ten seconds from now the service ends the branch itself.", async () => {
    const patch = '{"spec":{"expiry":{"after":"10s"}}}';
    await steps.run(["patch", "brn", name, "--type=merge", "-p", patch, ...inNamespace]);
    await steps.wait([`brn/${name}`, "--for=jsonpath={.status.appliedExpiry}=after 10s", ...inNamespace]);
    await steps.run(["get", "brn", name, ...inNamespace]);
  });
}

/** The branch has come to its end. */
export async function pullRequestEnds(steps: Steps, { namespace }: PullRequestStage): Promise<void> {
  const inNamespace = ["-n", namespace];
  await steps.step("The branch has ended", "No copy of the parent is made in its place.", async () => {
    await steps.wait([`brn/${name}`, "--for=jsonpath={.status.state}=Expired", ...inNamespace]);
    await steps.run(["get", "brn,compute", name, ...inNamespace]);
    await steps.run(["delete", "brn", name, ...inNamespace]);
    const isGone = async () => ((await steps.names("brn,computes")).includes(name) ? undefined : true);
    await steps.screen.waiting("until its Compute is gone too", eventually("the Compute to go", isGone));
    await steps.run(["get", "brn", ...inNamespace]);
  });
}

import type { ConnectionReason } from "../src/operator/connection/condition.ts";
import { runUsage } from "../src/operator/flags.ts";
import { createMetrics, type Metrics } from "../src/operator/metrics/metrics.ts";

/** What the operator writes and takes besides the fields of its kinds: the second half of docs/reference.md. */
export async function referenceOfRun(): Promise<string[]> {
  return [
    "## Reasons of the other two kinds",
    "",
    "| kind | reason | Ready | what it tells |",
    "|---|---|---|---|",
    ...rows(connectionReasons, (reason) => `ServiceConnection\` | \`${reason}`),
    ...rows(poolReasons, (reason) => `ComputePool\` | \`${reason}`),
    "",
    "## Events",
    "",
    "On a transition, never on a repetition. Each reason of the three kinds' conditions is one (`Authenticated` only after trouble),",
    "`Deleting` also on a Secret with an API key that waits for its Computes, and besides:",
    "",
    "| reason | what was done |",
    "|---|---|",
    ...rows(events),
    "",
    "## The connection Secret",
    "",
    "Of type `servicebinding.io/postgresql`, named by `spec.connectionSecret` and `.status.binding`. With `database` and `role` in",
    "the spec the service is asked for the password again once an hour (one request for each such Secret, spread over the hour)",
    "and when `reconcileRequestedAt` changes. A role or database that the service does not know is `Rejected`.",
    "",
    "| key | |",
    "|---|---|",
    ...rows(secretKeys),
    "",
    "## Flags of the operator",
    "",
    "In the Deployment they follow `run` in `args`. Of each other command `--help` tells them.",
    "",
    "```",
    runUsage,
    "```",
    "",
    "## Metrics",
    "",
    "At `/metrics`, with those of Node and the process. More than 64 values of one label are counted as `other`.",
    "",
    "| metric | type | labels | |",
    "|---|---|---|---|",
    ...(await metricRows()),
    "",
  ];
}

const connectionReasons: Record<ConnectionReason, string> = {
  Authenticated: "True | the service accepts the key; the message says where its projects cannot be listed",
  Unauthorized: "False | the key is refused; until it is replaced only an occasional probe is sent",
  Unreachable: "False | no usable answer: network, certificate, 5xx; retried automatically",
  SecretNotFound: "False | no Secret of that name has the type `compute-operator.dev/api-key`",
  InvalidSecret: "False | the Secret does not hold a usable key under that name",
  NotAllowed:
    "False | `spec.baseURL` is not among `--allowed-base-url`; or the API server refuses the finalizer that holds connection and Secret",
  Deleting:
    "False | it is being deleted and waits for the Computes and ComputePools that use it, which the message names; nothing new is created through it",
};

const poolReasons = {
  Ready: "True | as many replicas as declared, all with the template, all ready",
  Scaling:
    "False | replicas are being made, changed or removed; many are made in batches of 1, 2, 4 and so on, with half a second after each of four or more",
  Conflict: "False, stalled | a Compute that is not the pool's has the name of one of its replicas",
  Rejected: "False, stalled | the API server refused to create, change or delete a replica",
};

const events = {
  Created: "an endpoint was made for this Compute",
  Adopted: "an endpoint that stood was taken over, as `spec.adopt` asks",
  Patched: "fields of the spec were sent; the message names them",
  Moved: "the endpoint was moved to another branch",
  Restarted: "the endpoint was restarted, as the annotation asked",
  DriftCorrected:
    "what somebody had changed at the service was put back: fields, theirs and ours; or a pool put its template back into a replica",
  Deleted:
    "the endpoint was deleted at the service; as a warning also the second of two with one marker, and what a Compute left that went without its finalizer",
  SecretUpdated:
    "a connection Secret that stood was written again: the role has another password, or (a warning) somebody had changed or deleted the Secret",
  Released: "the object went and the endpoint stays; the message says why",
};

const secretKeys = {
  "type, host, port": "`postgresql`, the endpoint's host, `5432`",
  "pooled-host": "the host of the connection pooler",
  "endpoint-id": "the service's id of the endpoint",
  "database, username, password": "with `database` and `role` in the spec: what to connect as",
  "uri, pooled-uri": "with `database` and `role` in the spec: the same as a URI, directly and through the pooler",
};

function rows(
  texts: Readonly<Record<string, string>>,
  named = (name: string) => name.replaceAll(", ", "`, `"),
): string[] {
  return Object.entries(texts).map(([name, text]) => `| \`${named(name)}\` | ${text} |`);
}

/** A value for every label that some metric has. */
const labels = {
  account: "x",
  action: "x",
  cause: "x",
  code: "x",
  connection: "x",
  kind: "x",
  method: "x",
  outcome: "x",
  project: "x",
  ready: "x",
  result: "x",
  route: "x",
  state: "x",
};

function touch(metric: Metrics[keyof Metrics]): void {
  if (typeof metric !== "object") return;
  if ("add" in metric) metric.add(labels);
  else if ("set" in metric) metric.set(labels, 1);
  else metric.observe(labels, 1);
}

/** Every metric is given one value, for a metric shows its labels no other way. */
async function metricRows(): Promise<string[]> {
  const metrics = createMetrics();
  for (const metric of Object.values(metrics)) touch(metric);
  const text = await metrics.text();
  return [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\w+)\n(.*)$/gm)].map(
    ([, name = "", help, type, first = ""]) => {
      const found = [...first.matchAll(/(\w+)="/g)].map(([, label = ""]) => label).filter((label) => label !== "le");
      return `| \`${name}\` | ${type} | ${found.map((label) => `\`${label}\``).join(", ")} | ${help} |`;
    },
  );
}

import type { BranchReason } from "../src/operator/branch/reasons.ts";
import type { ConnectionReason } from "../src/operator/connection/status.ts";
import { runSyntax } from "../src/operator/flags.ts";
import { createMetrics, type Metrics } from "../src/operator/metrics/metrics.ts";
import { annotations, finalizers, labels as labelNames } from "../src/operator/resources/names.ts";

/** What the operator writes and takes besides the fields of its kinds: the second half of docs/reference.md. */
export async function referenceOfRun(): Promise<string[]> {
  return [
    "## Reasons of the other kinds",
    "",
    "| kind | reason | Ready | what it tells |",
    "|---|---|---|---|",
    ...rows(connectionReasons, (reason) => `ServiceConnection\` | \`${reason}`),
    ...rows(poolReasons, (reason) => `ComputePool\` | \`${reason}`),
    ...rows(branchReasonTexts, (reason) => `Branch\` | \`${reason}`).filter((row) => !row.includes(asOfCompute)),
    `| \`Branch\` | ${alikeReasons.map((reason) => `\`${reason}\``).join(", ")} | ${asOfCompute} |`,
    "",
    "## Events",
    "",
    "Each change of a condition's reason is an event (`Authenticated` only after trouble); a repetition and a wait for a turn are",
    "none. A write that succeeds within ten seconds produces one event. `Deleting` is also one on a Secret with an API key that",
    "waits for its Computes. Besides:",
    "",
    "| reason | what was done |",
    "|---|---|",
    ...rows(events),
    "",
    "## Annotations, labels and finalizers",
    "",
    "For people to set, on a Compute unless the row says otherwise. A policy of the installation (`deploy/base/annotations`) refuses",
    "malformed values, and warns of an annotation that its kind does not read.",
    "",
    "| annotation | value | effect |",
    "|---|---|---|",
    ...rows(requests, (name) => annotations[name]),
    "",
    "Written by the operator. Do not edit them, and keep them in backups.",
    "",
    "| annotation of a Compute | value | what it records |",
    "|---|---|---|",
    ...rows(notes, (name) => annotations[name]),
    "",
    "| label or finalizer | on | meaning |",
    "|---|---|---|",
    ...rows(labelTexts, (name) => labelNames[name]),
    ...rows(finalizerTexts, (name) => finalizers[name]),
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
    "`spec.connectionSecret.template` adds keys (`data`), labels and annotations. A value of `data` is text with placeholders, which",
    "the keys above fill: `{host}`, `{pooled-host}`, `{port}`, and with `database` and `role` in the spec `{database}`, `{username}`,",
    "`{password}`, `{uri}` and `{pooled-uri}`. Any other brace is refused. After `://` or a `{uri}`, what is filled",
    "in is percent-encoded, and a host with colons stands in brackets. With the role `app`, the password `p@ss w` and the",
    "database `shop`:",
    "",
    "| value in the template | in the Secret |",
    "|---|---|",
    ...templateExamples.map(([written, filled]) => `| \`${written}\` | \`${filled}\` |`),
    "",
    "## Flags of the operator",
    "",
    "In the Deployment they follow `run` in `args`. `--help` lists the flags of any other command.",
    "",
    "```",
    runSyntax.helpInformation(),
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
  Unauthorized: "False, stalled | the key is refused; until it is replaced only an occasional probe is sent",
  Unreachable:
    "False, Unknown until the service has answered; stalled if `spec.caBundle` cannot be read | no usable answer: network, certificate, 5xx; retried automatically",
  SecretNotFound: "False | no Secret of that name has the type `compute-operator.dev/api-key`",
  InvalidSecret: "False, stalled | the Secret does not hold a usable key under that name",
  NotAllowed:
    "False, stalled | `spec.baseURL` is not among `--allowed-base-url`; or the API server refuses the finalizer that holds connection and Secret",
  Deleting:
    "False | it is being deleted and waits for the Computes and ComputePools that use it, which the message names; no endpoint is created through it",
};

const poolReasons = {
  Ready: "True | as many replicas as declared, all with the template, all ready",
  Scaling:
    "False | replicas are being created, changed or removed; many are created in batches of 1, 2, 4 and so on, with half a second after each of four or more",
  "a reason of its replicas":
    "as of a Compute | all replicas that are not ready show this one reason; the message says how many they are, and what the first one says",
  Conflict: "False, stalled | a Compute that does not belong to the pool has the name of one of its replicas",
  Rejected: "False, stalled | the API server refused to create, change or delete a replica",
};

const events = {
  Created: "an endpoint was created for this Compute",
  Adopted: "an existing endpoint was taken over, as `spec.adopt` asks",
  Patched: "fields of the spec were sent; the message names them",
  Moved: "the endpoint was moved to another branch",
  Restarted: "the endpoint was restarted, as the annotation asked",
  DriftCorrected:
    "what was changed at the service outside the operator was corrected: fields, theirs and ours; or a pool restored its template in a replica",
  Deleted:
    "the endpoint was deleted at the service; as a warning also the second of two with one marker, and what a Compute left that went without its finalizer",
  SecretUpdated:
    "a connection Secret was written again: the role has another password, or (a warning) the Secret was changed or deleted outside the operator",
  Released: "the object was removed and the endpoint stays; the message says why",
  Reset: "a Branch was reset to the head of its parent",
  LeaseEnding: "(Warning) the lease of a Branch is in its last quarter and could not be renewed",
};

type Annotation = keyof typeof annotations;
type Note = "endpointID";

/** Reasons that mean for a Branch what they mean for a Compute; they share one row. */
const asOfCompute = "False | as of a Compute";

const branchReasonTexts: Record<BranchReason, string> = {
  Available: "True | the branch is as declared and can be used",
  Observed: "True | `managementPolicy: Observe`: the branch is shown, and nothing is written to the service",
  Drifted: "True | its name or end was changed at the service, and is kept",
  Creating: "False | the service makes or prepares it",
  Updating: "False | a change is in progress",
  Resetting: "False | a reset is in progress, or its outcome is looked for",
  Deleting: "False | it is being deleted, or its deletion waits for the brake or for a create that may be late",
  InUse: "False | its deletion waits for Computes that name it or are on its branch",
  HasChildren: "False | deletion or reset waits for the branches that start from it",
  CreateUnknown: "False | a create got no usable answer; the next list tells",
  ProjectBusy: asOfCompute,
  OperationFailed: "False | an operation of a reset failed; set `resetAt` to a new value for another",
  RateLimited: asOfCompute,
  ServiceUnavailable: asOfCompute,
  Unauthorized: asOfCompute,
  Forbidden: "False | the key may not do this, or the API server refuses a patch",
  ConnectionNotFound: asOfCompute,
  ConnectionNotReady: asOfCompute,
  ProjectNotFound: asOfCompute,
  BranchNotFound: "False | the parent is not there, or a changed connection does not show the branch",
  BranchExists: "False, stalled | another has the name: who made it and when it ends",
  AdoptionRefused: "False, stalled | what `adopt` names is missing, or an operator made it",
  Conflict: "False, stalled | another Branch claims it, or a Compute of the name is not owned",
  Protected: "False, stalled | protected or default: not deleted, not reset",
  Rejected: "False, stalled | the service refused the spec, or took an end and does not keep it",
  Expired:
    "absent; `Expired` and `Synced` True | the branch came to its end; nothing is made again until `resetAt` or `expiry` changes",
  BranchLost: "False, stalled | it went before its end; recover it at the service, or set `resetAt`",
  Paused: "unchanged | `paused` is set: nothing is sent but the renewal of a lease",
};

const alikeReasons = Object.entries(branchReasonTexts).flatMap(([reason, text]) =>
  text === asOfCompute ? [reason] : [],
);

const requests: Record<Exclude<Annotation, Note>, string> = {
  restartedAt:
    "any new value | one restart; `.status.restartedAt` shows the value when the service has restarted the compute",
  passwordRotationAt:
    "any new value, on a Compute of type read_write | one change of the password in its connection Secret, at once; `.status.connectionSecret.rotatedAt` shows when",
  resetAt:
    "any new value, on a Branch | one reset to the parent's head; `.status.resetAt` shows the value when the service has done it",
  reconcileRequestedAt:
    "any new value | a reconcile from new lists, and a new read of the connection Secret's password",
  confirmLoss:
    "any new value, after `MassLoss` is shown | confirms this one loss of this Compute: what is missing may be created again",
  paused:
    'a time such as `2026-11-24T18:00:00Z`, or any value but `"false"` | nothing is sent to the service until then, or until it is removed, deletions included. A paused Compute without an endpoint does not reserve its branch against Computes of another connection',
  disruptionUntil:
    "a time such as `2026-11-24T18:00:00Z` | until then changes may cut connections, whatever the windows say",
};

const notes: Record<Note, string> = {
  endpointID: "id of an endpoint | the endpoint that belongs to this Compute",
};

const labelTexts: Record<keyof typeof labelNames, string> = {
  pool: "Compute | the name of the ComputePool that it belongs to",
  compute: "Secret | the uid of the Compute whose connection Secret it is",
};

const finalizerTexts: Record<keyof typeof finalizers, string> = {
  endpoint: "Compute | its endpoint has to be deleted, or released, before the Compute may go",
  branch: "Branch | its branch has to be deleted, or released, before the Branch may go",
  inUse: "ServiceConnection, Secret with an API key | a Compute or Branch still needs it",
};

const secretKeys = {
  "type, host, port":
    "`postgresql`, the endpoint's host, `5432`; or those of the URI where its options name the endpoint",
  "pooled-host": "the host of the connection pooler",
  "endpoint-id": "the service's id of the endpoint",
  "options, pooled-options":
    "only where one address serves all endpoints: what names the endpoint, with `database` and `role` in the spec",
  "database, username, password": "with `database` and `role` in the spec: what to connect as",
  "uri, pooled-uri": "with `database` and `role` in the spec: the same as a URI, directly and through the pooler",
};

/** A value of a template, and what it is in the Secret; a test tries each. */
const templateExamples = [
  ["{host}:{port}", "ep-one.example.com:5432"],
  ["{pooled-host} {port}", "ep-one-pooler.example.com 5432"],
  ["{username}:{password}", "app:p@ss w"],
  ["{database}", "shop"],
  ["{password}", "p@ss w"],
  ["{uri}", "postgresql://app:p%40ss%20w@ep-one.example.com/shop?sslmode=require"],
  [
    "{pooled-uri}&application_name={username}",
    "postgresql://app:p%40ss%20w@ep-one-pooler.example.com/shop?sslmode=require&application_name=app",
  ],
  [
    "jdbc:postgresql://{host}:{port}/{database}?user={username}&password={password}",
    "jdbc:postgresql://ep-one.example.com:5432/shop?user=app&password=p%40ss%20w",
  ],
  ["https://admin.example.com/{database}?as={username}", "https://admin.example.com/shop?as=app"],
] as const;

function rows<N extends string>(
  texts: Readonly<Record<N, string>>,
  named = (name: N): string => name.replaceAll(", ", "`, `"),
): string[] {
  return Object.keys(texts)
    .filter((name): name is N => name in texts)
    .map((name) => `| \`${named(name)}\` | ${texts[name]} |`);
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
  statistic: "max",
  namespace: "x",
  ready: "x",
  result: "x",
  route: "x",
  rule: "x",
  state: "x",
};

function touch(metric: Metrics[keyof Metrics]): void {
  if (typeof metric !== "object") return;
  if ("set" in metric) metric.set(labels, 1);
  else if ("add" in metric) metric.add(labels);
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

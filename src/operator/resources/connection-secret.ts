import { z } from "zod";
import { duration } from "./duration.ts";
import { namespaceName, objectName, printable, type Rule, type WrittenRule, withRules } from "./fields.ts";

/** The keys that the operator writes into every connection Secret, or where database and role are given. */
const ownKeys = [
  "type",
  "host",
  "pooled-host",
  "port",
  "endpoint-id",
  "database",
  "username",
  "password",
  "uri",
  "pooled-uri",
  "options",
  "pooled-options",
];

/** A value of `template.data`: text with the placeholders of compute/secret/template.ts. */
const pattern = /^([^{}]|\{(host|pooled-host|port|database|username|password|uri|pooled-uri)\})*$/;

/** Placeholders that only a database and a role fill. */
const ofDatabase = /\{(database|username|password|uri|pooled-uri)\}/;

const dataKey = /^[-._a-zA-Z0-9]{1,253}$/;
const metadataKey = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const reservedMetadata = /^([a-z0-9.-]+\.)?compute-operator\.dev\/|^app\.kubernetes\.io\/managed-by$/;

/** The most entries of each map. */
const most = 20;
const tooMany = `must have at most ${most} entries`;

function isSmall(map: object): boolean {
  return Object.keys(map).length <= most;
}

/** No application expands `$` before what was filled in. */
export const noShellVariables: WrittenRule<Readonly<Record<string, string>>> = {
  cel: "!self.exists(key, self[key].contains('${'))",
  message: "a placeholder of template.data is written {uri}, not ${uri}: remove the $",
  written: (given) => !Object.values(given).some((text) => text.includes("${")),
};

const data = withRules(
  z
    .record(
      z.string(),
      z
        .string()
        .max(1024)
        .regex(
          pattern,
          "takes text and {host}, {pooled-host}, {port}, {database}, {username}, {password}, {uri} and {pooled-uri}, and no other { or }",
        ),
    )
    .refine(isSmall, { error: tooMany })
    .meta({ maxProperties: most }),
  {
    cel: `self.all(key, key.matches('${dataKey.source}'))`,
    message: "each key of template.data has 1 to 253 of a-z, A-Z, 0-9, -, _ and .",
    holds: (given) => Object.keys(given).every((key) => dataKey.test(key)),
  },
  {
    cel: `!self.exists(key, key in [${ownKeys.map((key) => `'${key}'`).join(", ")}])`,
    message: `template.data adds keys to those that the operator writes: choose others than ${ownKeys.join(", ")}`,
    holds: (given) => !Object.keys(given).some((key) => ownKeys.includes(key)),
  },
  noShellVariables,
);

const labelValue = z
  .string()
  .max(63)
  .regex(
    /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/,
    "must be a label's value: a-z, A-Z, 0-9, -, _ and ., and begin and end with a letter or digit",
  );

function metadataOf(what: "labels" | "annotations", value: z.ZodString) {
  return withRules(
    z.record(z.string(), value).refine(isSmall, { error: tooMany }).meta({ maxProperties: most }),
    {
      cel: `self.all(key, size(key) <= 316 && key.matches('${metadataKey.source.replaceAll(String.raw`\/`, "/")}'))`,
      message: `each key of template.${what} is a name as Kubernetes takes it, for example team or example.com/team`,
      holds: (given) => Object.keys(given).every((key) => key.length <= 316 && metadataKey.test(key)),
    },
    {
      cel: `!self.exists(key, key.matches('^([a-z0-9.-]+[.])?compute-operator[.]dev/|^app[.]kubernetes[.]io/managed-by$'))`,
      message: `template.${what} must not name compute-operator.dev/… or app.kubernetes.io/managed-by, which the operator sets`,
      holds: (given) => !Object.keys(given).some((key) => reservedMetadata.test(key)),
    },
  );
}

const template = z.object({
  data: data
    .optional()
    .describe(
      "More keys of the Secret, for example DATABASE_URL: {uri}. Each value is text with the placeholders {host}, {pooled-host}, {port}, {database}, {username}, {password}, {uri} and {pooled-uri}. After :// or a {uri} in a value, what is filled in is percent-encoded.",
    ),
  labels: metadataOf("labels", labelValue)
    .optional()
    .describe("Labels of the Secret, for example example.com/team: shop."),
  annotations: metadataOf("annotations", z.string().max(4096))
    .optional()
    .describe("Annotations of the Secret, such as one that restarts a Deployment."),
});

const roleName = withRules(z.string().min(1).max(63), printable);

const rotation = z.object({
  every: duration("connectionSecret.rotation.every", 3600, 8760 * 3600).describe(
    "Age at which the password is changed, for example 720h; from 1h to 8760h. A change cuts the branch's connections and wakes its primary.",
  ),
});

/** `spec.connectionSecret`. */
export const connectionSecret = withRules(
  z.object({
    name: objectName.describe("Name of the Secret to write, for example shop-db."),
    namespace: namespaceName
      .optional()
      .describe(
        "Namespace of the Secret, for example apps; left out: that of the Compute. Another one must bear the label secrets-from.compute-operator.dev/<namespace of the Compute>, with any value.",
      ),
    database: withRules(z.string().min(1).max(63), printable)
      .optional()
      .describe("Database to connect to, for example shop. Needs role."),
    role: roleName.optional().describe("Postgres role to connect as, for example app. Needs database."),
    roles: z
      .array(roleName)
      .length(2)
      .optional()
      .describe(
        "Two Postgres roles with the same rights in place of role, for example [app_a, app_b]. Both exist already. The Secret holds one of them; each rotation changes the password of the other and puts that one into the Secret. Needs database.",
      ),
    rotation: rotation
      .optional()
      .describe("Changes the password at an age, in addition to the annotation passwordRotationAt."),
    template: template.optional().describe("What the Secret holds besides the keys that the operator writes."),
  }),
  {
    cel: "!has(self.__namespace__) || !has(self.template) || !(has(self.template.labels) || has(self.template.annotations))",
    message:
      "connectionSecret.namespace excludes template.labels and template.annotations, which would act in the other namespace",
    holds: ({ namespace, template: given = {} }) =>
      namespace === undefined || (given.labels === undefined && given.annotations === undefined),
  },
  {
    cel: "has(self.database) == (has(self.role) || has(self.roles))",
    message: "connectionSecret takes database and role together, or neither; roles may stand in place of role",
    holds: ({ database, role, roles }) => (database === undefined) === (role === undefined && roles === undefined),
  },
  {
    cel: "!has(self.role) || !has(self.roles)",
    message: "connectionSecret takes role or roles, not both",
    holds: ({ role, roles }) => role === undefined || roles === undefined,
  },
  {
    cel: "!has(self.roles) || self.roles.size() != 2 || self.roles[0] != self.roles[1]",
    message: "connectionSecret.roles takes two different roles",
    holds: ({ roles }) => roles === undefined || roles[0] !== roles[1],
  },
  {
    cel: "!has(self.rotation) || has(self.database)",
    message: "connectionSecret.rotation needs connectionSecret.database and a role: without them there is no password",
    holds: ({ rotation: given, database }) => given === undefined || database !== undefined,
  },
  {
    cel: `has(self.database) || !has(self.template) || !has(self.template.data) || !self.template.data.exists(key, self.template.data[key].matches('[{](database|username|password|uri|pooled-uri)[}]'))`,
    message:
      "{database}, {username}, {password}, {uri} and {pooled-uri} in template.data need connectionSecret.database and connectionSecret.role",
    holds: ({ database, template: given }) =>
      database !== undefined || !Object.values(given?.data ?? {}).some((text) => ofDatabase.test(text)),
  },
);

/** The part of `spec.connectionSecret` that changes passwords. */
interface ChangesPasswords {
  connectionSecret?: { roles?: object | undefined; rotation?: object | undefined } | undefined;
}

const changesNone = ({ connectionSecret: secret }: ChangesPasswords) =>
  secret?.roles === undefined && secret?.rotation === undefined;
const celChangesNone =
  "!has(self.connectionSecret) || !(has(self.connectionSecret.roles) || has(self.connectionSecret.rotation))";

/** Passwords are of a branch, and its primary is the one owner that may change them. */
export const onlyPrimariesRotate: Rule<ChangesPasswords & { type?: string | undefined }> = {
  cel: `${celChangesNone} || !has(self.type) || self.type == 'read_write'`,
  message: "connectionSecret.roles and connectionSecret.rotation need type: read_write",
  holds: (spec) => changesNone(spec) || spec.type !== "read_only",
};

/** The same for the template of a pool, whose members are read replicas. */
export const noMemberRotates: Rule<ChangesPasswords> = {
  cel: celChangesNone,
  message:
    "a template takes no connectionSecret.roles and no connectionSecret.rotation: its Computes are read replicas",
  holds: changesNone,
};

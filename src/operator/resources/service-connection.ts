import { z } from "zod";
import { conditions } from "../objects/conditions-of.ts";
import { type Declared, declared, readerOf } from "../objects/object.ts";
import { duration } from "./duration.ts";
import {
  id,
  objectName,
  observedGeneration,
  optionalFlag,
  optionalInteger,
  optionalNumber,
  optionalText,
  withRules,
} from "./fields.ts";
import { ownKind } from "./own-kind.ts";
import { disruption } from "./schedule.ts";

export const apiKeySecretRefIn = (place: string) =>
  z.object({
    name: objectName.describe(
      `Name of the Secret, ${place}, for example service-api-key. Its type must be compute-operator.dev/api-key.`,
    ),
    key: z
      .string()
      .min(1)
      .max(253)
      .regex(/^[-._a-zA-Z0-9]+$/, "must be a key of a Secret: a-z, A-Z, 0-9, -, _ and .")
      .default("api-key")
      .describe("Key within the Secret's data that holds the API key, for example api-key."),
  });

/** The same for both kinds of connection, but for the place of the Secret. */
export const theApiKeySecret = "The Secret that holds the API key. A changed key takes effect at once.";

const requestBudget = z
  .object({
    perMinute: z.int().min(1).max(1_000_000).default(700).describe("Requests a minute, on average, for example 700."),
    burst: z.int().min(1).max(1_000_000).default(40).describe("Requests that may be sent at once, for example 40."),
  })
  .prefault({});

/** The budget of a connection that declares none. */
export const defaultRequestBudget = requestBudget.parse(undefined);

/** Scheme, host (a name or an address), port and path. */
const BASE_URL = String.raw`^https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?$`;

export const serviceConnectionSpec = z.object({
  baseURL: withRules(
    z.string().max(2048),
    {
      cel: `self.matches(r'${BASE_URL}')`,
      message:
        "baseURL must be an https or http URL without user, query and fragment, for example https://console.example.com/api/v2",
      holds: (text) => new RegExp(BASE_URL).test(text),
    },
    {
      cel: "self.matches(r'/api/v2/?$')",
      message: "baseURL must end in /api/v2, for example https://console.example.com/api/v2",
      holds: (text) => /\/api\/v2\/?$/.test(text),
    },
  ).describe(
    "Base URL of the service, for example https://console.neon.tech/api/v2. The operator reaches only what its --allowed-base-url permits.",
  ),
  apiKeySecretRef: apiKeySecretRefIn("in the same namespace").describe(theApiKeySecret),
  caBundle: withRules(z.string().max(65_536), {
    cel: "self.contains('-----BEGIN CERTIFICATE-----') && self.contains('-----END CERTIFICATE-----')",
    message: "caBundle must hold certificates in PEM form (-----BEGIN CERTIFICATE-----)",
    holds: (pem) => pem.includes("-----BEGIN CERTIFICATE-----") && pem.includes("-----END CERTIFICATE-----"),
  })
    .optional()
    .describe(
      "Certificates in PEM form that the service's certificate is checked against, such as that of a private authority.",
    ),
  organizationID: id
    .optional()
    .describe("Id of the organization whose projects are listed, for example org-shop, where a personal key needs it."),
  allowedProjects: z
    .array(id)
    .max(1000)
    .meta({ "x-kubernetes-list-type": "set" })
    .optional()
    .describe(
      "Ids of the projects that Computes may name through this connection, for example [shiny-wind-028834]. Left out: all that the key reaches.",
    ),
  refreshInterval: duration("refreshInterval", 5, 24 * 3600)
    .default("30s")
    .describe(
      "How often the endpoints of each project in use are listed, in s, m, h and d, for example 30s: from 5s to 24h.",
    ),
  disruption: disruption
    .optional()
    .describe(
      "When changes may cut connections of the Computes that use this connection, unless a Compute has a disruption of its own. Left out: at any time.",
    ),
  requestBudget: requestBudget.describe(
    "How many requests may be sent. All connections with one base URL and key share one budget; the lowest figures win.",
  ),
});

const project = z.object({
  id: z.string().describe("The service's id of the project."),
  name: optionalText("Its name."),
  regionID: optionalText("The service's id of its region."),
  pgVersion: optionalNumber("Major version of Postgres."),
  locked: optionalFlag("Whether the service has locked it."),
});

const orphan = z.object({
  id: z.string().describe("The service's id of the endpoint."),
  projectID: z.string().describe("The project that it is in."),
});

export const serviceConnectionStatus = z.object({
  observedGeneration,
  conditions: conditions
    .optional()
    .describe(
      "Ready: Authenticated, Unauthorized, Unreachable, SecretNotFound, InvalidSecret, NotAllowed or Deleting. Reconciling or Stalled while it is not ready.",
    ),
  keyType: optionalText(
    "What kind of key it is, as far as the service shows it: personal, organization, project or unknown.",
  ),
  projectCount: optionalInteger("How many projects the key reaches."),
  projects: z
    .array(project)
    .optional()
    .describe("The projects that the key reaches: the first 100, sorted by id, read every ten minutes."),
  orphanedEndpointCount: optionalInteger(
    "With --fleet, how many endpoints of this fleet no Compute has, in projects that Computes use.",
  ),
  orphanedEndpoints: z
    .array(orphan)
    .optional()
    .describe("The first 20 of them, sorted by id. The operator never deletes them."),
});

export type ServiceConnectionSpec = z.output<typeof serviceConnectionSpec>;
export type ServiceConnectionStatus = z.output<typeof serviceConnectionStatus>;
export type StatusProject = NonNullable<ServiceConnectionStatus["projects"]>[number];

/** The way to the service: base URL, key and budget. */
export type ServiceConnection = Declared<ServiceConnectionSpec, ServiceConnectionStatus>;

export const serviceConnectionKind = ownKind<ServiceConnection>("ServiceConnection", "serviceconnections");

export const parseServiceConnection = readerOf(declared(serviceConnectionSpec, serviceConnectionStatus));

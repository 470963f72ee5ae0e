import { errorCodes } from "../api/error.ts";

/** The service refuses a call; nothing was changed. Becomes the error body of the answer. */
export class Refusal extends Error {
  override name = "Refusal";
  readonly status: number;
  /** Often empty. */
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, code = "", headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

/** The disk of the store is full, or fails: nothing was changed. */
export class StoreFull extends Refusal {
  override name = "StoreFull";
  /** The error of a disk that has room, and fails. */
  readonly failure: Error | undefined;

  constructor(failure?: Error) {
    const full = "the disk of the service is full, so nothing can be changed: free some space";
    super(507, failure ? "the disk of the service fails, so nothing can be changed: its log says how" : full);
    this.failure = failure;
  }
}

/** Makes a change; answers false where the disk does not take it, and nothing is changed then. */
export function unlessFull(change: () => void): boolean {
  try {
    change();
    return true;
  } catch (error) {
    if (error instanceof StoreFull) return false;
    throw error;
  }
}

export const refusals = {
  unauthorized: () =>
    new Refusal(401, "supplied credentials do not pass authentication", "", { "www-authenticate": "Bearer" }),
  noSuchRoute: (hint = "") => new Refusal(404, `this route does not exist${hint}`),
  servedOnlyWith: (flag: string) => new Refusal(404, `served only with ${flag}`),
  notServed: (operationId: string, call: string) =>
    new Refusal(501, `${operationId} is a call of the public API that is not served here; ${call}`),
  invalid: (message: string) => new Refusal(400, message),
  badTarget: () =>
    new Refusal(
      400,
      "the request has no valid URL, a very long one or one with . or .. in its path, very many headers, no host, or its host or its sender twice",
    ),
  notFound: (what: string) => new Refusal(404, `${what} not found`),
  notForOrganizationKeys: () => new Refusal(404, "not allowed for organization API keys"),
  outsideScope: (projectId: string) =>
    new Refusal(
      404,
      `not allowed to perform actions outside the project this key is scoped to; subject_project_id:"${projectId}"`,
    ),
  notFromHere: () =>
    new Refusal(
      403,
      "calls below /_ are answered to this machine alone: send them to localhost, without a proxy, and not from another site's page",
    ),
  forbidden: (message: string) => new Refusal(403, message),
  secondPrimary: () => new Refusal(409, "read_write endpoint already exists", errorCodes.secondPrimary),
  projectBusy: () =>
    new Refusal(423, "project already has running conflicting operations, scheduling of new ones is prohibited"),
  inTransition: (doing: string) => new Refusal(423, `endpoint is in some transitive state, could not ${doing}`),
  conflict: (message: string) => new Refusal(409, message),
  unprocessable: (message: string, code = "") => new Refusal(422, message, code),
  /** `most`: who has how many at most; `remedy`: the way to make room. */
  limitExceeded: (what: string, most: string, { remedy = "delete one", code = "" } = {}) =>
    new Refusal(422, `${what} limit exceeded: ${most}, so ${remedy} first`, code),
  realClientsConnect: ({ host, port }: { host: string; port: number }) =>
    new Refusal(
      409,
      `real Postgres servers run behind the computes: connect to ${host}, port ${port}, with the URI of connection_uri`,
    ),
  noPastSchema: () =>
    new Refusal(501, "schemas are read of the present alone: make a branch of the past and read that"),
  bodyTooLarge: (longest: number) => new Refusal(413, `the request body is larger than ${longest} bytes`),
  bodyEncoded: () =>
    new Refusal(415, "the request body has a Content-Encoding, such as gzip: send it without", "", {
      "accept-encoding": "identity",
    }),
  noRoomForBytes: () =>
    new Refusal(503, "too many bytes of requests and answers are in flight: try again, or send and ask for less", "", {
      "retry-after": "1",
    }),
  tooMuchToAsk: () => new Refusal(400, "the request has too many different settings of Postgres: make it in parts"),
  internal: () => new Refusal(500, "internal error"),
  unavailable: (message: string) => new Refusal(503, message),
  notReady: (what: string) => new Refusal(422, `${what} not ready yet`),
  tooManyRequests: (message: string, retryAfterSeconds: number) =>
    new Refusal(429, message, "", { "retry-after": String(retryAfterSeconds) }),
  passwordsNotStored: () =>
    new Refusal(
      412,
      "the project does not store passwords (store_passwords is false): reset the password to see a new one",
    ),
  planIncompatible: (message: string) => new Refusal(406, message),
  organizationNeeded: () => new Refusal(400, "org_id is required, you can find it on your organization settings page"),
  branchExists: (name: string) => new Refusal(409, `branch already exists; branch_name:${JSON.stringify(name)}`),
} as const;

/** `found`, which was stored just now; anything else is a mistake of ours. */
export function stored<T>(what: string, found: T | undefined): T {
  if (found === undefined) throw new Error(`${what} was not stored`);
  return found;
}

/** `found`; throws the refusal that `what` was not found if there is none. */
export function required<T>(what: string, found: T | undefined): T {
  if (found === undefined) throw refusals.notFound(what);
  return found;
}

import { type Endpoint, EndpointAnswer, EndpointsAnswer } from "../../../src/api/endpoint.ts";
import { type Operation, OperationsAnswer } from "../../../src/api/operation.ts";
import { type Answer, type SeedInput, TestService, type TestServiceOptions } from "./service.ts";

export const project = "shiny-wind-028834";
export const main = "br-aged-salad-637688";
export const preview = "br-preview-1";
export const staging = "br-staging-1";
export const primary = "ep-shop-primary";

/** Keys of everyone that the tests play. */
export const keys = {
  /** Ana administers the shop, and has a project of her own. */
  ana: "ana-key",
  /** Bob is a member of the shop, on the free plan for himself. */
  bob: "bob-key",
  /** Eve belongs to nothing of it. */
  eve: "eve-key",
  /** The shop's own. */
  shop: "org-key",
  /** Scoped to the shop's project `shiny-wind-028834`. */
  scoped: "scoped-key",
  /** Of an organization that has nothing to do with the shop. */
  other: "other-key",
} as const;

/** An organization with two projects, its users, and users of others. */
export const shopSeed = {
  accounts: [
    { id: "acc-ana", email: "ana@example.com", plan: "scale", apiKeys: [{ name: "laptop", key: keys.ana }] },
    { id: "acc-bob", email: "bob@example.com", plan: "free", apiKeys: [{ name: "laptop", key: keys.bob }] },
    { id: "acc-eve", email: "eve@example.com", plan: "scale", apiKeys: [{ name: "laptop", key: keys.eve }] },
  ],
  organizations: [
    {
      id: "org-shop",
      name: "Shop",
      plan: "scale",
      members: [
        { account: "acc-ana", role: "admin" },
        { account: "acc-bob", role: "member" },
      ],
      apiKeys: [
        { name: "ci", key: keys.shop },
        { name: "one-project", key: keys.scoped, projectID: project },
      ],
    },
    {
      id: "org-other",
      plan: "scale",
      members: [{ account: "acc-eve", role: "admin" }],
      apiKeys: [{ name: "ci", key: keys.other }],
    },
  ],
  projects: [
    {
      id: project,
      name: "shop",
      owner: "org-shop",
      branches: [
        { id: main, name: "main", default: true },
        { id: preview, name: "preview" },
        { id: staging, name: "staging" },
      ],
      endpoints: [{ id: primary, branchID: main, type: "read_write" }],
    },
    { id: "shop-two", owner: "org-shop", branches: [{ id: "br-two", name: "main" }] },
    { id: "ana-own", owner: "acc-ana", branches: [{ id: "br-ana", name: "main" }] },
    { id: "bob-own", owner: "acc-bob", branches: [{ id: "br-bob", name: "main" }] },
    { id: "eve-own", owner: "acc-eve", branches: [{ id: "br-eve", name: "main" }] },
  ],
} satisfies SeedInput;

/** The shop's service, on a clock that the test drives, with what a client does most. */
export class Shop extends TestService {
  constructor(options: TestServiceOptions = {}) {
    super(options);
    this.applySeed(shopSeed);
  }

  /** Sends a request as Ana. */
  ana(line: string, body?: unknown): Answer {
    return this.send(keys.ana, line, body);
  }

  /** Sends a write as Ana that must be accepted; answers the compute and the operations it set off. */
  write(line: string, endpoint?: object): { endpoint: Endpoint; operations: Operation[] } {
    const answer = this.ana(line, endpoint && { endpoint });
    if (answer.status >= 300) throw new Error(`${line}: ${answer.status} ${String(answer.body["message"])}`);
    const { endpoint: changed, operations = [] } = EndpointAnswer.parse(answer.body);
    return { endpoint: changed, operations };
  }

  create(endpoint: object): { endpoint: Endpoint; operations: Operation[] } {
    return this.write(`POST /projects/${project}/endpoints`, endpoint);
  }

  patch(id: string, endpoint: object): { endpoint: Endpoint; operations: Operation[] } {
    return this.write(`PATCH /projects/${project}/endpoints/${id}`, endpoint);
  }

  get(id: string): Endpoint {
    return EndpointAnswer.parse(this.ana(`GET /projects/${project}/endpoints/${id}`).body).endpoint;
  }

  list(): Endpoint[] {
    return EndpointsAnswer.parse(this.ana(`GET /projects/${project}/endpoints`).body).endpoints;
  }

  /** Newest first. */
  operations(): Operation[] {
    return OperationsAnswer.parse(this.ana(`GET /projects/${project}/operations`).body).operations;
  }

  /** Plays a client that connects for some seconds. */
  connect(id: string, seconds = 0, pooled = false): Answer {
    return this.send(undefined, `POST /_connect/${id}?seconds=${seconds}&pooled=${pooled}`);
  }

  /** Lets running operations end: none takes longer than three seconds. */
  finishOperations(): this {
    this.time.pass(3000);
    return this;
  }

  /** A primary compute that has just become active. */
  active(fields: object = {}): Endpoint {
    this.write(`POST /projects/${project}/endpoints/${primary}/start`);
    this.finishOperations();
    if (Object.keys(fields).length > 0) {
      this.patch(primary, fields);
      this.finishOperations();
    }
    return this.get(primary);
  }
}

/** `action status` of each operation. */
export function inShort(operations: readonly Operation[]): string[] {
  return operations.map(({ action, status }) => `${action} ${status}`);
}

import { shownCondition } from "../../../src/operator/objects/conditions-of.ts";
import type { OperatorSettings } from "../../../src/operator/operator.ts";
import { type Branch, parseBranch } from "../../../src/operator/resources/branch.ts";
import { type ClusterWeather, calm } from "../../simulation/api-server/faults.ts";
import type { Raw } from "../support/cluster-admin.ts";
import { SmallWorld } from "../support/small-world.ts";

const api = "/apis/compute-operator.dev/v1alpha1/namespaces/default/branches";
const prefix = "compute-operator.dev/";

/** A branch as the service shows it. */
export interface ServiceBranch {
  id: string;
  name: string;
  parent_id?: string;
  expires_at?: string;
  protected: boolean;
  last_reset_at?: string;
}

/** A whole system with Branches in it: their objects, and the branches at the service. */
export class BranchWorld extends SmallWorld {
  constructor({
    seed = 1,
    settings = {},
    weather = calm,
    service = {},
  }: {
    seed?: number;
    service?: ConstructorParameters<typeof SmallWorld>[2];
    settings?: Partial<OperatorSettings>;
    weather?: ClusterWeather;
  } = {}) {
    super([], seed, service, weather, settings);
  }

  /** Creates the Branch, or gives it this spec. */
  branch(name: string, spec: Record<string, unknown> = {}, annotations: Record<string, string> = {}): void {
    const whole = { projectID: "shop", expiry: { after: "72h" }, ...spec };
    const found = this.server.handle({ method: "GET", path: `${api}/${name}` });
    if (found.status !== 404) {
      this.send("PUT", `${api}/${name}`, { ...this.send("GET", `${api}/${name}`), spec: whole });
      return;
    }
    const metadata = { name, annotations: prefixed(annotations) };
    this.send("POST", api, { apiVersion: `${prefix}v1alpha1`, kind: "Branch", metadata, spec: whole });
  }

  object(name: string): Branch {
    const parsed = parseBranch(this.send("GET", `${api}/${name}`));
    if (!parsed.ok) throw new Error(parsed.problem);
    return parsed.value;
  }

  /** Sets an annotation of ours. */
  mark(name: string, annotations: Record<string, string>): void {
    const object: Raw = this.send("GET", `${api}/${name}`);
    object.metadata.annotations = { ...object.metadata.annotations, ...prefixed(annotations) };
    this.send("PUT", `${api}/${name}`, object);
  }

  /** Somebody replaces the status, as `kubectl replace --subresource=status` does. */
  replaceStatus(name: string, status: object): void {
    this.send("PUT", `${api}/${name}/status`, { ...this.send("GET", `${api}/${name}`), status });
  }

  drop(name: string): void {
    this.send("DELETE", `${api}/${name}`);
  }

  isDropped(name: string): boolean {
    return this.server.handle({ method: "GET", path: `${api}/${name}` }).status === 404;
  }

  ready(name: string) {
    return shownCondition(this.object(name));
  }

  reason(name: string): string | undefined {
    return this.ready(name)?.reason;
  }

  /** Lets time pass until the Branch shows this reason. */
  async until(name: string, reason: string, mostMs = 120_000): Promise<void> {
    for (let waited = 0; this.reason(name) !== reason; waited += 500) {
      if (waited > mostMs) throw new Error(`${name} shows ${JSON.stringify(this.object(name).status)}, not ${reason}`);
      await this.clock.advance(500);
    }
  }

  /** Lets time pass until the object has gone. */
  async untilDropped(name: string, mostMs = 180_000): Promise<void> {
    for (let waited = 0; !this.isDropped(name); waited += 500) {
      if (waited > mostMs) throw new Error(`${name} stays: ${JSON.stringify(this.object(name))}`);
      await this.clock.advance(500);
    }
  }

  /** The branches at the service that its seed did not make. */
  get made(): ServiceBranch[] {
    const { branches }: { branches: ServiceBranch[] } = this.console("GET", "/projects/shop/branches");
    return branches.filter(({ id }) => !["br-main", "br-preview", "br-staging"].includes(id));
  }

  named(name: string): ServiceBranch | undefined {
    return this.made.find((branch) => branch.name === name);
  }

  /** A branch that somebody else makes. */
  madeElsewhere(name: string, more: object = {}, annotation: object = {}): ServiceBranch {
    const body = { branch: { name, ...more }, annotation_value: annotation };
    return this.console("POST", "/projects/shop/branches", body).branch;
  }

  /** Requests for the list of branches. */
  get lists(): number {
    return this.host.calls.filter(({ method, path }) => method === "GET" && path.endsWith("/branches")).length;
  }

  /** Milliseconds from now until a time of the service. */
  msUntil(time: string | undefined): number {
    return Date.parse(time ?? "") - this.clock.now();
  }
}

function prefixed(annotations: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).map(([name, value]) => [prefix + name, value]));
}

export const hour = 3_600_000;

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import type { Access } from "../control-plane/kubectl.ts";
import { eventually } from "../support/eventually.ts";
import { OperatorProcess, ServiceProcess } from "../support/processes.ts";
import { ApiFront } from "./api-front.ts";
import { seedOf } from "./manifests.ts";
import { connectedNamespace, ProcessStage, type StageParts } from "./process-stage.ts";
import { type Play, Referee } from "./referee.ts";

const steppedClock = pathToFileURL(join(import.meta.dirname, "..", "chaos", "stepped-clock.ts"));
const group = "compute-operator.dev";
const plurals = { Compute: "computes", ComputePool: "computepools", ServiceConnection: "serviceconnections" };
type Kind = keyof typeof plurals;

const seenObject = z.looseObject({
  metadata: z.looseObject({
    uid: z.string(),
    generation: z.number().default(0),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
  spec: z.looseObject({}),
  status: z.looseObject({
    endpointID: z.string().optional(),
    waiting: z.array(z.object({ field: z.string(), ours: z.string() })).optional(),
    nextWindow: z.string().optional(),
    appliedEntry: z.string().optional(),
    appliedGeneration: z.number().optional(),
    observedGeneration: z.number().optional(),
    restartedAt: z.string().optional(),
    conditions: z
      .array(z.object({ type: z.string(), status: z.string(), reason: z.string(), message: z.string() }))
      .default([]),
  }),
});
export type Seen = z.infer<typeof seenObject>;

/** A moment at which the operator dies: of the write to the service, or of the status that follows it. */
export type KillStroke = `${"arrival" | "answer"} of the ${"write" | "status"}`;

/** Operator, service and referee as processes over a real API server, which the operator reaches through a front. */
export class Moments extends ProcessStage {
  readonly referee: Referee;
  readonly front: ApiFront;

  static async start(
    cluster: Access,
    { branches, spec }: { branches: readonly string[]; spec?: Record<string, unknown> },
  ): Promise<Moments> {
    await using stack = new AsyncDisposableStack();
    const seed = seedOf([{ id: "shop", branches }]);
    const service = stack.use(await ServiceProcess.start({ seed, timeScale: 2 }));
    const referee = stack.use(await Referee.start(service));
    const front = stack.use(await ApiFront.start(cluster.kubeconfig));
    const namespace = await connectedNamespace("moment", cluster, { baseURL: referee.baseURL, spec });
    const operator = stack.use(
      await OperatorProcess.start({
        kubeconfig: front.kubeconfig,
        namespaces: [namespace],
        // A restart whose record stands when the operator dies may not have left: the next one waits for so long.
        args: ["--create-settle", "15s"],
        env: { ...process.env, NODE_OPTIONS: `--import=${steppedClock.href}` },
      }),
    );
    return new Moments({ cluster, namespace, service, operator }, referee, front, stack.move());
  }

  private constructor(parts: StageParts, referee: Referee, front: ApiFront, everything: AsyncDisposable) {
    super(parts, everything);
    this.referee = referee;
    this.front = front;
  }

  async create(object: object): Promise<void> {
    const { kind } = z.object({ kind: z.enum(["Compute", "ComputePool", "ServiceConnection"]) }).parse(object);
    await this.send("POST", this.path(kind), object);
  }

  async get(kind: Kind, name: string): Promise<Seen> {
    return seenObject.parse(await this.send("GET", `${this.path(kind)}/${name}`));
  }

  /** A merge patch of the object. */
  async patch(kind: Kind, name: string, change: object): Promise<Seen> {
    return seenObject.parse(await this.send("PATCH", `${this.path(kind)}/${name}`, change));
  }

  edit(name: string, spec: object, kind: Kind = "Compute"): Promise<Seen> {
    return this.patch(kind, name, { spec });
  }

  annotate(name: string, annotation: string, value: string | null, kind: Kind = "Compute"): Promise<Seen> {
    return this.patch(kind, name, { metadata: { annotations: { [`${group}/${annotation}`]: value } } });
  }

  path(kind: Kind): string {
    return `/apis/${group}/v1alpha1/namespaces/NS/${plurals[kind]}`;
  }

  async send(method: string, path: string, body?: object): Promise<unknown> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const answer = await fetch(`${this.front.url}${path.replace("/NS/", `/${this.namespace}/`)}`, {
      method,
      headers: { "content-type": type },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  /** Waits until the object is so, and answers it. */
  until(name: string, what: string, holds: (seen: Seen) => boolean, kind: Kind = "Compute"): Promise<Seen> {
    let last: Seen | undefined;
    return eventually(
      `${name}: ${what}`,
      async () => {
        last = await this.get(kind, name);
        return holds(last) ? last : undefined;
      },
      { timeoutMs: 120_000, everyMs: 100 },
    ).catch((error: unknown) => {
      const plays = JSON.stringify(this.referee.plays, undefined, 1);
      const log = this.operator.child.tail(20);
      throw new Error(`${name} does not come to: ${what}\n${JSON.stringify(last?.status)}\n${plays}\n${log}`, {
        cause: error,
      });
    });
  }

  reason(name: string, reason: string, kind: Kind = "Compute"): Promise<Seen> {
    return this.until(name, reason, (seen) => reasonOf(seen) === reason && isCurrent(seen), kind);
  }

  ready(name: string, kind: Kind = "Compute"): Promise<Seen> {
    return this.until(
      name,
      "Ready and Synced",
      (seen) => isTrue(seen, "Ready") && isTrue(seen, "Synced") && isCurrent(seen),
      kind,
    );
  }

  /** A call of somebody else's at the service, past the referee. */
  atService(method: string, path: string, body?: unknown): Promise<unknown> {
    return eventually(`${method} ${path}`, () => this.service.call(method, path, body));
  }

  /** Waits for so many lists that begin from now on. */
  async lists(count: number): Promise<void> {
    const before = this.referee.lists;
    await eventually(`${count} lists`, () => (this.referee.lists >= before + count ? true : undefined));
  }

  /**
   * Kills the operator with SIGKILL at this stroke of the next write to the service that `isWanted`, and starts it
   * again. A write that has arrived is carried out all the same, but a status before it was written is lost.
   */
  async killAt(stroke: KillStroke, isWanted: (play: Play) => boolean): Promise<void> {
    let isNear = false;
    let dead: Promise<void> | undefined;
    const kill = () => (dead ??= this.operator.kill());
    this.referee.at = (at, play) => {
      if (!isWanted(play)) return undefined;
      isNear = true;
      return stroke === `${at} of the write` ? kill() : undefined;
    };
    this.front.at = (at, { method, path }) => {
      if (!isNear || method !== "PATCH" || !/\/computes\/[^/]+\/status$/.test(path)) return undefined;
      if (stroke !== `${at} of the status`) return undefined;
      return at === "answer" ? kill() : kill().then(() => Promise.reject(new Error("the status is lost")));
    };
    await eventually(`the operator to die at the ${stroke}`, () => (dead === undefined ? undefined : true));
    await dead;
    this.referee.at = undefined;
    this.front.at = undefined;
    await this.operator.start();
  }
}

export function reasonOf({ status }: Seen): string | undefined {
  return status.conditions.find(({ type }) => type === "Ready")?.reason;
}

export function isTrue({ status }: Seen, type: string): boolean {
  return status.conditions.find((one) => one.type === type)?.status === "True";
}

export function isCurrent({ status, metadata }: Seen): boolean {
  return status.observedGeneration === metadata.generation;
}

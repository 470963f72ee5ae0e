import { setTimeout as sleep } from "node:timers/promises";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import type { Dice } from "../simulation/dice.ts";
import type { CountedRequest, CountingProxy } from "../support/counting-proxy.ts";
import type { ServiceProcess } from "../support/processes.ts";
import type { StormOperator } from "./operators.ts";

/** What goes wrong at the service with a share of the requests, whichever they are. */
const everywhere = ["refuse", "drop-before", "429", "500", "503", "html", "cut", "drop-after"] as const;
const creates = { method: "POST", route: "/projects/{project_id}/endpoints" } as const;
const restarts = { method: "POST", route: "/projects/{project_id}/endpoints/{endpoint_id}/restart" } as const;

/** The rules for `PUT /_faults`: replies are lost most of all where that is most dangerous. */
function faults(): object[] {
  return [
    { ...creates, kind: "drop-after", rate: 0.12 },
    { ...creates, kind: "cut", rate: 0.04 },
    { ...creates, kind: "html", rate: 0.04 },
    { ...restarts, kind: "drop-after", rate: 0.1 },
    { method: "*", kind: "423", rate: 0.015, retryAfter: 1 },
    { method: "*", kind: "delay", ms: 6000, rate: 0.005 },
    { method: "*", kind: "delay", ms: 800, rate: 0.01 },
    ...everywhere.map((kind) => ({ method: "*", kind, rate: 0.015, ...(kind === "429" ? { retryAfter: 1 } : {}) })),
  ];
}

/** A proxy between operators and service holds so large a share of the creates up, for up to so long. */
const heldShare = 0.08;

export interface WeatherOptions {
  controlPlane: ControlPlane;
  service: ServiceProcess;
  proxy: CountingProxy;
  dice: Dice;
  /** How long a create may be held up, in milliseconds: less than `--create-settle`. */
  longestHeldMs: number;
}

/** Everything that goes wrong but for the operators themselves. */
export class Weather {
  readonly #options: WeatherOptions;
  /** How often each thing happened. */
  readonly counts = { apiServerKills: 0, etcdKills: 0, compactions: 0, serviceOutages: 0, heldCreates: 0 };
  #raging = false;

  constructor(options: WeatherOptions) {
    this.#options = options;
  }

  async begin(): Promise<void> {
    this.#raging = true;
    const { proxy, dice, longestHeldMs } = this.#options;
    proxy.holdMs = (request) => {
      if (!isCreate(request) || !dice.chance(heldShare)) return 0;
      this.counts.heldCreates += 1;
      return dice.between(500, longestHeldMs);
    };
    await this.#putFaults(faults());
  }

  async end(): Promise<void> {
    this.#raging = false;
    this.#options.proxy.holdMs = undefined;
    await this.#putFaults([]);
  }

  /** The service is killed, is gone for a while, and starts again on what it had written. */
  async loseService(ms: number): Promise<void> {
    const { service } = this.#options;
    this.counts.serviceOutages += 1;
    await service.kill();
    await sleep(ms);
    await service.start();
    if (this.#raging) await this.#putFaults(faults());
  }

  async killApiServer(downMs: number): Promise<void> {
    const { controlPlane } = this.#options;
    this.counts.apiServerKills += 1;
    await controlPlane.killApiServer();
    await sleep(downMs);
    await controlPlane.restartApiServer();
  }

  /** The API server lives through it, or is killed with it: a server that lost its etcd may end by itself. */
  async killEtcd(): Promise<void> {
    this.counts.etcdKills += 1;
    await this.#options.controlPlane.restartEtcd();
  }

  /** Every watch's place in history is forgotten, and the API server's memory of it with the API server. */
  async forgetHistory(): Promise<void> {
    const { controlPlane } = this.#options;
    this.counts.compactions += 1;
    await controlPlane.killApiServer();
    await controlPlane.compactEtcd();
    await controlPlane.restartApiServer();
  }

  /** kill -9 of an operator and its new start, again and again until the signal aborts. */
  async killAgainAndAgain(operator: StormOperator, longestMs: number, signal: AbortSignal): Promise<void> {
    const { dice } = this.#options;
    while (!signal.aborted) {
      await sleep(dice.between(longestMs / 4, longestMs), undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      if (dice.chance(0.3)) operator.stepClock(dice.chance(0.5));
      else {
        await operator.kill();
        await operator.launch();
      }
    }
  }

  async #putFaults(rules: readonly object[]): Promise<void> {
    const url = new URL("/_faults", this.#options.service.baseURL);
    const { status } = await fetch(url, { method: "PUT", body: JSON.stringify(rules) });
    if (status !== 204) throw new Error(`PUT /_faults is answered ${status}`);
  }
}

export function isCreate({ method, path }: CountedRequest): boolean {
  return method === "POST" && path.endsWith("/endpoints");
}

import { setTimeout as sleep } from "node:timers/promises";
import type { Dice } from "../simulation/dice.ts";
import type { CountedRequest } from "../support/counting-proxy.ts";
import { eventually } from "../support/eventually.ts";
import { faultRules } from "./faults.ts";
import type { StormOperator } from "./operators.ts";
import type { StormStage } from "./storm-stage.ts";

export interface WeatherOptions {
  stage: StormStage;
  dice: Dice;
  /** How long a create may be held up, in milliseconds: less than `--create-settle`. */
  longestHeldMs: number;
  /** How long the service is gone at a time, in milliseconds. */
  serviceGoneMs: number;
  /** The longest time that the single operator lives, in milliseconds. */
  longestLifeMs: number;
}

type Disaster = "API server" | "etcd" | "history" | "service" | "leader" | "standby";
const inAnyOrder: readonly Disaster[] = ["API server", "etcd", "history", "service"];

/** A proxy between operators and service holds so large a share of the creates up, for at least so long. */
const heldShare = 0.15;
const shortestHeldMs = 2000;

/** What an operator writes when the API server no longer has the history that it asks for. */
const historyGone = "The resource version of the watch has expired";

/** Everything that goes wrong. */
export class Weather {
  readonly #options: WeatherOptions;
  /** How often each thing happened. */
  readonly counts = { "API server": 0, etcd: 0, history: 0, service: 0, leader: 0, standby: 0, "held creates": 0 };
  #raging = false;
  /** While it is steady, the single operator is left alive. */
  #steady = false;

  constructor(options: WeatherOptions) {
    this.#options = options;
  }

  async begin(): Promise<void> {
    this.#raging = true;
    const { stage, dice, longestHeldMs } = this.#options;
    stage.proxy.holdMs = (request) => {
      const first = this.counts["held creates"] === 0;
      if (!isCreate(request) || !(first || dice.chance(heldShare))) return 0;
      this.counts["held creates"] += 1;
      return dice.between(shortestHeldMs, longestHeldMs);
    };
    await this.#putFaults();
  }

  async end(): Promise<void> {
    this.#raging = false;
    this.#options.stage.proxy.holdMs = undefined;
    await this.#putFaults();
  }

  /** Every disaster once, one after another: the others while the dead leader's lease still runs. */
  async disasters(say: (line: string) => void): Promise<void> {
    const { dice } = this.#options;
    for (const disaster of ["leader", ...dice.shuffled(inAnyOrder), "standby"] as const) {
      await sleep(dice.between(500, 2500));
      say(`${disaster}: gone`);
      this.counts[disaster] += 1;
      await this.#strike(disaster);
    }
  }

  #strike(disaster: Disaster): Promise<void> {
    const { stage, dice } = this.#options;
    switch (disaster) {
      case "API server":
        return this.#restartApiServer(() => sleep(dice.between(0, 3000)));
      case "etcd":
        return stage.controlPlane.restartEtcd();
      case "history":
        return this.#forgetHistory();
      case "service":
        return this.#loseService();
      case "leader":
        return this.#killOfPair(true);
      case "standby":
        return this.#killOfPair(false);
    }
  }

  /**
   * kill -9 of the single operator and its new start, again and again: mostly some time after it was ready, so that it
   * gets something done on a slow machine too, now and then while it is only just starting. And wall clocks jump.
   */
  async keepKilling(signal: AbortSignal): Promise<void> {
    const { stage, dice, longestLifeMs } = this.#options;
    while (!signal.aborted) {
      if (dice.chance(0.8)) await stage.singleOperator.ready();
      await sleep(dice.between(0, longestLifeMs), undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      if (dice.chance(0.4)) dice.pick(stage.operators).stepClock(dice.chance(0.5));
      if (!this.#steady) await restart(stage.singleOperator);
    }
  }

  async #restartApiServer(meanwhile: () => Promise<unknown>): Promise<void> {
    const { controlPlane } = this.#options.stage;
    await controlPlane.killApiServer();
    await meanwhile();
    await controlPlane.restartApiServer();
  }

  /** Every watch's place in history is lost: etcd forgets it, and with a new API server its memory of it goes too. */
  async #forgetHistory(): Promise<void> {
    const { stage } = this.#options;
    this.#steady = true;
    // Who has no watch yet does not stand on any history.
    await Promise.all(stage.operators.map((operator) => operator.ready()));
    const reported = () => stage.operators.flatMap((operator) => operator.linesWith([historyGone])).length;
    const before = reported();
    await this.#restartApiServer(() => stage.controlPlane.compactEtcd());
    await eventually("an operator to hear that history is gone", () => reported() > before || undefined, {
      timeoutMs: 120_000,
    });
    this.#steady = false;
  }

  /** The service is killed, is gone for a while, and starts again on what it had written. */
  async #loseService(): Promise<void> {
    const { stage, serviceGoneMs } = this.#options;
    await stage.service.kill();
    await sleep(serviceGoneMs);
    await stage.service.start();
    await this.#putFaults();
  }

  /** The one that holds the lease, or the other. */
  async #killOfPair(leading: boolean): Promise<void> {
    const [one, other] = this.#options.stage.electedOperators;
    const leader = () =>
      eventually(
        "one of two operators to lead",
        async () => ((await one.leads()) ? one : (await other.leads()) ? other : undefined),
        { timeoutMs: 60_000 },
      );
    const victim = (await leader()) === one ? (leading ? one : other) : leading ? other : one;
    await restart(victim);
  }

  async #putFaults(): Promise<void> {
    await this.#options.stage.service.setFaults(this.#raging ? faultRules : []);
  }
}

async function restart(operator: StormOperator): Promise<void> {
  await operator.kill();
  await operator.launch();
}

export function isCreate({ method, path }: CountedRequest): boolean {
  return method === "POST" && path.endsWith("/endpoints");
}

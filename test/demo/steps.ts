import { readFileSync } from "node:fs";
import { type KubectlOptions, kubectl } from "../control-plane/kubectl.ts";
import { costOf } from "./cost.ts";
import type { Stage } from "./demo-stage.ts";
import type { Screen } from "./screen.ts";

/** What a person types and sees in the demo, and what each step costs the service. */
export class Steps {
  readonly screen: Screen;
  readonly #stage: Stage;
  readonly #namespace: string;
  readonly #kubectl: KubectlOptions;

  constructor(screen: Screen, stage: Stage, namespace: string) {
    this.screen = screen;
    this.#namespace = namespace;
    this.#stage = stage;
    this.#kubectl = stage.controlPlane.admin;
  }

  /** One step, and what it cost the service. */
  async step(title: string, explanation: string, work: () => Promise<void>): Promise<void> {
    this.screen.heading(title, explanation);
    this.#stage.counter.clear();
    await work();
    this.screen.note(`This cost the service ${costOf(this.#stage.counter.requests)}.`);
  }

  /** Shows a kubectl command, runs it, and shows what it wrote. */
  async run(args: readonly string[], input?: string): Promise<void> {
    const line = ["kubectl", ...args].map(quoted).join(" ");
    this.screen.command(input === undefined ? line : `${line} <<'EOF'\n${input}EOF`);
    this.screen.output(await kubectl(args, { ...this.#kubectl, ...(input !== undefined && { input }) }));
  }

  /** Shows a `kubectl wait`, and how long it took; where it waits in vain, the error says what there is to know. */
  async wait(args: readonly string[]): Promise<void> {
    const all = ["wait", ...args, "--timeout=120s"];
    this.screen.command(["kubectl", ...all].map(quoted).join(" "));
    const output = await this.screen.waiting("waited", kubectl(all, this.#kubectl)).catch(async (error: unknown) => {
      throw new Error(`${String(error)}\n${await this.#known()}`);
    });
    this.screen.output(output);
  }

  /** What the cluster, the operator and the service know of the step so far. */
  async #known(): Promise<string> {
    const shown = await kubectl(["get", "brn,computes,computepools", "-n", this.#namespace, "-o=yaml"], this.#kubectl);
    const logged = readFileSync(this.#stage.operatorLog, "utf8").trimEnd().split("\n").slice(-30).join("\n");
    const calls = this.#stage.counter.requests.map(({ method, path, status }) => `${method} ${path} ${status ?? "-"}`);
    return [shown, "The operator wrote:", logged, "The service was asked:", ...calls].join("\n");
  }

  /** The names of the namespace's objects of these kinds. */
  async names(kinds: string): Promise<string[]> {
    const names = "jsonpath={.items[*].metadata.name}";
    const listed = await kubectl(["get", kinds, "-n", this.#namespace, `-o=${names}`], this.#kubectl);
    return listed.split(/\s+/);
  }

  endpointID(compute: string): Promise<string> {
    return kubectl(
      ["get", "compute", compute, "-n", this.#namespace, "-o=jsonpath={.status.endpointID}"],
      this.#kubectl,
    );
  }

  /** The URI in a connection Secret. */
  async uriIn(secret: string): Promise<string> {
    const data = await kubectl(
      ["get", "secret", secret, "-n", this.#namespace, "-o=jsonpath={.data.uri}"],
      this.#kubectl,
    );
    return Buffer.from(data, "base64").toString();
  }

  /** A call of somebody else's, which the counter does not see; resolves with its status. */
  async callService(method: string, path: string, body?: unknown): Promise<number> {
    return (await this.#stage.service.send(method, path, body)).status;
  }
}

/** A word as a shell needs it. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { main, type PostgresRig, project, type Reply } from "../rig.ts";
import { Branches, differences, unlike, uriOf, withLogin } from "./look.ts";
import { copied, type ModelBranch, type Moment } from "./model.ts";

export const base = `/projects/${project}`;

const Failed = z.looseObject({ status: z.string(), action: z.string(), error: z.string().optional() });

/** The service and a model of its branches, and the calls that both are changed by. */
export class Walk {
  readonly branches: ModelBranch[] = [];
  /** What was done, and what was not as it should be. */
  readonly log: string[] = [];
  readonly problems: string[] = [];
  protected readonly rig: PostgresRig;
  protected defaultBranch = main;
  /** True if the service is killed amid the next change. */
  protected killsNext = false;
  readonly #random: () => number;
  readonly #failures = new Set<string>();
  #count = 0;

  constructor(rig: PostgresRig, random: () => number) {
    this.rig = rig;
    this.#random = random;
  }

  /** A number that no other has. */
  protected next(): number {
    this.#count += 1;
    return this.#count;
  }

  protected newBranch(
    id: string,
    name: string,
    compute: string,
    content: ModelBranch["content"],
    parent: string | undefined,
  ): ModelBranch {
    return {
      id,
      name,
      parent,
      content,
      past: [],
      primary: compute,
      replica: undefined,
      isProtected: false,
      passwords: new Map(),
      former: [],
    };
  }

  /** Notes what each branch has, as a moment to which it can be restored. */
  async moment(lsns: ReadonlyMap<string, string> = new Map()): Promise<void> {
    await sleep(25);
    const at = Date.now();
    await sleep(25);
    for (const branch of this.branches) {
      branch.past.push({ at, lsn: lsns.get(branch.id), content: copied(branch.content) });
      if (branch.past.length > 60) branch.past.shift();
    }
  }

  protected pick<One>(all: readonly One[]): One | undefined {
    return all[Math.floor(this.#random() * all.length)];
  }

  protected chance(part: number): boolean {
    return this.#random() < part;
  }

  protected name(kind: string, most: number): string {
    return `${kind}${Math.floor(this.#random() * most)}`;
  }

  /** A moment of a branch's past that its compute can be asked for. */
  protected momentOf(branch: ModelBranch): { moment: Moment; point: object } | undefined {
    const moment = this.pick(branch.past);
    if (!moment) return undefined;
    const byLsn = moment.lsn !== undefined && this.chance(0.7);
    return { moment, point: byLsn ? { lsn: moment.lsn } : { timestamp: new Date(moment.at).toISOString() } };
  }

  protected async sent(what: string, method: string, path: string, body?: unknown): Promise<Reply | undefined> {
    const reply = await this.rig.call(method, `${base}${path}`, body);
    this.log.push(`${what}: ${method} ${path} ${body === undefined ? "" : JSON.stringify(body)} ${reply.status}`);
    if (reply.status < 300) return reply;
    this.problems.push(
      `${what}: ${method} ${path} ${JSON.stringify(body)}: ${reply.status} ${JSON.stringify(reply.body)}`,
    );
    return undefined;
  }

  /** As `sent`, and waits for the end of its operations. */
  protected async act(what: string, method: string, path: string, body?: unknown): Promise<Reply | undefined> {
    const reply = await this.sent(what, method, path, body);
    if (reply && this.killsNext) {
      this.killsNext = false;
      await sleep(400 * this.#random());
      this.log.push("SIGKILL amid it");
      await this.rig.kill();
      await this.rig.start();
    }
    await this.rig.settled();
    for (const one of z.array(Failed).parse(await this.rig.operations())) {
      const words = JSON.stringify(one);
      if (one.status !== "failed" || this.#failures.has(words)) continue;
      this.#failures.add(words);
      this.problems.push(`${what}: ${one.action} failed: ${one.error ?? ""}`);
    }
    return reply;
  }

  protected async uri(branch: ModelBranch, database: string, role?: string): Promise<string> {
    const [name, password] =
      role === undefined ? (this.pick([...branch.passwords]) ?? []) : [role, branch.passwords.get(role)];
    const uri = await uriOf(this.rig, branch.primary, database, name ?? "");
    if (uri === undefined || name === undefined || password === undefined)
      throw new Error(`no way to ${database} of ${branch.id}`);
    return withLogin(uri, name, password);
  }

  /** Compares the list of branches, and each of these, with the model. */
  async look(branches: readonly ModelBranch[] = this.branches): Promise<string[]> {
    const listed = Branches.parse((await this.rig.call("GET", `${base}/branches`)).body["branches"]);
    const words = (one: { id: string; name: string; parent: string | undefined }) =>
      `${one.id} ${one.name} of ${one.parent ?? "none"}`;
    const found = unlike(
      "the project",
      this.branches.map(words),
      listed.map(({ id, name, parent_id: parent }) => words({ id, name, parent })),
    );
    for (const { id, current_state: state } of listed) if (state !== "ready") found.push(`${id} is ${state}`);
    for (const branch of branches) {
      const problems = await differences(this.rig, branch);
      found.push(...problems.map((problem) => `${branch.id}: ${problem}`));
    }
    this.problems.push(...found);
    return found;
  }
}

import { ApiKeyCreated } from "../../src/api/api-keys.ts";
import { administratorsKey, compute, type Project } from "../e2e/manifests.ts";
import type { Cluster } from "../integration/support/cluster-admin.ts";
import { Dice } from "../simulation/dice.ts";
import { computeSizes } from "../support/compute-fields.ts";
import type { ServiceProcess } from "../support/processes.ts";
import type { HelpReason } from "./soak-stage.ts";

export interface PeopleOptions {
  cluster: Cluster;
  service: ServiceProcess;
  namespace: string;
  projects: readonly Project[];
  /** About how many Computes there are to be. */
  computes: number;
}

interface Member {
  name: string;
  project: Project;
  type: "read_write" | "read_only";
  branchID: string;
}

/**
 * The users of a churning fleet: one change at a time, in the cluster, or at the service outside the operator.
 */
export class People {
  /** How often each thing was done. */
  readonly done = new Map<string, number>();
  /** What the API server or the service refused, or did not answer, as while either is down. */
  refused = 0;
  readonly #options: PeopleOptions;
  /** Picking from nothing throws: then nothing is done this time. */
  readonly #dice = new Dice(Math.random);
  readonly #fleet = new Map<string, Member>();
  #made = 0;
  #keys = 0;
  #key: { id: number; secret: string } | undefined;

  constructor(options: PeopleOptions) {
    this.#options = options;
  }

  /** Declares the fleet to begin with. */
  async declare(): Promise<void> {
    while (this.#fleet.size < this.#options.computes) await this.#create();
  }

  /** Does one thing, whichever chance picks. */
  async act(): Promise<void> {
    const { computes } = this.#options;
    const few = this.#fleet.size < computes * 0.8;
    const many = this.#fleet.size > computes * 1.2;
    const [what, how] = this.#dice.weighted<[string, () => Promise<unknown>]>([
      [30, () => ["resizes", () => this.#resize()]],
      [few ? 60 : many ? 0 : 15, () => ["creates", () => this.#create()]],
      [many ? 60 : few ? 0 : 15, () => ["deletes", () => this.#delete()]],
      [10, () => ["restarts", () => this.#restart(this.#anyone().name)]],
      [8, () => ["moves", () => this.#move()]],
      [5, () => ["connection Secrets", () => this.#bind()]],
      [4, () => ["scaled pools", () => this.#scale()]],
      [8, () => ["wake-ups", () => this.#connect()]],
      [6, () => ["changes at the service", () => this.#drift()]],
      [2, () => ["deletions at the service", () => this.#lose()]],
      [1, () => ["key rotations", () => this.#rotate()]],
    ]);
    try {
      await how();
      this.#count(what);
    } catch {
      this.refused += 1;
    }
  }

  async #create(): Promise<void> {
    const { cluster, namespace, projects } = this.#options;
    const project = this.#dice.pick(projects);
    const free = this.#freeBranches(project);
    const type = this.#dice.chance(0.6) && free.length > 0 ? "read_write" : "read_only";
    const member: Member = {
      name: `c${++this.#made}`,
      project,
      type,
      branchID: type === "read_write" ? this.#dice.pick(free) : this.#dice.pick(project.branches),
    };
    const size = this.#dice.pick(computeSizes);
    const spec = {
      projectID: project.id,
      branchID: member.branchID,
      type,
      computeUnits: { min: size, max: size },
      ...(this.#dice.chance(0.3) ? { postgresSettings: { work_mem: "8MB" } } : {}),
      ...(this.#dice.chance(0.2) ? { scaleToZero: { enabled: false } } : {}),
    };
    const { metadata: _, ...manifest } = { metadata: {}, ...compute(member.name, spec) };
    await cluster.create("Compute", namespace, { ...manifest, metadata: { name: member.name } });
    this.#fleet.set(member.name, member);
  }

  async #delete(): Promise<void> {
    const { name } = this.#anyone();
    await this.#options.cluster.delete("Compute", this.#options.namespace, name);
    this.#fleet.delete(name);
  }

  #resize(): Promise<void> {
    const size = this.#dice.pick(computeSizes);
    return this.#change(this.#anyone(), { computeUnits: { min: size, max: this.#dice.pick([size, 8]) } });
  }

  async #move(): Promise<void> {
    const member = this.#anyone();
    const branchID = this.#dice.pick(
      member.type === "read_write" ? this.#freeBranches(member.project) : member.project.branches,
    );
    await this.#change(member, { branchID });
    member.branchID = branchID;
  }

  #bind(): Promise<void> {
    const member = this.#anyone();
    const secret = { name: `${member.name}-db`, database: "neondb", role: "neondb_owner" };
    return this.#change(member, { connectionSecret: this.#dice.chance(0.5) ? secret : undefined });
  }

  /** Does as the condition of a Compute asks: a restart, or `confirmLoss` where a key was changed amid a loss. */
  async help(name: string, reason: HelpReason): Promise<void> {
    await this.#annotate(name, reason === "OperationFailed" ? "restartedAt" : "confirmLoss");
    this.#count(`annotations that a condition asked for: ${reason}`);
  }

  #count(what: string): void {
    this.done.set(what, (this.done.get(what) ?? 0) + 1);
  }

  #restart(name: string): Promise<void> {
    return this.#annotate(name, "restartedAt");
  }

  /** A new value of the annotation. */
  async #annotate(name: string, annotation: string): Promise<void> {
    const { cluster, namespace } = this.#options;
    await cluster.annotate(namespace, name, annotation, `${Date.now()}`);
  }

  async #scale(): Promise<void> {
    const { cluster, namespace, projects } = this.#options;
    const project = this.#dice.pick(projects);
    const name = `readers-${project.id}`;
    const replicas = this.#dice.pick([0, 1, 2, 3]);
    if ((await cluster.find("ComputePool", namespace, name)) === undefined) {
      const template = { projectID: project.id, branchID: project.branches[0] };
      const pool = { apiVersion: "compute-operator.dev/v1alpha1", kind: "ComputePool", metadata: { name } };
      await cluster.create("ComputePool", namespace, { ...pool, spec: { replicas, template } });
      return;
    }
    await cluster.edit("ComputePool", namespace, name, { replicas });
  }

  async #connect(): Promise<void> {
    const { id } = this.#dice.pick(await this.#endpoints());
    await this.#options.service.send("POST", `/_connect/${id}?seconds=5`);
  }

  async #drift(): Promise<void> {
    const { id, project_id } = this.#dice.pick(await this.#endpoints());
    const size = this.#dice.pick(computeSizes);
    const body = { endpoint: { autoscaling_limit_min_cu: size, autoscaling_limit_max_cu: size } };
    await this.#options.service.call("PATCH", `/projects/${project_id}/endpoints/${id}`, body);
  }

  async #lose(): Promise<void> {
    const { id, project_id } = this.#dice.pick(await this.#endpoints());
    await this.#options.service.call("DELETE", `/projects/${project_id}/endpoints/${id}`);
  }

  /** A new key in the Secret; the one before is revoked once the operator has the new one. */
  async #rotate(): Promise<void> {
    const { cluster, namespace, service } = this.#options;
    const keys = "/organizations/org-shop/api_keys";
    const made = ApiKeyCreated.parse(
      await service.call("POST", keys, { key_name: `soak-${++this.#keys}` }, administratorsKey),
    );
    await cluster.modify("Secret", namespace, "service-api-key", (secret) => {
      secret.data = { "api-key": Buffer.from(made.key).toString("base64") };
    });
    const before = this.#key;
    this.#key = { id: made.id, secret: made.key };
    if (before !== undefined) await service.call("DELETE", `${keys}/${before.id}`, undefined, administratorsKey);
  }

  async #change({ name }: Member, fields: Record<string, unknown>): Promise<void> {
    const { cluster, namespace } = this.#options;
    await cluster.edit("Compute", namespace, name, fields);
  }

  /** The endpoints of one project that were made for Computes. */
  async #endpoints() {
    const project = this.#dice.pick(this.#options.projects);
    return (await this.#options.service.endpoints(project.id)).filter(({ name }) => name?.startsWith("k8s-"));
  }

  #anyone(): Member {
    return this.#dice.pick([...this.#fleet.values()]);
  }

  #freeBranches({ id, branches }: Project): string[] {
    const primaries = [...this.#fleet.values()].filter(
      ({ type, project }) => type === "read_write" && project.id === id,
    );
    const taken = new Set(primaries.map(({ branchID }) => branchID));
    return branches.filter((branch) => !taken.has(branch));
  }
}

import type { BackendAddress, ComputeBackend, HistoryState } from "../computes/backend.ts";
import { refusals } from "../refusal.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import type { Project } from "../store/projects.ts";
import type { Sessions } from "./fleet/sessions.ts";
import { forbiddenSetting } from "./server/allowed-settings.ts";
import { oldestMajor, type Templates } from "./server/templates.ts";

/** Real servers behind the computes: operations end when the runner reports it, and clients are those of the proxy. */
export class PostgresBackend implements ComputeBackend {
  readonly address: BackendAddress;
  readonly oldestMajor = oldestMajor;
  readonly #sessions: Sessions;
  readonly #templates: Pick<Templates, "refusedSettings">;
  readonly #history: (branchId: string) => HistoryState | undefined;

  /** `history`: that of a branch's data. */
  constructor(
    address: BackendAddress,
    sessions: Sessions,
    templates: Pick<Templates, "refusedSettings">,
    history: (branchId: string) => HistoryState | undefined,
  ) {
    this.#history = history;
    this.address = address;
    this.#sessions = sessions;
    this.#templates = templates;
  }

  endOf(): undefined {
    return undefined;
  }

  history(branchId: string): HistoryState | undefined {
    return this.#history(branchId);
  }

  createBranch(): number {
    return 0;
  }

  start(): number {
    return 0;
  }

  stop(): number {
    return 0;
  }

  resize(): number {
    return 0;
  }

  settingsProblem(
    { pgVersion: major, owner }: Pick<Project, "pgVersion" | "owner">,
    settings: Readonly<Record<string, string>>,
  ): string | undefined {
    const forbidden = forbiddenSetting(settings);
    if (forbidden !== undefined) {
      return `${forbidden} is not a setting of Postgres that a compute may have`;
    }
    const refused = this.#templates.refusedSettings({ major, owner: owner.id }, settings);
    return refused === undefined ? undefined : `Postgres refuses them: ${refused}`;
  }

  connect(): never {
    throw refusals.realClientsConnect(this.address);
  }

  connections({ id }: Pick<StoredEndpoint, "id">, pooled: boolean): number {
    return this.#sessions.count(id, pooled);
  }

  directConnections(): ReadonlyMap<string, number> {
    return new Map(this.#sessions.endpoints().map((id) => [id, this.#sessions.count(id, false)]));
  }

  serves({ id }: StoredEndpoint): boolean {
    return this.#sessions.any(id);
  }

  /** The server tells its clients when it stops; a change that does not stop it cuts nobody. */
  disconnect({ id }: StoredEndpoint): boolean {
    return this.#sessions.any(id);
  }
}

import { Refusal, refusals, required } from "../../refusal.ts";
import type { Store } from "../../store/store.ts";
import type { BranchCopies } from "../branch-copies.ts";
import { messageOf, PostgresUnusable, ServerFailed } from "../failure.ts";
import type { Fleet } from "../fleet.ts";
import { dumpSchema } from "./dump.ts";

/** Reads the schema of a branch's database: from its running primary, or from a server that runs for this alone. */
export class SchemaReader {
  readonly #ports: { store: Store; fleet: Fleet; copies: BranchCopies };

  constructor(ports: { store: Store; fleet: Fleet; copies: BranchCopies }) {
    this.#ports = ports;
  }

  /** Rejects with `Refusal`. */
  async read(branchId: string, database: string): Promise<string> {
    const { store, fleet, copies } = this.#ports;
    const branch = required("branch", store.branches.byId(branchId));
    const { pgVersion } = required("project", store.projects.get(branch.projectId));
    try {
      await copies.ensure(branchId);
      return await fleet.reading(branchId, pgVersion, async (connect) => {
        const client = await connect(database);
        try {
          return await dumpSchema(client);
        } finally {
          client.close();
        }
      });
    } catch (error) {
      if (error instanceof Refusal) throw error;
      if (!(error instanceof ServerFailed || error instanceof PostgresUnusable)) throw error;
      throw refusals.unavailable(`the schema of database ${database} cannot be read now: ${messageOf(error)}`);
    }
  }
}

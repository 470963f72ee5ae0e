import { messageOf } from "../../error-message.ts";
import { refusals, required } from "../../refusal.ts";
import type { Store } from "../../store/store.ts";
import type { BranchCopies } from "../branches/branch-copies.ts";
import { PostgresUnusable, ServerFailed } from "../host/failure.ts";
import { dumpSchema } from "../schema/dump.ts";
import type { Act } from "../server/own-server.ts";
import { AnswerTooLarge } from "../session/sql-client.ts";
import type { Fleet } from "./fleet.ts";
import type { FleetPorts } from "./fleet-ports.ts";
import { shareTaken } from "./with-processes.ts";

/** The longest schema that is read, in bytes: the service holds it whole. */
const longestSchema = 8 * 1024 ** 2;

export interface SchemaReaderPorts {
  store: Store;
  fleet: Pick<Fleet, "reading">;
  copies: Pick<BranchCopies, "ensure">;
  processShares: FleetPorts["processShares"];
}

/** Reads the schema of a branch's database: from its running primary, or from a server that runs for this alone. */
export class SchemaReader {
  readonly #ports: SchemaReaderPorts;

  constructor(ports: SchemaReaderPorts) {
    this.#ports = ports;
  }

  /** `gone` ends the reading. Rejects with `Refusal`. */
  async read(branchId: string, database: string, gone?: AbortSignal): Promise<string> {
    const { store, fleet, copies, processShares } = this.#ports;
    const branch = required("branch", store.branches.byId(branchId));
    const { pgVersion, owner } = required("project", store.projects.get(branch.projectId));
    const place = processShares.of(owner.id);
    try {
      await copies.ensure(branchId);
      const read: Act<string> = async (connect) => {
        if (gone?.aborted) throw new ServerFailed("the client has left");
        // A client may have its process wait for a lock, also after it is given up.
        if (!place.take(1)) throw new ServerFailed(shareTaken);
        const client = await connect(database);
        client.limitAnswers(longestSchema);
        const leave = () => {
          client.cancel();
          client.close();
        };
        gone?.addEventListener("abort", leave);
        if (gone?.aborted) leave();
        try {
          return await dumpSchema(client);
        } finally {
          gone?.removeEventListener("abort", leave);
          client.close();
        }
      };
      return await fleet.reading(branchId, pgVersion, read, gone);
    } catch (error) {
      if (error instanceof AnswerTooLarge) {
        throw refusals.unprocessable(
          `the schema of database ${database} is larger than ${longestSchema / 1024 ** 2} MiB: read it with pg_dump`,
        );
      }
      if (!(error instanceof ServerFailed || error instanceof PostgresUnusable)) throw error;
      throw refusals.unavailable(`the schema of database ${database} cannot be read now: ${messageOf(error)}`);
    } finally {
      place.release();
    }
  }
}

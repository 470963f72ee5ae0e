import { z } from "zod";
import type { ServiceContext } from "../context.ts";
import { Time } from "../domain/expiry.ts";
import { type AskedPoint, pointOf } from "../domain/history-point.ts";
import { Lsn } from "../domain/requests.ts";
import { refusals, required } from "../refusal.ts";
import type { Branch } from "../store/branches.ts";
import { branchPath, branchRoute } from "./branch-route.ts";
import { nothing } from "./check.ts";
import type { Handled, Route } from "./route.ts";

const point = { db_name: z.string(), lsn: Lsn.optional(), timestamp: Time.optional() };

/** The calls that read the schema of a database. */
export const schemaRoutes: readonly Route[] = [
  branchRoute(
    {
      method: "GET",
      path: `${branchPath}/schema`,
      operationId: "getProjectBranchSchema",
      summary: "The schema of a database as SQL.",
      body: nothing,
      query: z.object({ ...point, format: z.literal("sql").optional() }),
      answers: { 200: z.looseObject({ sql: z.string() }) },
    },
    ({ context, gone, branch, query }) => {
      const wanted = { branch, name: query.db_name, lsn: query.lsn, timestamp: query.timestamp };
      return schemas({ context, gone }, [wanted], ([sql = ""]) => ({ sql }));
    },
  ),
  branchRoute(
    {
      method: "GET",
      path: `${branchPath}/compare_schema`,
      operationId: "getProjectBranchSchemaComparison",
      summary: "The difference between the schemas of a database on two branches, as a patch.",
      body: nothing,
      query: z.object({
        ...point,
        base_branch_id: z.string().optional(),
        base_lsn: Lsn.optional(),
        base_timestamp: Time.optional(),
      }),
      answers: { 200: z.looseObject({ diff: z.string() }) },
    },
    ({ context, gone, project, branch, query }) => {
      const owner = project.owner.id;
      const { db_name: name, lsn, timestamp, base_lsn, base_timestamp } = query;
      const baseId = query.base_branch_id ?? branch.parentId;
      if (baseId === undefined) throw refusals.invalid("base_branch_id is needed for a branch without a parent");
      const base = required("base branch", context.store.branches.get(project.id, baseId));
      const before = { branch: base, name, lsn: base_lsn, timestamp: base_timestamp };
      const after = { branch, name, lsn, timestamp };
      return schemas({ context, gone }, [before, after], ([one = "", other = ""]) => {
        const diff = context.catalog.compared({ name, owner, before: one, after: other }, gone);
        return typeof diff === "string" ? { diff } : diff.then((patch) => ({ diff: patch }));
      });
    },
  ),
];

/** The schema of a database, as it is now or as it was. */
interface WantedSchema extends AskedPoint {
  branch: Branch;
  name: string;
}

/** Reads schemas, after all of them were found to be there. Throws `Refusal`. */
function schemas(
  { context, gone }: { context: ServiceContext; gone: AbortSignal | undefined },
  wanted: readonly WantedSchema[],
  bodyOf: (schemas: readonly string[]) => unknown,
): Handled {
  for (const { branch, name, lsn, timestamp } of wanted) {
    const past = pointOf({ lsn, timestamp }, "a schema is read at an LSN or at a time, not at both");
    if (context.backend.address && past) throw refusals.noPastSchema();
    required("database", context.catalog.database(branch.id, name));
  }
  const read = wanted.map(({ branch, name }) => context.catalog.schema(branch.id, name, gone));
  const known = read.filter((schema) => typeof schema === "string");
  if (known.length === read.length) return { status: 200, body: bodyOf(known) };
  return { status: 200, body: Promise.all(read.map((schema) => Promise.resolve(schema))).then(bodyOf) };
}

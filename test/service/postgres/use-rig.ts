import { afterAll, beforeAll } from "vitest";
import { nodePostgres } from "./node-postgres.ts";
import { PostgresRig, seed } from "./rig.ts";

/** One service with real servers for all tests of a file. */
export function usePostgresRig(flags: readonly string[] = [], document: object = seed): PostgresRig {
  const rig = new PostgresRig(flags, document);
  beforeAll(async () => {
    nodePostgres();
    await rig.start();
  });
  afterAll(() => rig[Symbol.asyncDispose]());
  return rig;
}

import type { CatalogThen } from "../../store/catalog.ts";
import type { BranchCatalog } from "../catalog/branch-catalog.ts";
import { privilegedRole } from "../session/privileged-role.ts";
import type { Present } from "./recovery.ts";

/**
 * The catalogue of a recovered server, and what it lacks by then. Data that no server of ours has run on lacks all, and
 * data lacks what was never brought into it: the API had those all the same.
 */
export function catalogThen(brought: BranchCatalog, { roleNames, roles, databases }: Present): CatalogThen {
  const isIn = (names: readonly string[]) => {
    const found = new Set(names);
    return ({ name }: { name: string }) => found.has(name);
  };
  const hasRun = roleNames.includes(privilegedRole);
  const [hasRole, hasDatabase] = [isIn(roleNames), isIn(databases.map(({ name }) => name))];
  const lost = <One extends { name: string }>(all: readonly One[], has: (one: One) => boolean) =>
    hasRun ? all.filter((one) => !has(one)).map(({ name }) => name) : [];
  return {
    roles,
    databases,
    lostRoles: lost(brought.roles, hasRole),
    lostDatabases: lost(brought.databases, hasDatabase),
  };
}

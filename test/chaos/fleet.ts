import type { JsonObject } from "../simulation/api-server/objects.ts";
import type { Dice } from "../simulation/dice.ts";
import { computeSizes, randomFields } from "../support/compute-fields.ts";

/** One team's Computes: a namespace with a connection of its own, projects of its own, an operator of its own. */
export interface Fleet {
  namespace: string;
  /** The key in its Secret: of its own organization, so that the fleets do not share the service's rate limit. */
  key: string;
  organization: string;
  projects: readonly string[];
  /** Computes by name, without those that the pool makes. */
  members: readonly Member[];
  pool: { name: string; most: number; project: string; branch: string };
}

/** One Compute that comes and goes under the same name: what never changes of it. */
export interface Member {
  name: string;
  project: string;
  type: "read_write" | "read_only";
  /** Those that it may stand on; a primary's are its own, so that users never declare two on one branch. */
  branches: readonly string[];
}

/** A project holds so many Computes at most: its lock lets one change through at a time. */
const mostPerProject = 25;
const replicaBranches = 3;
const branchesOfPrimary = 2;

/** A fleet of `size` Computes: a tenth from the pool, a quarter primaries, the rest read replicas. */
export function fleetOf(namespace: string, size: number): Fleet {
  const pooled = Math.max(2, Math.round(size / 10));
  const count = Math.ceil(size / mostPerProject);
  const projects = Array.from({ length: count }, (_, index) => `${namespace}-${index}`);
  const members = Array.from({ length: size - pooled }, (_, index) => {
    const project = `${namespace}-${index % count}`;
    return index % 4 === 3 ? primary(namespace, project, index) : replica(namespace, project, index);
  });
  const [project = ""] = projects;
  return {
    namespace,
    key: `key-of-${namespace}-5f0c71d2a9`,
    organization: `org-${namespace}`,
    projects,
    members,
    pool: { name: `${namespace}-readers`, most: pooled, project, branch: sharedBranch(project, 0) },
  };
}

function primary(namespace: string, project: string, index: number): Member {
  const branches = Array.from({ length: branchesOfPrimary }, (_, nth) => `br-${project}-p${index}-${nth}`);
  return { name: `${namespace}-primary-${index}`, project, type: "read_write", branches };
}

function replica(namespace: string, project: string, index: number): Member {
  const branches = Array.from({ length: replicaBranches }, (_, nth) => sharedBranch(project, nth));
  return { name: `${namespace}-replica-${index}`, project, type: "read_only", branches };
}

function sharedBranch(project: string, nth: number): string {
  return `br-${project}-r${nth}`;
}

/** How many Computes it comes to, those of the pool included. */
export function sizeOf({ members, pool }: Fleet): number {
  return members.length + pool.most;
}

/** All branches of a project but its default one. */
export function branchesOf(fleet: Fleet, project: string): string[] {
  const own = fleet.members.filter((member) => member.project === project).flatMap(({ branches }) => branches);
  const { pool } = fleet;
  return [...new Set([...own, ...(pool.project === project ? [pool.branch] : [])])];
}

/** A spec for a Compute. It never suspends, so that what is settled stays as it is. */
export function specOf(member: Member, branchID: string, dice: Dice): JsonObject {
  const size = dice.pick(computeSizes);
  return {
    projectID: member.project,
    branchID,
    type: member.type,
    computeUnits: { min: size, max: dice.chance(0.5) ? size : 8 },
    scaleToZero: { enabled: false },
    ...(dice.chance(0.3) ? { postgresSettings: { work_mem: dice.pick(["4MB", "8MB", "16MB"]) } } : {}),
    ...randomFields(dice, 0.2),
  };
}

import { firstBranch, type Seed, type SeedProject } from "./document.ts";

/** The most that a seed may make: some seconds of work before the service answers. */
export const mostMade = 500_000;

/** The number of objects that a seed makes, from accounts to databases, counted before any of them is made. */
export function sizeOf({ accounts, organizations, projects }: Seed): number {
  const owners = [...accounts, ...organizations];
  const keys = owners.reduce((sum, { apiKeys }) => sum + apiKeys.length, 0);
  const members = organizations.reduce((sum, organization) => sum + organization.members.length, 0);
  return owners.length + keys + members + projects.reduce((sum, project) => sum + sizeOfProject(project), 0);
}

/** Every other branch begins with the roles and databases of the default one. */
function sizeOfProject(project: SeedProject): number {
  const { branches, endpoints } = project;
  const own = branches.reduce((sum, { roles, databases }) => sum + roles.length + databases.length, 0);
  const first = firstBranch(project);
  const copied = (first?.roles.length ?? 0) + (first?.databases.length ?? 0) + 2;
  return 1 + own + branches.length + (branches.length - 1) * copied + (endpoints?.length ?? 1);
}

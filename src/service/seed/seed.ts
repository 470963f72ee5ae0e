import { ownerNamed } from "../accounts/owner.ts";
import { newEndpoint, refuseFullProject } from "../computes/create.ts";
import type { ServiceContext } from "../context.ts";
import { seedBranch } from "../domain/projects.ts";
import { uuidOf } from "../ids.ts";
import { Refusal } from "../refusal.ts";
import { BranchDetails, ProjectDetails } from "../store/details.ts";
import type { KeyScope } from "../store/keys.ts";
import type { Project } from "../store/projects.ts";
import { firstBranch, type Seed, type SeedEndpoint, type SeedProject } from "./document.ts";

/** A seed that cannot be applied; the message names the reason. */
export class BadSeed extends Error {
  override name = "BadSeed";
}

/**
 * Stores what a seed names, unless it exists already: a seed may be given at every start. Its computes are idle and
 * have no operations, as if they had existed for long. To be called in a transaction.
 */
export function applySeed(context: ServiceContext, seed: Seed, at: number): void {
  const { accounts, projects, removed } = context.store;
  for (const account of seed.accounts) {
    if (!accounts.get(account.id)) {
      const { id, email, plan, name = email } = account;
      if (accounts.hasEmail(email)) throw new BadSeed(`account ${id} has the email ${email}, which another one has`);
      accounts.insert({ id, uuid: uuidOf(id), email, name, plan, createdAt: at });
    }
    for (const { name, key } of account.apiKeys) {
      plantKey(context, key, { name, scope: { kind: "personal", accountId: account.id }, createdBy: account.id, at });
    }
  }
  for (const organization of seed.organizations) {
    if (accounts.organization(organization.id)) continue;
    const { id, plan, name = id } = organization;
    accounts.insertOrganization({ id, name, plan, createdAt: at });
    for (const { account, role } of organization.members) {
      refuseMissing(context, id, account);
      accounts.putMember({ organizationId: id, accountId: account, role, joinedAt: at });
    }
  }
  const missing = seed.projects.filter(({ id }) => !projects.get(id));
  // A deleted project may have had the same ids.
  if (missing.length > 0) while (removed.clearSome());
  for (const project of missing) plantProject(context, project, at);
  for (const organization of seed.organizations) plantOrganizationKeys(context, organization, at);
}

function plantOrganizationKeys(context: ServiceContext, organization: Seed["organizations"][number], at: number): void {
  const { id: organizationId, apiKeys, members } = organization;
  const createdBy = (members.find(({ role }) => role === "admin") ?? members[0])?.account ?? "";
  for (const { name, key, projectID: projectId } of apiKeys) {
    // A key that was planted stays as a record, also where its project was deleted.
    if (context.store.keys.exists(key)) continue;
    // Of an organization that is there already, the seed may name others than when that was made.
    refuseMissing(context, organizationId, createdBy);
    if (projectId !== undefined && !context.store.projects.get(projectId)) {
      throw new BadSeed(
        `key ${name} of organization ${organizationId} names project ${projectId}, which does not exist`,
      );
    }
    const scope: KeyScope =
      projectId === undefined
        ? { kind: "organization", organizationId }
        : { kind: "project", organizationId, projectId };
    plantKey(context, key, { name, scope, createdBy, at });
  }
}

function refuseMissing({ store }: ServiceContext, organization: string, account: string): void {
  if (store.accounts.get(account)) return;
  throw new BadSeed(`organization ${organization} names account ${account}, which does not exist`);
}

function plantKey(
  context: ServiceContext,
  secret: string,
  key: { name: string; scope: KeyScope; createdBy: string; at: number },
): void {
  const { name, scope, createdBy, at } = key;
  const { keys } = context.store;
  if (!keys.exists(secret)) keys.insert(secret, { name, scope, createdBy, createdAt: at }, { planted: true });
}

function plantProject(context: ServiceContext, seed: SeedProject, at: number): void {
  const { projects, branches } = context.store;
  const owner = placed(`project ${seed.id}, owner`, () => ownerNamed(context.store, seed.owner));
  const { id, name = id, regionID: regionId, pgVersion } = seed;
  projects.insert({
    id,
    name,
    owner,
    regionId,
    pgVersion,
    details: ProjectDetails.parse({}),
    createdAt: at,
    updatedAt: at,
  });
  const first = firstBranch(seed);
  let parentId: string | undefined;
  for (const branch of [first, ...seed.branches.filter((one) => one !== first)]) {
    if (!branch) continue;
    const branchId = branch.id ?? `br-${context.ids.name()}`;
    if (branches.exists(branchId)) throw new BadSeed(`branch id ${branchId} stands twice`);
    branches.insert({
      id: branchId,
      projectId: id,
      parentId,
      name: branch.name ?? branchId,
      isDefault: parentId === undefined,
      isProtected: branch.protected,
      currentState: "ready",
      details: BranchDetails.parse({}),
      expiresAt: undefined,
      createdAt: at,
    });
    if (parentId === undefined) seedBranch(context, branchId, at);
    else context.catalog.copyToNew(parentId, branchId, at);
    plantCatalog(context, branchId, branch, at);
    parentId ??= branchId;
  }
  const project = projects.get(id);
  if (!project || parentId === undefined) return;
  const endpoints = seed.endpoints ?? [{ branchID: parentId, type: "read_write" as const }];
  // The owner's other projects do not count: clients have filled them, and the service has to start.
  placed(`project ${id}`, () => refuseFullProject(context, project, endpoints.length));
  for (const endpoint of endpoints) plantEndpoint(context, project, endpoint, at);
}

function plantCatalog(
  { catalog }: ServiceContext,
  branchId: string,
  { roles, databases }: Pick<SeedProject["branches"][number], "roles" | "databases">,
  at: number,
): void {
  for (const name of roles) {
    if (!catalog.role(branchId, name)) catalog.createRole(branchId, { name, login: true }, at);
  }
  for (const { name, owner } of databases) {
    if (!catalog.role(branchId, owner)) {
      throw new BadSeed(`database ${name} of branch ${branchId} names owner ${owner}, which is no role of that branch`);
    }
    const there = catalog.database(branchId, name) ?? catalog.createDatabase(branchId, { name, ownerName: owner }, at);
    if (there.ownerName !== owner) {
      throw new BadSeed(`database ${name} of branch ${branchId} has two owners: ${there.ownerName} and ${owner}`);
    }
  }
}

function plantEndpoint(context: ServiceContext, project: Project, seed: SeedEndpoint, at: number): void {
  const { id, branchID, ...attributes } = seed;
  const { branches, endpoints } = context.store;
  if (!branches.get(project.id, branchID)) {
    throw new BadSeed(`a compute of project ${project.id} names branch ${branchID}, which is not in that project`);
  }
  if (seed.type === "read_write" && endpoints.primaryOf(branchID)) {
    throw new BadSeed(`branch ${branchID} has two read_write computes: it can have one`);
  }
  if (id !== undefined && endpoints.byId(id)) throw new BadSeed(`compute id ${id} is that of another project's`);
  const endpoint = placed(`a compute of project ${project.id} on branch ${branchID}`, () =>
    newEndpoint(context, project, { ...attributes, branch_id: branchID }, at),
  );
  endpoints.insert({ ...endpoint, id: id ?? endpoint.id, currentState: "idle" });
}

/** Makes a part of a seed; a refusal that a client would get names the part's place. */
function placed<T>(place: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw error instanceof Refusal ? new BadSeed(`${place}: ${error.message}`, { cause: error }) : error;
  }
}

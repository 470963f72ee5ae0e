import type { ServiceContext } from "../context.ts";
import { Refusal, refusals, unlessFull } from "../refusal.ts";
import type { Role } from "../store/accounts.ts";
import type { ApiKey, KeyScope } from "../store/keys.ts";
import type { Owner, Project } from "../store/projects.ts";
import type { Store } from "../store/store.ts";
import { isSameOwner } from "./owner.ts";

/** The account or organization of a request, by its key. */
export interface Caller {
  scope: KeyScope;
  /** The id whose rate limits count: an account or an organization. */
  limitedAs: string;
  /** The id of a project-scoped key, which has a rate limit of its own. */
  projectKey?: number | undefined;
}

/** The caller of an Authorization header. Missing, malformed, unknown and revoked keys get the same refusal. */
export function authenticate(
  context: ServiceContext,
  authorization: string | undefined,
  remote: string,
  at: number,
): Caller {
  const key = validKey(context.store, authorization);
  if (!key) throw refusals.unauthorized();
  // Reads are answered also where the disk has no room for the note.
  unlessFull(() => context.store.keys.used(key, at, remote));
  return callerWith(key);
}

/** The caller of an Authorization header, where it is one; the use of the key is not noted. */
export function knownCaller(store: Store, authorization: string | undefined): Caller | undefined {
  const key = validKey(store, authorization);
  return key && callerWith(key);
}

function validKey(store: Store, authorization: string | undefined) {
  const secret = /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization ?? "")?.[1];
  const key = secret === undefined ? undefined : store.keys.bySecret(secret);
  return key && stillHolds(store, key.scope) ? key : undefined;
}

function callerWith({ id, scope }: ApiKey): Caller {
  return {
    scope,
    limitedAs: scope.kind === "personal" ? scope.accountId : scope.organizationId,
    projectKey: scope.kind === "project" ? id : undefined,
  };
}

/** A project-scoped key ends when its project leaves the organization; other keys are valid until revoked. */
function stillHolds(store: Store, scope: KeyScope): boolean {
  if (scope.kind !== "project") return true;
  return isSameOwner(store.projects.get(scope.projectId)?.owner, { kind: "organization", id: scope.organizationId });
}

/** Rights of a caller in a project or an organization, each with those before it: to read, to change, to administer. */
const rights = ["viewer", "member", "admin"] as const;
export type Right = (typeof rights)[number];

/** The right that a role gives in its organization, and in the organization's projects. */
const rightsOf: Readonly<Record<Role, { organization: Right; projects: Right | undefined }>> = {
  admin: { organization: "admin", projects: "admin" },
  member: { organization: "member", projects: "member" },
  editor: { organization: "member", projects: "member" },
  viewer: { organization: "viewer", projects: "viewer" },
  // Reaches the projects that it is given a role in; the service has no such roles.
  collaborator: { organization: "viewer", projects: undefined },
};

const permissions: Readonly<Record<Right, string>> = { viewer: "VIEWER", member: "EDITOR", admin: "ADMIN" };

/** A right in a project, as the public service shows it. */
export function permissionFor(right: Right): string {
  return permissions[right];
}

/** The permission that a role gives in the projects of its organization. */
export function permissionOf(role: Role): string | undefined {
  const { projects } = rightsOf[role];
  return projects && permissionFor(projects);
}

/** True if a right includes the one that is needed. */
function covers(right: Right, needed: Right): boolean {
  return rights.indexOf(right) >= rights.indexOf(needed);
}

/** The caller's right in the projects of `owner`; `undefined` if the caller may not even know that they exist. */
export function rightIn(store: Store, caller: Caller, owner: Owner): Right | undefined {
  return rightOf(store, caller, owner, "projects");
}

function rightOf(store: Store, { scope }: Caller, owner: Owner, what: "organization" | "projects"): Right | undefined {
  switch (scope.kind) {
    case "personal": {
      if (owner.kind === "account") return owner.id === scope.accountId ? "admin" : undefined;
      const role = store.accounts.member(owner.id, scope.accountId)?.role;
      return role && rightsOf[role][what];
    }
    case "organization":
      return owner.kind === "organization" && owner.id === scope.organizationId ? "admin" : undefined;
    case "project":
      return owner.kind === "organization" && owner.id === scope.organizationId ? "member" : undefined;
  }
}

/** The project, if the caller has at least the right `needed` in it. */
export function reachProject(store: Store, caller: Caller, projectId: string, needed: Right): Project {
  const { scope } = caller;
  if (scope.kind === "project" && scope.projectId !== projectId) throw refusals.outsideScope(scope.projectId);
  const project = store.projects.get(projectId);
  const right = project && rightIn(store, caller, project.owner);
  if (!project || !right) throw refusals.notFound("project");
  if (!covers(right, needed)) {
    throw refusals.forbidden(
      needed === "admin"
        ? `this call on project ${projectId} needs an administrator of its organization, or an organization API key`
        : `this key only reads project ${projectId}: its user is a viewer in the organization`,
    );
  }
  return project;
}

/** True if `reachProject` gives the caller the project. */
export function mayReachProject(store: Store, caller: Caller, projectId: string, needed: Right): boolean {
  try {
    return reachProject(store, caller, projectId, needed).id === projectId;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

/** All owners whose projects the caller may list. */
export function visibleOwners(store: Store, caller: Caller): Owner[] {
  const { scope } = caller;
  if (scope.kind !== "personal") return [{ kind: "organization", id: scope.organizationId }];
  const organizations = store.accounts
    .organizationsOf(scope.accountId)
    .filter(({ id }) => rightIn(store, caller, { kind: "organization", id }) !== undefined);
  return [
    { kind: "account", id: scope.accountId },
    ...organizations.map(({ id }): Owner => ({ kind: "organization", id })),
  ];
}

/** The account of a personal key; other keys are refused. */
export function personalAccount(caller: Caller): string {
  switch (caller.scope.kind) {
    case "personal":
      return caller.scope.accountId;
    case "organization":
      throw refusals.notForOrganizationKeys();
    case "project":
      throw refusals.outsideScope(caller.scope.projectId);
  }
}

/** Refuses callers that may not know that the organization exists, and project-scoped keys. */
export function reachOrganization(store: Store, caller: Caller, organizationId: string, needed: Right) {
  if (caller.scope.kind === "project") throw refusals.outsideScope(caller.scope.projectId);
  const organization = store.accounts.organization(organizationId);
  const right = organization && rightOf(store, caller, { kind: "organization", id: organizationId }, "organization");
  if (!organization || !right) throw refusals.notFound("organization");
  refuseWithout(needed, right, organizationId);
  return { organization, right };
}

/** The organization as the owner of projects, for a caller who may make some there; `what` names it otherwise. */
export function newOwnerFor(store: Store, caller: Caller, id: string, what = "organization"): Owner {
  const owner: Owner = { kind: "organization", id };
  const right = rightIn(store, caller, owner);
  if (!right) throw refusals.notFound(what);
  refuseWithout("member", right, id);
  return owner;
}

function refuseWithout(needed: Right, right: Right, organizationId: string): void {
  if (covers(right, needed)) return;
  const who = needed === "admin" ? "an administrator" : "an editor";
  throw refusals.forbidden(`this call needs ${who} of organization ${organizationId}`);
}

import type { Endpoint } from "../../api/endpoint.ts";
import { notedUID } from "../../operator/branch/observation.ts";
import { doing, meaningOf as meaningOfBranches } from "../../operator/branch/words.ts";
import { meaningOf, requests } from "../../operator/compute/words/failures.ts";
import { printableLine } from "../../operator/objects/printable-line.ts";
import { objectName } from "../../operator/resources/fields.ts";
import { type Failure } from "../../operator/service-client/answer.ts";
import type { ServiceClient } from "../../operator/service-client/client.ts";
import { branchManifestOf, type Exported, type ExportNames, manifestOf } from "../manifests/manifest-of.ts";
import { kubectlYAML } from "../manifests/yaml-characters.ts";
import { saidOnce } from "../plan/messages.ts";
import type { ExportFlags } from "./flags.ts";
import { CommandProblem } from "./ports.ts";

/**
 * The manifests of the projects' computes as one YAML stream, by project and branch with the primary first, branches
 * before computes, and notes: what cannot be declared, and projects without computes. Sends one list request for each
 * project and kind. Throws
 * `CommandProblem` if the service refuses one, or a name is none of a Kubernetes object.
 */
export async function exportProjects(flags: ExportFlags, client: ServiceClient, signal: AbortSignal): Promise<Written> {
  const { namespace, connection } = flags;
  requireName("--connection", connection);
  if (namespace !== undefined) requireName("--namespace", namespace);
  const { ids, notes } = await projectsOf(flags, client, signal);
  const parts: string[] = [];
  for (const id of ids) {
    // One after the other: the service limits how many requests it takes.
    const { yaml, notes: ofProject } = await exportProject(id, flags, client, signal);
    if (yaml !== "") parts.push(yaml);
    notes.push(...ofProject);
  }
  return { yaml: parts.join("\n---\n"), notes };
}

interface Written {
  yaml: string;
  notes: string[];
}

/** The projects that are named, else all that the key reaches. */
async function projectsOf(
  { projects, organization }: ExportFlags,
  client: ServiceClient,
  signal: AbortSignal,
): Promise<{ ids: readonly string[]; notes: string[] }> {
  if (projects.length > 0) return { ids: projects, notes: [] };
  const answer = await client.listProjects(organization, signal);
  if (answer.kind !== "ok") throw refused(answer, requests.listProjects, client);
  const { projects: listed, complete } = answer.value;
  const notes = complete ? [] : ["the service left projects out of its list: export those with --project"];
  if (listed.length === 0) notes.push("the key reaches no projects: a personal key may need --organization");
  return { ids: listed.map(({ id }) => id).toSorted(), notes };
}

function refused(
  failure: Failure,
  request: Parameters<typeof meaningOf>[1],
  { account }: ServiceClient,
): CommandProblem {
  return new CommandProblem([saidOnce(meaningOf(failure, request), account.baseURL, "flags")]);
}

async function exportProject(
  project: string,
  { namespace, connection, branches, observe }: ExportFlags,
  client: ServiceClient,
  signal: AbortSignal,
): Promise<Written> {
  const answer = await client.listEndpoints(project, signal);
  if (answer.kind !== "ok") throw refused(answer, requests.listEndpoints(project), client);
  const names = { namespace, connection, observe };
  const written = branches ? await exportBranches(project, names, client, signal) : undefined;
  const documents = [...(written?.documents ?? [])];
  const notes = [
    ...(answer.value.length === 0 ? [`project ${project} has no computes`] : []),
    ...(written?.notes ?? []),
  ];
  for (const endpoint of answer.value.toSorted(inOrder)) {
    const exported = manifestOf(endpoint, names);
    if ("problem" in exported) notes.push(`endpoint ${endpoint.id} cannot be declared: ${exported.problem}`);
    else documents.push(documentOf(exported.manifest, commentsOn(endpoint, exported)));
  }
  return { yaml: documents.join("---\n").trimEnd(), notes };
}

/** A branch that an operator made belongs to its Branch, and none may adopt it. */
async function exportBranches(
  project: string,
  names: ExportNames,
  client: ServiceClient,
  signal: AbortSignal,
): Promise<{ documents: string[]; notes: string[] }> {
  const answer = await client.branches.list(project, signal);
  if (answer.kind !== "ok") {
    throw new CommandProblem([meaningOfBranches(answer, doing.list(project)).message]);
  }
  const documents: string[] = [];
  const notes: string[] = [];
  for (const listed of answer.value.toSorted((a, b) => compare(a.id, b.id))) {
    const { id, name = id } = listed;
    if (notedUID(listed) !== undefined) {
      notes.push(`branch ${id} (${name}) was made by an operator or by apply for a Branch, which declares it`);
      continue;
    }
    documents.push(documentOf(branchManifestOf(id, project, names), [`Branch ${name}.`]));
  }
  return { documents, notes };
}

/** Lines about a compute: what it is, and what of it a manifest cannot declare. */
function commentsOn({ type, branch_id }: Endpoint, { leftOut }: Exported): string[] {
  const kind = type === "read_only" ? "Read replica" : "Primary";
  const notes = leftOut.map((problem) => `Left out, because a manifest cannot declare it: ${problem}`);
  return [`${kind} of branch ${branch_id}.`, ...notes];
}

/** One document, below its comments. What ends a comment in a text of the service would be applied from there on. */
function documentOf(manifest: object, comments: readonly string[]): string {
  const lines = comments.map((text) => `# ${printableLine(text)}\n`);
  return lines.join("") + kubectlYAML(manifest);
}

/** By branch, primaries first, then by id. */
function inOrder(a: Endpoint, b: Endpoint): number {
  return compare(a.branch_id, b.branch_id) || compare(b.type, a.type) || compare(a.id, b.id);
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Throws `CommandProblem` if the API server would refuse the name. */
function requireName(flag: string, name: string): void {
  if (objectName.safeParse(name).success) return;
  throw new CommandProblem([
    `${flag} must be a name of a Kubernetes object, for example default, not ${JSON.stringify(name)}`,
  ]);
}

import { branchesOf, type Fleet } from "./fleet.ts";

const account = "acc-ana";

/** What the service starts with: each fleet's organization, key, projects and branches, and endpoints of strangers. */
export function seedOf(fleets: readonly Fleet[]): string {
  return JSON.stringify({
    accounts: [{ id: account, email: "ana@example.com", plan: "scale" }],
    organizations: fleets.map(({ organization, key }) => ({
      id: organization,
      plan: "scale",
      members: [{ account, role: "admin" }],
      apiKeys: [{ name: "operator", key }],
    })),
    projects: fleets.flatMap((fleet) => fleet.projects.map((project) => projectOf(fleet, project))),
  });
}

function projectOf(fleet: Fleet, project: string): object {
  const branches = branchesOf(fleet, project);
  return {
    id: project,
    owner: fleet.organization,
    branches: [{ id: `br-${project}`, name: "main", default: true }, ...branches.map((id) => ({ id, name: id }))],
    endpoints: unmanagedEndpoints(project, branches[0] ?? ""),
  };
}

/** The default branch's primary, a nameless replica and a named one, and one that another cluster's operator made. */
function unmanagedEndpoints(project: string, branch: string): object[] {
  const common = { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 3 };
  return [
    { branchID: `br-${project}`, type: "read_write", ...common },
    { branchID: branch, type: "read_only", ...common },
    { branchID: branch, type: "read_only", name: "analytics", ...common },
    { branchID: branch, type: "read_only", name: "k8s-3f0b9a52-4c1e-4d7a-9b1e-0c6f5a2d8e77", ...common },
  ];
}

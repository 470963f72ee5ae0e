import type { Seed } from "./document.ts";

/** Duplicates in a seed, each as a sentence. A key is identified by its name. */
export function doublesIn({ accounts, organizations, projects }: Seed): string[] {
  const branches = projects.flatMap((project) => project.branches);
  const endpoints = projects.flatMap((project) => project.endpoints ?? []);
  const keys = [...accounts, ...organizations].flatMap(({ apiKeys }) => apiKeys);
  const undecided = projects.filter(
    (project) => project.branches.filter((branch) => branch.default === true).length > 1,
  );
  return [
    ...twice([...accounts, ...organizations].map(({ id }) => id)).map(
      (id) => `two accounts or organizations have the id ${id}`,
    ),
    ...twice(projects.map(({ id }) => id)).map((id) => `two projects have the id ${id}`),
    ...twice(branches.map(({ id }) => id)).map((id) => `two branches have the id ${id}`),
    ...twice(endpoints.map(({ id }) => id)).map((id) => `two computes have the id ${id}`),
    ...twice(keys.map(({ key }) => key)).map((key) => {
      const names = keys.filter((other) => other.key === key).map(({ name }) => name);
      return `the API keys ${names.join(" and ")} are the same: each needs one of its own`;
    }),
    ...projects.flatMap((project) =>
      twice(project.branches.map(({ id, name = id }) => name)).map(
        (name) => `two branches of project ${project.id} have the name ${name}`,
      ),
    ),
    ...organizations.flatMap(({ id, members }) =>
      twice(members.map(({ account }) => account)).map(
        (account) => `organization ${id} names account ${account} twice`,
      ),
    ),
    ...undecided.map(({ id }) => `project ${id} has more than one default branch`),
  ];
}

function twice(values: readonly (string | undefined)[]): string[] {
  const given = values.filter((value) => value !== undefined);
  const seen = new Set<string>();
  return [...new Set(given.filter((value) => seen.size === seen.add(value).size))];
}

import { param } from "../http/route.ts";
import { RoleAndOperations } from "../http/shapes.ts";
import { nameOf } from "./form.ts";
import { rolesPath } from "./pages/paths.ts";
import { branchApiPath, type Done, pathOf, type Visit } from "./visit.ts";

/**
 * Makes a role. Names are fields of the forms and not parts of their paths: browsers shorten a path with the name `..`,
 * and what it then means is another form. Like all of these, answers the page to show next. */
export function createRole(visit: Visit): Done {
  const { name = "", login } = visit.form;
  const answer = visit.act("POST", `${branchApiPath(visit)}/roles`, {
    role: { name: name.trim(), ...(login !== "true" && { no_login: true }) },
  });
  return done(visit, `The role ${name.trim()} is created.${passwordOnce(visit, answer.body)}`);
}

export function resetRole(visit: Visit): Done {
  const name = nameOf(visit.form["name"]);
  const answer = visit.act("POST", `${branchApiPath(visit)}${pathOf("roles", name)}/reset_password`);
  const where = passwordOnce(visit, answer.body) || " The page of a compute shows it.";
  return done(visit, `The role ${name} has another password.${where}`);
}

export function deleteRole(visit: Visit): Done {
  const name = nameOf(visit.form["name"]);
  visit.act("DELETE", `${branchApiPath(visit)}${pathOf("roles", name)}`);
  return done(visit, `The role ${name} is deleted.`);
}

export function createDatabase(visit: Visit): Done {
  const { name = "", owner } = visit.form;
  const database = { name: name.trim(), owner_name: nameOf(owner) };
  visit.act("POST", `${branchApiPath(visit)}/databases`, { database });
  return done(visit, `The database ${name.trim()} is created.`);
}

export function deleteDatabase(visit: Visit): Done {
  const name = nameOf(visit.form["name"]);
  visit.act("DELETE", `${branchApiPath(visit)}${pathOf("databases", name)}`);
  return done(visit, `The database ${name} is deleted.`);
}

/** The new password in words, where no page shows it later: its project does not store passwords. */
function passwordOnce({ context, params }: Visit, answer: unknown): string {
  const { password } = RoleAndOperations.parse(answer).role;
  const isStored = context.store.projects.get(param({ params }, "project_id"))?.details.store_passwords;
  return isStored === false && typeof password === "string" ? ` Its password, shown this once: ${password}` : "";
}

function done(visit: Visit, notice: string): Done {
  return { to: rolesPath(param(visit, "project_id"), param(visit, "branch_id")), notice };
}

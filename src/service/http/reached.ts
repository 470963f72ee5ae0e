import { type Caller, mayReachProject } from "../accounts/caller.ts";
import type { Store } from "../store/store.ts";
import type { Route } from "./route.ts";
import type { Match } from "./router.ts";

/** A call of the API whose caller has the right to make it in the project of its path. */
export interface Reached {
  /** The path of its route, with parameters in braces. */
  path: string;
  params: Readonly<Record<string, string>>;
}

/** `undefined` for a call about no project, and for one without the right. */
export function reachedBy(store: Store, caller: Caller, { route, params }: Match<Route>): Reached | undefined {
  const { access, path } = route;
  if (access.kind !== "project") return undefined;
  return mayReachProject(store, caller, params["project_id"] ?? "", access.right) ? { path, params } : undefined;
}

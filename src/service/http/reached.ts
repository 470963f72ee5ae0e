import { type Caller, mayReachProject, type Right } from "../accounts/caller.ts";
import type { Store } from "../store/store.ts";

/** A call of the API, or a page or form of the console, whose caller has the right to it in the project of its path. */
export interface Reached {
  /** The path of its route, with parameters in braces. */
  path: string;
  params: Readonly<Record<string, string>>;
}

/** `undefined` for a call about no project, and for one without the right. */
export function reachedBy(store: Store, caller: Caller, { path, params }: Reached, right: Right): Reached | undefined {
  return mayReachProject(store, caller, params["project_id"] ?? "", right) ? { path, params } : undefined;
}

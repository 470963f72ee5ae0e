import { keyVariable } from "./accounts.ts";

/** What the operator would say of a failed look, said by a command that looks once and has no cluster. */
export function saidOnce(message: string): string {
  return message
    .replace(/ It is tried again by itself[^.]*\./, "")
    .replace("the Secret of the ServiceConnection", `the Secret of the ServiceConnection, or into ${keyVariable}`);
}

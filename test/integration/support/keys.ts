import type { Scenario } from "./scenario.ts";

const keys = "/organizations/org-shop/api_keys";

/** A new key of the organization; with `projectID` one that is confined to this project. */
export function newKey(shop: Scenario, projectID?: string): string {
  const wanted = { key_name: "new", ...(projectID === undefined ? {} : { project_id: projectID }) };
  const { key }: { key: string } = shop.console("POST", keys, wanted);
  return key;
}

/** Revokes the key that the connection has from the start. */
export function revokeFirstKey(shop: Scenario): void {
  const all: { id: number; name: string }[] = shop.console("GET", keys);
  shop.console("DELETE", `${keys}/${all.find(({ name }) => name === "ci")?.id}`);
}

import { decoded } from "../../operator/connection-secret/details.ts";

/** Parameters of a Postgres URI that psql takes as environment variables. */
const variables: Readonly<Record<string, string>> = {
  sslmode: "PGSSLMODE",
  channel_binding: "PGCHANNELBINDING",
  options: "PGOPTIONS",
  connect_timeout: "PGCONNECT_TIMEOUT",
};

/**
 * The environment with which psql connects, from a connection Secret: process lists show arguments, and a password is
 * none of them. `undefined`: it holds no URI that can be read.
 */
export function connectionFrom(
  secret: Readonly<Record<string, string>>,
  pooled: boolean,
): Record<string, string> | undefined {
  const text = secret[uriKey(pooled)];
  if (text === undefined || !URL.canParse(text)) return undefined;
  const { hostname, port, username, password, pathname, searchParams } = new URL(text);
  const given: Record<string, string> = {
    PGHOST: hostname.replaceAll(/^\[|\]$/g, ""),
    PGPORT: port === "" ? "5432" : port,
    PGUSER: decoded(username),
    PGPASSWORD: decoded(password),
    PGDATABASE: decoded(pathname.slice(1)),
  };
  for (const [name, variable] of Object.entries(variables)) {
    const value = searchParams.get(name);
    if (value !== null) given[variable] = value;
  }
  // No environment holds such a value.
  return Object.values(given).some((value) => value.includes("\0")) ? undefined : given;
}

/** The key of a connection Secret that holds the URI. */
export function uriKey(pooled: boolean): "uri" | "pooled-uri" {
  return pooled ? "pooled-uri" : "uri";
}

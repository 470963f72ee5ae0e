import { poolerConsole } from "../server/pooler.ts";
import type { Parameters } from "../session/messages.ts";
import { superuser } from "../session/privileged-role.ts";
import { cutName } from "../session/quoting.ts";
import { Rejection } from "../session/rejection.ts";

/** The compute that a client means. */
export interface Target {
  endpointId: string;
  pooled: boolean;
  /** True if the client reads the log of the compute's server. */
  replicates?: boolean;
  /** The network of the client; absent where the service is its own. */
  from?: string;
}

/** Target of a connection, and the parameters that its server receives. */
export interface Routed {
  target: Target;
  parameters: Parameters;
}

const howTo =
  "pass it as options=endpoint%3D<endpoint-id>, or connect with TLS to a host name whose first label is the id";

/** The vendor's parameter, in `options` and before a password; its older name too. */
const parameter = /^(?:endpoint|project)=/;

/** True if the parameter `options` or TLS's server name tells which compute a client means. */
export function namesCompute(parameters: Parameters, serverName: string | undefined): boolean {
  return namesIn(parameters, serverName).size > 0;
}

/** Finds the compute by the parameter `options` or by TLS's server name. Throws `Rejection`. */
export function route(parameters: Parameters, serverName: string | undefined): Routed {
  refuseForbidden(parameters);
  const targets = namesIn(parameters, serverName);
  const [id] = targets;
  if (id === undefined) throw new Rejection("08P01", `the connection names no compute: ${howTo}`);
  if (targets.size > 1) {
    throw new Rejection("08P01", `the connection names more than one compute, ${[...targets].join(" and ")}: ${howTo}`);
  }
  return routedTo(id, parameters);
}

/**
 * Finds the compute before the password, the vendor's form for clients that send neither server name nor options:
 * `endpoint=<id>;PASSWORD`. Throws `Rejection`.
 */
export function routeByPassword(parameters: Parameters, given: string): { routed: Routed; password: string } {
  refuseForbidden(parameters);
  const [, id = "", password = ""] = /^(?:endpoint|project)=([^;$]*)[;$](.*)$/s.exec(given) ?? [];
  if (id === "") {
    throw new Rejection(
      "08P01",
      `the connection names no compute: ${howTo}, or give endpoint=<endpoint-id>;PASSWORD as the password`,
    );
  }
  return { routed: routedTo(id, parameters), password };
}

/** Refuses our own role, and a zero byte, after which a server would read other parameters than these. */
function refuseForbidden(parameters: Parameters): void {
  if ([...parameters].flat().some((part) => part.includes("\0"))) {
    throw new Rejection("08P01", "a parameter of the connection has a zero byte");
  }
  if (parameters.get("user") === superuser) {
    throw new Rejection("28000", `role "${superuser}" is not permitted to log in`);
  }
}

function namesIn(parameters: Parameters, serverName: string | undefined): Set<string> {
  const words = optionWords(parameters.get("options") ?? "").filter((word) => parameter.test(word));
  const label = serverName?.split(".")[0]?.toLowerCase();
  const fromName = label !== undefined && label.startsWith("ep-") ? [label] : [];
  return new Set([...words.map((word) => word.replace(parameter, "")), ...fromName]);
}

function routedTo(id: string, parameters: Parameters): Routed {
  const target = { ...targetOf(id), ...(parameters.has("replication") && { replicates: true }) };
  // As a server cuts it: PgBouncer would know the role by each longer name.
  const user = cutName(parameters.get("user") ?? "");
  // A database that is not named, or by an empty name, has that of the user.
  const database = parameters.get("database") || user;
  // Both together are PgBouncer's own console, which needs no password here and may change what runs as superuser.
  if (target.pooled && (database === poolerConsole || user === poolerConsole)) {
    const what = database === poolerConsole ? "lead to a database" : "serve a role";
    throw new Rejection("3D000", `the pooled host does not ${what} "${poolerConsole}": use the direct host`);
  }
  // PgBouncer before 1.23 takes none, and the public service has them use the direct host.
  if (target.pooled && target.replicates) {
    throw new Rejection("0A000", "the pooled host serves no client that replicates: use the direct host");
  }
  const rest = optionWords(parameters.get("options") ?? "").filter((word) => !parameter.test(word));
  const passed = new Map(parameters).set("user", user).set("database", database);
  if (rest.length === 0) passed.delete("options");
  else passed.set("options", rest.map(escaped).join(" "));
  return { target, parameters: passed };
}

function targetOf(id: string): Target {
  const pooled = id.endsWith("-pooler");
  return { endpointId: pooled ? id.slice(0, -"-pooler".length) : id, pooled };
}

/** As Postgres takes `options` apart: by white space of ASCII, with a backslash before what stands for itself. */
function optionWords(options: string): string[] {
  return [...options.matchAll(/(?:\\.|[^ \t\n\v\f\r\\]|\\$)+/gs)].map(([word]) => word.replaceAll(/\\(.?)/gs, "$1"));
}

function escaped(word: string): string {
  return word.replaceAll(/[ \t\n\v\f\r\\]/g, "\\$&");
}

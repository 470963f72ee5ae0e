import type { Session } from "../session/privileged-role.ts";
import type { SqlClient } from "../session/sql-client.ts";
import type { ServerConfig } from "./config.ts";
import type { Edition } from "./templates.ts";

/** A server that runs on data. */
export interface DataServer {
  /** Opens a session of the superuser. */
  connect: () => Promise<Session>;
  ended: Promise<void>;
}

/** A server that runs on some data only for us. */
export interface OwnServer {
  /** Logs in as superuser, or as the role that is named. */
  connect(database: string, login?: { user: string; password: string }): Promise<SqlClient>;
  stop(): Promise<void>;
}

/** Uses data through sessions of the service. */
export type Act<Result> = (connect: (database: string) => Promise<SqlClient>) => Promise<Result>;

/** Runs a server on some data only for us. */
export type Serve = (
  data: string,
  edition: Edition,
  more?: Pick<Partial<ServerConfig>, "recovery" | "settings">,
) => Promise<OwnServer>;

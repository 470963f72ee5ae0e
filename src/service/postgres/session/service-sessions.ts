import { limited, type ServiceClock } from "../../clock.ts";
import { socketIn } from "../host/sockets.ts";
import { superuser } from "./privileged-role.ts";
import { type Login, SqlClient } from "./sql-client.ts";

/** The server that a session is opened on. */
export interface ServerAddress {
  /** The directory of its socket. */
  sockets: string;
  major: number;
}

interface NeutralSetting {
  value: string;
  /** The first major version that has it. */
  since?: number;
  /** True if only a superuser may give it. */
  ofSuperuser?: boolean;
}

/**
 * Given in the startup packet, which outranks what a server's settings, a database or a role store: without them a
 * client decides which objects the names in our statements mean, as which role they run, and whether they run at all.
 */
const neutral: Readonly<Record<string, NeutralSetting>> = {
  search_path: { value: "pg_catalog" },
  session_authorization: { value: superuser, ofSuperuser: true },
  role: { value: "none" },
  event_triggers: { value: "off", since: 17, ofSuperuser: true },
  session_preload_libraries: { value: "", ofSuperuser: true },
  local_preload_libraries: { value: "" },
  // Bytes as they are: no database refuses that, whatever its encoding.
  client_encoding: { value: "SQL_ASCII" },
  // Notices, of which a compute may have megabytes with each answer, would count as a part of that.
  client_min_messages: { value: "error" },
  standard_conforming_strings: { value: "on" },
  // Has nothing to which it could be set back.
  timezone_abbreviations: { value: "Default" },
  default_transaction_read_only: { value: "off" },
  default_transaction_isolation: { value: "read committed" },
  default_transaction_deferrable: { value: "off" },
  // The store holds what a session has done as done.
  synchronous_commit: { value: "on" },
  statement_timeout: { value: "0" },
  transaction_timeout: { value: "0", since: 17 },
  idle_session_timeout: { value: "0" },
  idle_in_transaction_session_timeout: { value: "0" },
  // Plans go by statistics, which the owner of a database makes up from Postgres 18 on, also of catalogues
  // (`pg_restore_attribute_stats`): of thousands of objects each would be sought among all.
  enable_seqscan: { value: "off" },
  // Until Postgres 17 a plan that reads all of a table all the same counts as so dear that it would be compiled.
  jit: { value: "off" },
  // A lock that a client holds must not stop the service's work on its branch for ever.
  lock_timeout: { value: "10s" },
};

/**
 * Longest time for a server to open a session, in milliseconds: the lock of a client on the database is waited for
 * before any setting holds.
 */
const openLimitMs = 20_000;

/** The longest message that a server answers, in bytes: nothing that is asked is longer, but an error of a client's. */
const longest = 16 * 1024 ** 2;

/**
 * Undoes every other setting that the database or the role stores: what a server of a later version adds too; and what
 * the compute has, with which no statement over many tables would end, as without joins by hash and scans of an index.
 */
const undoStored = `SELECT set_config(name, coalesce(boot_val, ''), false) FROM pg_settings
  WHERE source IN ('global', 'database', 'user', 'database user') OR source = 'configuration file' AND context = 'user'`;

/** Our own role has no password. */
const ourOwn = { user: superuser, password: "" } as const;

/** Opens all sessions of the service in its servers: nothing that a client has stored takes effect in one. */
export class ServiceSessions {
  readonly #clock: ServiceClock;

  constructor(clock: ServiceClock) {
    this.#clock = clock;
  }

  /** Logs in as our own role, a superuser, or as another one. Rejects with `ServerFailed`. */
  async open(
    { sockets, major }: ServerAddress,
    database: string,
    login: { user: string; password: string } = ourOwn,
  ): Promise<SqlClient> {
    const given = Object.entries(neutral)
      .filter(([, { since = 0, ofSuperuser }]) => since <= major && !(ofSuperuser && login.user !== superuser))
      .map(([name, { value }]) => [name, value] as const);
    const socket = socketIn(sockets);
    const late = new AbortController();
    const parameters = Object.fromEntries(given);
    const opened = openNeutral({ ...login, socket, database, parameters, late: late.signal, longest });
    return limited(this.#clock, openLimitMs, () => late.abort(), opened);
  }
}

async function openNeutral(login: Login): Promise<SqlClient> {
  const session = await SqlClient.connect(login);
  await session.query(undoStored).catch((error: unknown) => {
    session.close();
    throw error;
  });
  return session;
}

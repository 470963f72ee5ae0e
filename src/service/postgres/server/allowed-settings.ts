import { foldedName, numericSettings, switches } from "../../computes/setting-bounds.ts";

/**
 * The settings of Postgres that a compute may be given: those that shape queries, timeouts, logging of statements,
 * vacuum and write-ahead log. None names a command, a path, a library, a listener or a way to authenticate, and none
 * is given by the compute's size. `track_commit_timestamp` is left out: a subscriber would write times that its
 * publisher makes up into a file of the server, and a replication slot loads any file as its output plugin; so are
 * `geqo_generations` and `geqo_pool_size`, with which a plan takes days, in sessions of the service too, and
 * `track_activities`, without which no server tells whether its clients are silent.
 */
const words = `
  bytea_output client_encoding client_min_messages constraint_exclusion datestyle default_text_search_config
  default_toast_compression default_transaction_isolation intervalstyle log_connections log_error_verbosity
  log_min_error_statement log_min_messages log_statement plan_cache_mode search_path synchronous_commit timezone
  track_functions wal_compression xmlbinary xmloption
`;

const names = new Set([...words.trim().split(/\s+/), ...switches, ...numericSettings]);

/** The first setting that a compute may not have; `undefined` where it may have all. */
export function forbiddenSetting(settings: Readonly<Record<string, string>>): string | undefined {
  return Object.keys(settings).find((name) => !names.has(foldedName(name)));
}

/** Settings that a compute may have, of its own: a service without servers, or an earlier version, takes others. */
export function allowedOf(settings: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => names.has(foldedName(name))));
}
